// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Makes the n-th call into HDF5, or the n-th allocation of memory, fail.
#pragma once

#include <cstdint>
#include <string>

namespace bento::vol::test {

enum class Fault { kCall, kMemory };

/// While it lives, the n-th of its kind (1 is the next one) fails; with `forever` all behind it,
/// too.
class Failing {
 public:
  Failing(Fault kind, std::uint64_t nth, bool forever = false);
  ~Failing();
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;

  /// Did it come to that?
  [[nodiscard]] bool fired() const;
  /// The HDF5 call that failed.
  [[nodiscard]] std::string name() const;
};

}  // namespace bento::vol::test
