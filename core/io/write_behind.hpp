// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Writing while the next part is read: a thread takes what is to be written, part by part.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/error.hpp"

namespace bento {

/// Parts are written one after the other, in the order in which they were given. At most 4 MiB of
/// them, or one that is larger, wait or are being written. Where no thread can be had, give()
/// writes. One thread uses it.
class WriteBehind {
 public:
  struct Part {
    std::uint64_t address = 0;     ///< where `bytes` go
    std::vector<std::byte> bytes;  ///< or none, if there is only something to count
    std::uint64_t end = 0;         ///< address below which all is there after this part
    std::uint64_t counted = 0;     ///< bytes by which this part brings the work further
  };
  /// Called for each part, by one thread at a time, until it fails.
  using Write = std::function<Status(const Part& part)>;

  explicit WriteBehind(Write write);
  /// Parts that are not begun are dropped, unless finish() was called.
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  /// A buffer of `bytes` bytes for a part, with whatever in it: one that was written, if there is.
  std::vector<std::byte> buffer(std::size_t bytes);
  /// Waits until there is room for `part`. Errors: the first of a write, of an earlier part, too;
  /// nothing is written after it.
  Status give(Part part);
  /// Waits until everything is written. Nothing may be given after it. Errors: as give().
  Status finish();

 private:
  void work();
  void stop(bool drop);

  Write write_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Part> waiting_;
  std::vector<std::vector<std::byte>> written_;  ///< buffers to be used again
  std::size_t bytes_ = 0;                        ///< waiting or being written
  bool last_given_ = false;
  Status done_;         ///< the first failure
  std::thread thread_;  ///< the last member: it uses the others
};

}  // namespace bento
