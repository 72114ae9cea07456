// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Arithmetic on sizes and offsets that come from a file or a caller: overflow is an Error, never a
/// wrap.
#pragma once

#include <cstdint>

#include <fmt/format.h>

#include "core/base/error.hpp"

namespace bento {

inline Result<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum))
    return fail(Code::kCorrupt, fmt::format("{} + {} does not fit 64 bits", a, b));
  return sum;
}

inline Result<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product))
    return fail(Code::kCorrupt, fmt::format("{} * {} does not fit 64 bits", a, b));
  return product;
}

/// Smallest multiple of `unit` (> 0) that is >= `value`.
inline Result<std::uint64_t> checked_round_up(std::uint64_t value, std::uint64_t unit) {
  if (unit == 0) return fail(Code::kInvalidArgument, "rounding to a multiple of 0");
  const std::uint64_t rest = value % unit;
  return rest == 0 ? Result<std::uint64_t>(value) : checked_add(value, unit - rest);
}

/// The same for values that are known to be small (our own layout arithmetic, not a file's).
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace bento
