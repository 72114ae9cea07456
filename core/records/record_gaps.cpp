// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/record_gaps.hpp"

#include <fmt/format.h>

namespace bento {

void RecordGaps::encode(ByteWriter& out) const {
  out.varint(written_.start.rank());
  for (const Dims& dims : {written_.start, written_.stride, written_.count, written_.block})
    for (const auto value : dims.view()) out.varint(value);
}

Result<RecordGaps> RecordGaps::decode(ByteReader& in) {
  BENTO_ASSIGN(const std::uint64_t rank, in.varint());
  if (rank > kMaxRank) return fail(Code::kCorrupt, fmt::format("gaps: {} dimensions", rank));
  RegularSelection written;
  for (Dims* const dims : {&written.start, &written.stride, &written.count, &written.block}) {
    *dims = Dims(static_cast<unsigned>(rank));
    for (unsigned d = 0; d < rank; ++d) {
      BENTO_ASSIGN((*dims)[d], in.varint());
    }
  }
  return RecordGaps(std::move(written));
}

}  // namespace bento
