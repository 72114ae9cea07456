// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// One HDF5 file in a joined container: addresses are offsets in a task's stream. Bytes that were
/// never written read as zeros, as in an ordinary file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/base/error.hpp"
#include "core/joined/joined_container.hpp"
#include "core/joined/joined_place.hpp"

namespace bento {

class JoinedStream {
 public:
  /// The lock of the task is held, unless it is opened to read.
  JoinedStream(std::shared_ptr<JoinedContainer> container, Slot slot, bool writable, bool begun);
  ~JoinedStream();
  JoinedStream(const JoinedStream&) = delete;
  JoinedStream& operator=(const JoinedStream&) = delete;

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] bool writable() const { return writable_; }
  [[nodiscard]] const Slot& slot() const { return slot_; }
  [[nodiscard]] JoinedContainer& container() { return *container_; }

  /// What lies beyond size() reads as zeros. Errors: kCorrupt (the physical file ends before the
  /// stream does: names file and offset), kIo.
  Status read(std::uint64_t offset, std::span<std::byte> into);
  /// Errors: kPermission (open to read, or a forked child), kNoSpace (with EFBIG: chunks are too
  /// small), kIo.
  Status write(std::uint64_t offset, std::span<const std::byte> from);
  /// What is cut off reads as zeros if the stream grows again. Errors: as write().
  Status set_size(std::uint64_t bytes);
  /// Keeps writers away from a stream that is read. Errors: kBusy (somebody writes it).
  Status lock_for_reading();
  /// A descriptor of the physical file that holds the stream, if the stream is in one piece there.
  /// Errors: kUnsupported (it is not: says why).
  Result<int> descriptor();
  /// Must be called by who opened it, once for each time that it was opened. Errors: those of the
  /// META2 that the last one writes.
  Status close();
  void opened_again() { ++opens_; }

 private:
  [[nodiscard]] const FilePlan& plan() const { return place_.plan(); }
  Result<File*> file();
  Status check_may_write() const;
  Result<bool> holds_already(std::uint64_t offset, std::span<const std::byte> from);
  Status begin();
  Status reach(std::uint64_t end);
  Status enter_block(std::uint64_t block);
  Status zero(std::uint64_t begin, std::uint64_t end);

  std::shared_ptr<JoinedContainer> container_;
  Slot slot_;
  JoinedPlace place_;
  std::uint64_t size_ = 0;
  bool writable_ = false;
  bool begun_ = false;  ///< the container knows that the stream is being changed
  bool reading_ = false;
  int opens_ = 1;
};

}  // namespace bento
