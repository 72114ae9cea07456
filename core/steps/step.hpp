// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The two ways to count steps, as types that do not mix: a program that passes one for the other
/// does not compile. Source: docs/format.md, "Step index".
#pragma once

#include <compare>
#include <cstdint>

namespace bento {

/// Commits over the file's whole life, append sessions included; the first is 1, 0 is before it.
class AbsoluteStep {
 public:
  constexpr AbsoluteStep() = default;
  constexpr explicit AbsoluteStep(std::uint64_t number) : number_(number) {}
  [[nodiscard]] constexpr std::uint64_t number() const { return number_; }
  auto operator<=>(const AbsoluteStep&) const = default;

 private:
  std::uint64_t number_ = 0;
};

/// Steps in which one given dataset was written or made smaller; the first is 0. Numbers stay when
/// old steps are dropped.
class RelativeStep {
 public:
  constexpr RelativeStep() = default;
  constexpr explicit RelativeStep(std::uint64_t number) : number_(number) {}
  [[nodiscard]] constexpr std::uint64_t number() const { return number_; }
  auto operator<=>(const RelativeStep&) const = default;

 private:
  std::uint64_t number_ = 0;
};

}  // namespace bento
