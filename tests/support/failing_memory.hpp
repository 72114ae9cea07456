// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Memory that runs out on demand: operator new of the test programs counts, and throws
/// std::bad_alloc once in the thread that asked for it.
#pragma once

#include <cstdint>

namespace bento::test {

/// While it lives, the `nth` allocation of this thread (1 is the next one) fails; only that one.
class FailingMemory {
 public:
  explicit FailingMemory(std::uint64_t nth);
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;

  /// Did it come to that allocation?
  [[nodiscard]] static bool failed();
};

}  // namespace bento::test
