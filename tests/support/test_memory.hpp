// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Memory that runs out on demand, and how much of it was in use: the test programs have an
/// operator new of their own, which counts, and throws std::bad_alloc once in the thread that asked
/// for it.
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

/// How many bytes all threads had at once by operator new while it lives. What C code takes by
/// malloc does not count.
class MemoryWatch {
 public:
  MemoryWatch();
  /// Largest number of bytes above what there was in the beginning.
  [[nodiscard]] std::uint64_t peak() const;

 private:
  std::uint64_t before_;
};

}  // namespace bento::test
