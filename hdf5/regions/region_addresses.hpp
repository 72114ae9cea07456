// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where the private heap of an open file begins. A reference in memory is an address in a heap, so
/// ranks and open files have addresses of their own: one that came from elsewhere is known as such.
#pragma once

#include <cstdint>

namespace bento::vol {

/// Task-local; not thread-safe.
class RegionAddresses {
 public:
  /// Takes addresses that no open file of this process has, nor another rank. There are some for
  /// 256 files at a time; of more, some have the same.
  explicit RegionAddresses(std::int64_t rank);
  ~RegionAddresses();
  RegionAddresses(const RegionAddresses&) = delete;
  RegionAddresses& operator=(const RegionAddresses&) = delete;

  [[nodiscard]] std::uint64_t first() const { return first_; }

 private:
  unsigned slot_;
  std::uint64_t first_;
};

}  // namespace bento::vol
