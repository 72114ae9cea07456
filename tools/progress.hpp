// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A progress bar with rate and time left on the standard error, if that is a terminal; nothing
/// otherwise. Any thread may add.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

namespace bento::tools {

/// One line of a bar: "verify  [=====>    ]  52%  1.2 GB/s  0:07 left", at most `columns` wide.
/// `done` and `total` in bytes.
std::string progress_line(const std::string& what, std::uint64_t done, std::uint64_t total,
                          double seconds, std::size_t columns);

class Progress {
 public:
  /// `total` bytes will be gone through. Draws nothing if `quiet`, or without a terminal.
  Progress(std::string what, std::uint64_t total, bool quiet = false);
  ~Progress();  ///< Takes the line away.
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(std::uint64_t bytes);

 private:
  using Clock = std::chrono::steady_clock;
  void draw(std::uint64_t done);

  std::string what_;
  std::uint64_t total_;
  bool shown_;
  Clock::time_point begun_ = Clock::now();
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<Clock::rep> next_ = 0;  ///< when to draw again
  std::mutex drawing_;
  bool drawn_ = false;
};

}  // namespace bento::tools
