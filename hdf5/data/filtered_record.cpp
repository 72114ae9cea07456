// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/filtered_record.hpp"

#include <fmt/format.h>

namespace bento::vol {

Status check_filtered(const Record& record, const Dims& chunk) {
  bool inside = record.box.rank() == chunk.rank();
  for (unsigned d = 0; inside && d < chunk.rank(); ++d) {
    const std::uint64_t first = record.box.start[d];
    inside = record.box.count[d] != 0 &&
             first / chunk[d] == (first + record.box.count[d] - 1) / chunk[d];
  }
  if (inside) return {};
  return fail(Code::kCorrupt, fmt::format("a filtered record of dataset {} that lies in no chunk "
                                          "of it",
                                          record.dataset));
}

}  // namespace bento::vol
