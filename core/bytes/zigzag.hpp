// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Differences modulo 2^64 as numbers that are small where the difference is near 0, on either
/// side: 0, -1, 1, -2, ... become 0, 1, 2, 3, ...
#pragma once

#include <cstdint>

namespace bento {

constexpr std::uint64_t zigzag(std::uint64_t difference) {
  return (difference << 1) ^ (0 - (difference >> 63));
}
constexpr std::uint64_t unzigzag(std::uint64_t value) {
  return (value >> 1) ^ (0 - (value & 1));
}

}  // namespace bento
