// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "tools/units.hpp"

namespace bento::tools {

namespace {

constexpr auto kEvery = std::chrono::milliseconds(100);

std::size_t columns_of_errors() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(std::min(seconds, 1e7)));
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

std::string progress_line(const std::string& what, std::uint64_t done, std::uint64_t total,
                          double seconds, std::size_t columns) {
  done = std::min(done, total);
  const double part = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::string tail = fmt::format(" {:3.0f}%  {}/s", 100 * part, bytes_text(rate));
  // The first moments say nothing of the rest.
  if (rate > 0 && seconds >= 0.5)
    tail += fmt::format("  {} left", clock_text(static_cast<double>(total - done) / rate));
  const std::size_t around = what.size() + tail.size() + 4;
  constexpr std::size_t kLeast = 8;
  constexpr std::size_t kMost = 60;
  if (columns < around + kLeast) return (what + tail).substr(0, columns);
  const std::size_t width = std::min(columns - around, kMost);
  const auto full = static_cast<std::size_t>(part * static_cast<double>(width));
  std::string bar(full, '=');
  if (full < width) bar += '>';
  bar.resize(width, ' ');
  return fmt::format("{} [{}]{}", what, bar, tail);
}

Progress::Progress(std::string what, std::uint64_t total, bool quiet)
    : what_(std::move(what)), total_(total), shown_(!quiet && isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::add(std::uint64_t bytes) {
  if (!shown_) return;
  const std::uint64_t done = done_.fetch_add(bytes) + bytes;
  const auto now = (Clock::now() - begun_).count();
  Clock::rep next = next_.load();
  if (now < next) return;
  const auto after = now + std::chrono::duration_cast<Clock::duration>(kEvery).count();
  if (next_.compare_exchange_strong(next, after)) draw(done);
}

void Progress::draw(std::uint64_t done) {
  const std::lock_guard lock(drawing_);
  const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
  // The last column stays free: some terminals go to the next line otherwise.
  const std::string line = progress_line(what_, done, total_, seconds, columns_of_errors() - 1);
  std::fprintf(stderr, "\r%s\033[K", line.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace bento::tools
