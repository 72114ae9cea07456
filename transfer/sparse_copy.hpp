// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Copies one file to another of the same length, or parts of several files to other places of one,
/// with their holes, and can go on where an earlier copy ended.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "transfer/gate.hpp"

namespace bento::transfer {

/// A part of an open file, and where it goes.
struct CopiedPart {
  int source = -1;
  const std::string* name = nullptr;  ///< of the source, for errors
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t bytes = 0;
};

class SparseCopy {
 public:
  /// Both are open, the target for reading and writing; names are for errors.
  SparseCopy(int source, std::string source_name, int target, std::string target_name,
             std::uint64_t size);
  /// Gives the next part, by ascending place in the target; none: that were all.
  using NextPart = std::function<std::optional<CopiedPart>()>;
  /// The parts have `bytes` together, and the target `size` afterwards. Between them, it is left
  /// alone.
  SparseCopy(NextPart next, std::uint64_t bytes, int target, std::string target_name,
             std::uint64_t size);
  SparseCopy(const SparseCopy&) = delete;
  SparseCopy& operator=(const SparseCopy&) = delete;

  /// Compares the first `bytes` of what is to be copied with the target, and copying goes on at the
  /// first difference, or behind them. Cuts off what lies beyond in the target. Returns false if
  /// the gate says stop.
  Result<bool> resume(std::uint64_t bytes, Gate& gate);
  /// Copies on. After each burst the target is synced and `durable` called with how many of the
  /// bytes are there; it returns false to stop. True: all of it is copied and synced. Errors:
  /// kBusy (the source ends before its size: it was cut off, or is created anew), kNoSpace, kIo,
  /// those of `durable`.
  Result<bool> copy(Gate& gate, const std::function<Result<bool>(std::uint64_t)>& durable);

 private:
  bool find_part();
  void skip(std::uint64_t bytes);
  Result<std::uint64_t> copy_piece(std::uint64_t bytes);
  Result<std::uint64_t> read_and_write(std::uint64_t bytes);
  Result<std::uint64_t> equal_bytes(std::uint64_t bytes, Gate& gate, bool& go_on);
  std::byte* buffer();

  std::string source_name_;
  NextPart next_;
  std::uint64_t bytes_;
  int target_;
  std::string target_name_;
  std::uint64_t size_;
  std::uint64_t offset_ = 0;  ///< where copying stands, of bytes_
  CopiedPart part_;           ///< what is left of the present one
  std::uint64_t data_ = 0;    ///< bytes in front of its next hole
  bool kernel_copies_ = true;
  std::unique_ptr<std::byte[]> buffer_;
};

}  // namespace bento::transfer
