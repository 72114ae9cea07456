// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/packed_column.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace bento {

void put_packed(ByteWriter& out, std::span<const std::uint64_t> values) {
  if (values.size() == 1) {  // as in all columns of a single record
    out.varint(values.front());
    out.u16(0);
    return;
  }
  std::uint64_t base = values.empty() ? 0 : values.front();
  for (const auto value : values) base = std::min(base, value);
  std::uint64_t used = 0;
  for (const auto value : values) used |= value - base;
  const auto shift = static_cast<unsigned>(used == 0 ? 0 : std::countr_zero(used));
  const auto bits = static_cast<unsigned>(std::bit_width(used >> shift));
  out.varint(base);
  out.u8(static_cast<std::uint8_t>(bits));
  out.u8(static_cast<std::uint8_t>(shift));
  if (bits == 0) return;  // all are equal
  const auto bytes = out.zeros((values.size() * bits + 7) / 8);
  std::size_t at = 0;  // in bits
  for (const auto value : values) {
    std::uint64_t rest = (value - base) >> shift;
    for (unsigned left = bits; left > 0;) {
      const auto offset = static_cast<unsigned>(at % 8);
      const unsigned here = std::min(left, 8 - offset);
      auto& byte = bytes[at / 8];
      byte |= static_cast<std::byte>((rest & ((1u << here) - 1)) << offset);
      rest >>= here;
      left -= here;
      at += here;
    }
  }
}

Status get_packed(ByteReader& in, std::span<std::uint64_t> values) {
  const std::uint64_t base = in.next_varint();
  const unsigned bits = in.next_u8();
  const unsigned shift = in.next_u8();
  BENTO_TRY(in.settled());
  if (bits > 64 || shift > 63 || bits + shift > 64)
    return fail(Code::kCorrupt, fmt::format("packed column: {} bits shifted by {}", bits, shift));
  if (bits == 0) {
    std::ranges::fill(values, base);
    return {};
  }
  BENTO_ASSIGN(const auto bytes, in.bytes((std::uint64_t{values.size()} * bits + 7) / 8));
  std::size_t at = 0;
  for (auto& value : values) {
    std::uint64_t read = 0;
    for (unsigned got = 0; got < bits;) {
      const auto offset = static_cast<unsigned>(at % 8);
      const unsigned here = std::min(bits - got, 8 - offset);
      const std::uint64_t part =
          std::to_integer<std::uint64_t>(bytes[at / 8]) >> offset & ((1u << here) - 1);
      read |= part << got;
      got += here;
      at += here;
    }
    value = base + (read << shift);
  }
  return {};
}

Result<std::vector<std::uint64_t>> get_packed(ByteReader& in, std::size_t count) {
  std::vector<std::uint64_t> values(count);
  BENTO_TRY(get_packed(in, std::span(values)));
  return values;
}

}  // namespace bento
