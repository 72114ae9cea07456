// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which call of the program is under way; those from callbacks of the program are calls, too. What
/// was asked of other ranks holds until the next one: between them the program may hear from them.
#pragma once

#include <atomic>
#include <cstdint>

namespace bento {

class ProgramCall {
 public:
  /// Of this process; the same all the time where nobody counts.
  static std::uint64_t number() { return count().load(std::memory_order_relaxed); }
  static void begin() { count().fetch_add(1, std::memory_order_relaxed); }

 private:
  static std::atomic<std::uint64_t>& count() {
    static std::atomic<std::uint64_t> calls{0};
    return calls;
  }
};

}  // namespace bento
