// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// When a file that is open with `commit=SECONDS` wants its next commit.
#pragma once

#include <chrono>
#include <cstddef>

namespace bento::vol {

class CommitTimer {
 public:
  /// `seconds` 0: never.
  explicit CommitTimer(double seconds) : interval_(seconds) {
    if (runs()) ++count();
  }
  ~CommitTimer() {
    if (runs()) --count();
  }
  CommitTimer(const CommitTimer&) = delete;
  CommitTimer& operator=(const CommitTimer&) = delete;

  /// Has so much time gone by since begin_anew(), or since the file was opened?
  [[nodiscard]] bool due() const { return runs() && Clock::now() - begun_ >= interval_; }
  /// A commit has begun. One that fails is not tried again before its time: a full disk is told
  /// once in a while, not by every call.
  void begin_anew() { begun_ = Clock::now(); }
  /// Does any open file of this process have one that runs? Nearly every call asks.
  [[nodiscard]] static bool any() { return count() > 0; }

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] bool runs() const { return interval_.count() > 0; }
  static std::size_t& count() {
    static std::size_t running = 0;
    return running;
  }

  std::chrono::duration<double> interval_;
  Clock::time_point begun_ = Clock::now();
};

}  // namespace bento::vol
