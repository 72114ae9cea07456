// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// An encoded run as its first row and the rest. Programs that write many datasets alike make runs
/// that differ in the first row only, often in nothing but a position: what was found out about one
/// of them holds for the next. Source: docs/format.md, "Step index".
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/steps/record_fields.hpp"

namespace bento {

/// A view of one, which must stay.
struct RunHead {
  /// `bytes`: as RecordRun::encode() makes them. What follows the row is not looked at. Errors:
  /// kCorrupt (no whole row).
  Status read(std::span<const std::byte> bytes, unsigned width);

  Row row;                           ///< as many numbers as a row has
  std::span<const std::byte> first;  ///< the row, encoded
  std::span<const std::byte> rest;   ///< differences and tokens
};

/// Joins two encoded runs, one pair after the other. Not thread-safe.
class RunJoiner {
 public:
  /// Appends both, which follow each other, as one run to `joined`. False, and nothing is appended,
  /// if that would have more than kMaxJoinedTokens, or too many records. Errors: kCorrupt.
  Result<bool> join(std::span<const std::byte> left, std::span<const std::byte> right,
                    unsigned width, ByteWriter& joined);

 private:
  Result<bool> join_anew(std::span<const std::byte> left, std::span<const std::byte> right,
                         unsigned width, ByteWriter& joined);
  [[nodiscard]] bool as_before(unsigned width) const;

  RunHead left_;
  RunHead right_;
  // The last pair that had to be looked at.
  unsigned width_ = 0;  ///< 0: none
  Row between_;         ///< first row of the right one - that of the left one
  std::vector<std::byte> left_rest_;
  std::vector<std::byte> right_rest_;
  bool joins_ = false;
  std::vector<std::byte> joined_rest_;
};

/// Says of one run after the other whether it is like the last one, only written at another time to
/// another place: the same boxes of the same ranks, in the same order. Not thread-safe.
class RunMemo {
 public:
  /// Errors: kCorrupt (no whole row).
  Result<bool> same_as_last(std::span<const std::byte> run, const RowShape& shape);

 private:
  RunHead head_;
  RowShape shape_;
  bool any_ = false;
  Row row_;
  std::vector<std::byte> rest_;
};

}  // namespace bento
