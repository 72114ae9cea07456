// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Holds copying to a number of bytes a second, and the process to a share of one CPU. Both are
/// averages over a long time: what a slow moment has left unused is made up for, but only so much
/// of it that no 5 seconds see more than 1.2 times the rate. Asks for the time and the CPU time
/// through functions, so that tests need not wait.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace bento::transfer {

using Seconds = std::chrono::duration<double>;

class Pace {
 public:
  struct Clocks {
    std::function<Seconds()> now;  ///< from any start, never back
    std::function<Seconds()> cpu;  ///< user and system time that the process has used
  };
  /// Those of the operating system.
  static Clocks system_clocks();

  explicit Pace(Clocks clocks = system_clocks());

  /// 0 or less: no limit. A change begins a new average.
  void limit(double bytes_per_second, double cpu_percent);
  /// Copying begins, or goes on after a pause: time spent idle gives no credit. Only what `is_new`,
  /// and no copy that is taken up again, may begin a little ahead of the rate.
  void begin(bool is_new = true);
  /// `bytes` were copied.
  void copied(std::uint64_t bytes);
  /// How long to wait before the next piece; 0 if it may come now.
  [[nodiscard]] Seconds wait();
  /// Largest piece that keeps the rate even over a tenth of a second, in bytes.
  [[nodiscard]] std::uint64_t piece() const;
  [[nodiscard]] double bytes_per_second() const { return rate_; }
  [[nodiscard]] double cpu_percent() const { return percent_; }

 private:
  Clocks clocks_;
  double rate_ = 0;
  double percent_ = 0;
  Seconds bytes_due_{0};  ///< when as many bytes are allowed as were copied
  Seconds cpu_from_{0};   ///< begin of the CPU average
  Seconds cpu_used_{0};   ///< at that moment
};

}  // namespace bento::transfer
