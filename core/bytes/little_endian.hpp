// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Numbers put into bytes that are there already. ByteWriter appends them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace bento {

/// The lowest bytes of `value`, as many as `to` has, the lowest one first.
inline void put_little_endian(std::span<std::byte> to, std::uint64_t value) {
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<std::byte>(value >> (8 * i) & 0xFFu);
}

}  // namespace bento
