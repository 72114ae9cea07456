// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The writes of one element: does its latest record have the latest value of each member?
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/records/member_writes.hpp"
#include "core/records/nearest_below.hpp"

namespace bento {

/// Numbers of two writes.
struct LostWrite {
  std::uint32_t lost = 0;  ///< it brought the latest value of some member
  std::uint32_t by = 0;    ///< the latest record has, or may have, that member from this one, which
                           ///< did not see it
};

/// Holds what is common to all elements of a dataset. Not thread-safe.
class MemberHistory {
 public:
  /// `writes` must outlive it.
  explicit MemberHistory(const MemberWriteTable& writes);

  /// Ranks as numbers from 0 on, without gaps.
  [[nodiscard]] std::uint32_t writer(std::uint32_t write) const { return writer_[write]; }
  /// `writes`: all of one element, the latest first. Cost O(n log n).
  std::optional<LostWrite> find_lost(std::span<const std::uint32_t> writes);

 private:
  void find_bases(std::span<const std::uint32_t> writes);

  const MemberWriteTable& table_;
  std::vector<std::uint32_t> writer_;
  std::vector<std::size_t> own_;   ///< per writer, its nearest earlier write
  std::vector<std::size_t> base_;  ///< per write, the latest one before it that its rank saw
  NearestBelow exchanges_;
  NearestBelow told_;
  std::vector<bool> taken_;  ///< may the latest record have values from this one?
};

}  // namespace bento
