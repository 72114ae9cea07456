// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How much memory our own code (operator new) had at once. Whoever uses it has all of a program's
/// operators replaced; under a sanitizer, which brings its own, it sees nothing.
#pragma once

#include <cstdint>

namespace bento::fuzz {

class MemoryWatch {
 public:
  MemoryWatch();
  /// Largest number of bytes above what there was in the beginning.
  [[nodiscard]] std::uint64_t peak() const;

 private:
  std::uint64_t before_;
};

}  // namespace bento::fuzz
