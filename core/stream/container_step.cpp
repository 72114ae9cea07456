// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/container_step.hpp"

#include <algorithm>
#include <cstddef>

namespace bento {

namespace {
constexpr std::uint64_t kSteps = (1u << 24) - 1;  // 0 is no step
}

void set_step(fti::v11::DbVar& var, std::uint64_t step) {
  std::uint64_t value = 1 + step % kSteps;
  for (auto& byte : var.pad) {
    byte = static_cast<std::byte>(value);
    value >>= 8;
  }
}

std::optional<std::uint64_t> step_of(const fti::v11::DbVar& var, std::uint64_t newest) {
  std::uint64_t value = 0;
  for (std::size_t i = var.pad.size(); i-- > 0;)
    value = value << 8 | std::to_integer<std::uint64_t>(var.pad[i]);
  if (value == 0 || value - 1 > newest) return std::nullopt;
  return newest - (newest - (value - 1)) % kSteps;
}

std::uint64_t DeadSpace::needed_before(std::optional<std::uint64_t> died) const {
  if (undated) return 0;
  if (!died) return kNever;
  return *died <= settled ? *died : std::max(*died, not_before);
}

}  // namespace bento
