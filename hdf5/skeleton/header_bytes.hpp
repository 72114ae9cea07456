// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How the bytes of an object header are read, and where it lies.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/error.hpp"
#include "core/bytes/byte_reader.hpp"

namespace bento::vol {

/// For whoever asks it means no more than "not of this kind".
inline tl::unexpected<Error> not_of_this_kind() {
  return fail(Code::kUnsupported, {});
}

inline ByteReader header_reader(std::span<const std::byte> bytes) {
  return ByteReader(bytes, std::endian::little, "object header");
}

/// Address of the object header that a token of the native connector stands for: it is the token's
/// first 8 bytes, in little-endian order.
inline std::uint64_t header_address(std::span<const std::byte, 16> token) {
  std::uint64_t address = 0;
  for (std::size_t i = sizeof address; i-- > 0;)
    address = address << 8 | std::to_integer<std::uint64_t>(token[i]);
  return address;
}

}  // namespace bento::vol
