// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Decoding steps that both layouts share. Internal to core/fti.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/bytes/byte_reader.hpp"

namespace bento::fti::fields {

template <std::size_t N>
Status copy_bytes(ByteReader& in, std::array<std::byte, N>& into) {
  BENTO_ASSIGN(const auto view, in.bytes(N));
  std::copy(view.begin(), view.end(), into.begin());
  return {};
}

/// A size or offset. In FTI's structures these are C's signed long; a negative one is as wrong as
/// one past the end of the file.
inline Result<std::uint64_t> size(ByteReader& in, std::string_view name) {
  const std::size_t at = in.offset();
  BENTO_ASSIGN(const std::uint64_t value, in.u64());
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return fail(Code::kCorrupt, fmt::format("{} at byte {} of the record is negative ({})", name,
                                            at, static_cast<std::int64_t>(value)));
  return value;
}

inline Result<std::uint32_t> count(ByteReader& in, std::string_view name) {
  const std::size_t at = in.offset();
  BENTO_ASSIGN(const std::int32_t value, in.i32());
  if (value < 0)
    return fail(Code::kCorrupt,
                fmt::format("{} at byte {} of the record is negative ({})", name, at, value));
  return static_cast<std::uint32_t>(value);
}

/// C's bool. Reading another value into one would be undefined in FTI.
inline Result<bool> flag(ByteReader& in, std::string_view name) {
  const std::size_t at = in.offset();
  BENTO_ASSIGN(const std::uint8_t value, in.u8());
  if (value > 1)
    return fail(Code::kCorrupt,
                fmt::format("{} at byte {} of the record is {}, want 0 or 1", name, at, value));
  return value == 1;
}

}  // namespace bento::fti::fields
