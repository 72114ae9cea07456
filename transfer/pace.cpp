// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/pace.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace bento::transfer {
namespace {

/// Of the time in which less was copied than allowed, at most this much is made up for: 5 s then
/// see at most 5.5 s worth of bytes and one piece.
constexpr Seconds kByteCredit(0.5);
/// What a beginning may be ahead, since verification and the last sync come after the bytes. With
/// kByteCredit, 5 s see at most 5.8 s worth.
constexpr Seconds kStartCredit(0.3);
/// The same for CPU time, in seconds of CPU.
constexpr Seconds kCpuCredit(0.1);
/// Shorter waits cost more than they hold back.
constexpr Seconds kLeastWait(0.005);
constexpr std::uint64_t kLargestPiece = std::uint64_t{1} << 20;
constexpr std::uint64_t kSmallestPiece = 512;

Seconds of(const timeval& time) {
  return Seconds(static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6);
}

}  // namespace

Pace::Clocks Pace::system_clocks() {
  return {[] { return Seconds(std::chrono::steady_clock::now().time_since_epoch()); },
          [] {
            rusage used{};
            ::getrusage(RUSAGE_SELF, &used);
            return of(used.ru_utime) + of(used.ru_stime);
          }};
}

Pace::Pace(Clocks clocks)
    : clocks_(std::move(clocks)), cpu_from_(clocks_.now()), cpu_used_(clocks_.cpu()) {
  bytes_due_ = cpu_from_ - kStartCredit;
}

void Pace::limit(double bytes_per_second, double cpu_percent) {
  // What was never a number, or is beyond any device, limits nothing.
  const double rate = bytes_per_second > 0 && bytes_per_second < 1e18 ? bytes_per_second : 0;
  const double percent = cpu_percent > 0 && cpu_percent < 1e6 ? cpu_percent : 0;
  if (rate == rate_ && percent == percent_) return;
  const Seconds now = clocks_.now();
  const Seconds debt = std::max(bytes_due_ - now, Seconds(0));
  bytes_due_ = rate > 0 && rate_ > 0 ? now + debt * (rate_ / rate) : now - kStartCredit;
  rate_ = rate;
  percent_ = percent;
  cpu_from_ = now;
  cpu_used_ = clocks_.cpu();
}

void Pace::begin(bool is_new) {
  const Seconds now = clocks_.now();
  // Debts stay: who stops and starts again must not get more than who goes on.
  bytes_due_ = std::max(bytes_due_, is_new ? now - kStartCredit : now);
  const Seconds used = clocks_.cpu();
  const Seconds debt = used - cpu_used_ - (now - cpu_from_) * (percent_ / 100);
  cpu_from_ = now;
  cpu_used_ = used - std::clamp(debt, Seconds(0), kCpuCredit);
}

void Pace::copied(std::uint64_t bytes) {
  if (rate_ <= 0) return;
  bytes_due_ = std::max(bytes_due_, clocks_.now() - kByteCredit) +
               Seconds(static_cast<double>(bytes) / rate_);
}

Seconds Pace::wait() {
  const Seconds now = clocks_.now();
  Seconds wait = rate_ > 0 ? bytes_due_ - now : Seconds(0);
  if (percent_ > 0) {
    const double share = percent_ / 100;
    const Seconds used = clocks_.cpu() - cpu_used_;
    const Seconds unused = (now - cpu_from_) * share - used;
    if (unused > kCpuCredit) cpu_from_ += (unused - kCpuCredit) / share;
    wait = std::max(wait, -unused / share);
  }
  return wait >= kLeastWait ? wait : Seconds(0);
}

std::uint64_t Pace::piece() const {
  if (rate_ <= 0) return kLargestPiece;
  const double tenth = rate_ / 10;
  if (tenth >= static_cast<double>(kLargestPiece)) return kLargestPiece;
  return std::max(static_cast<std::uint64_t>(tenth), kSmallestPiece);
}

}  // namespace bento::transfer
