// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/column_codec.hpp"

#include "core/bytes/zigzag.hpp"

#include <fmt/format.h>

namespace bento {

void put_column(ByteWriter& out, std::span<const std::uint64_t> values) {
  std::uint64_t previous = 0;
  for (std::size_t i = 0; i < values.size();) {
    const std::uint64_t difference = values[i] - previous;
    std::size_t run = 1;
    while (i + run < values.size() && values[i + run] - values[i + run - 1] == difference) ++run;
    out.varint(zigzag(difference));
    out.varint(run);
    i += run;
    previous = values[i - 1];
  }
}

Result<std::vector<std::uint64_t>> get_column(ByteReader& in, std::size_t count) {
  std::vector<std::uint64_t> values;
  values.reserve(count);
  std::uint64_t value = 0;
  while (values.size() < count) {
    BENTO_ASSIGN(const std::uint64_t difference, in.varint());
    BENTO_ASSIGN(const std::uint64_t run, in.varint());
    if (run == 0 || run > count - values.size())
      return fail(Code::kCorrupt, fmt::format("column: a run of {} values, {} wanted (byte {})",
                                              run, count - values.size(), in.offset()));
    for (std::uint64_t i = 0; i < run; ++i) values.push_back(value += unzigzag(difference));
  }
  return values;
}

}  // namespace bento
