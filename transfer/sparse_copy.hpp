// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Copies one file to another of the same length, with its holes, and can go on where an earlier
/// copy ended.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/error.hpp"
#include "transfer/gate.hpp"

namespace bento::transfer {

class SparseCopy {
 public:
  /// Both are open, the target for reading and writing; names are for errors.
  SparseCopy(int source, std::string source_name, int target, std::string target_name,
             std::uint64_t size);

  /// Compares the first `bytes` of both, and copying goes on at the first difference, or behind
  /// them. Cuts off what lies beyond in the target. Returns false if the gate says stop.
  Result<bool> resume(std::uint64_t bytes, Gate& gate);
  /// Copies on. After each burst the target is synced and `durable` called with the length of the
  /// prefix that is there; it returns false to stop. True: all of it is copied and synced. Errors:
  /// kBusy (the source ends before its size: it was cut off, or is created anew), kNoSpace, kIo,
  /// those of `durable`.
  Result<bool> copy(Gate& gate, const std::function<Result<bool>(std::uint64_t)>& durable);
  /// Where copying stands, in bytes.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  Result<std::uint64_t> next_data(int fd, std::uint64_t from, const std::string& name) const;
  Result<std::uint64_t> next_hole(std::uint64_t from) const;
  Result<std::uint64_t> copy_piece(std::uint64_t bytes);
  Result<std::uint64_t> read_and_write(std::uint64_t bytes);
  Result<std::uint64_t> first_difference(std::uint64_t end, Gate& gate, bool& go_on);
  std::byte* buffer();

  int source_;
  std::string source_name_;
  int target_;
  std::string target_name_;
  std::uint64_t size_;
  std::uint64_t offset_ = 0;
  bool kernel_copies_ = true;
  std::unique_ptr<std::byte[]> buffer_;
};

}  // namespace bento::transfer
