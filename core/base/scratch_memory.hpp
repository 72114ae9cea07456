// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Memory for a loop whose turns need a little each: of thousands of datasets with a record or two,
/// one turn is over within it, and asks the allocator for nothing.
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>

namespace bento {

/// 16 KiB, and what a turn needs beyond them. Not thread-safe.
class ScratchMemory {
 public:
  ScratchMemory() : resource_(usual_.data(), usual_.size()) {}

  /// Nothing that lies in it is used after the next turn() or destruction.
  [[nodiscard]] std::pmr::memory_resource* turn() {
    resource_.release();
    return &resource_;
  }

 private:
  std::array<std::byte, 16384> usual_;  // NOLINT(cppcoreguidelines-pro-type-member-init): as used
  std::pmr::monotonic_buffer_resource resource_;
};

}  // namespace bento
