// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The native views that plain readers of a live file may have open: what they map, and what they
/// are made of, is not written over. A session passes them on to the next one in the table of its
/// last view. Decides only; the owner asks the clock and the locks.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/catalogue/catalogue_space.hpp"
#include "core/catalogue/view_table.hpp"

namespace bento {

class LiveViews {
 public:
  using Clock = std::chrono::steady_clock;
  explicit LiveViews(double grace_seconds)
      : grace_(std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(grace_seconds))) {}

  /// A view of `step` in `ranges` has become the one that is found. The ones before it wait.
  void publish(std::uint64_t step, std::vector<CatalogueRange> ranges, Clock::time_point now);
  /// A view of a session before, which a newer one has followed for `age`.
  void recall(std::uint64_t step, std::vector<CatalogueRange> ranges, Clock::time_point now,
              Clock::duration age);
  /// Forgets those that a newer one has followed for longer than the grace time. While a plain
  /// reader holds a lock nobody knows which view it reads; so these are kept kLockedFactor times
  /// as long, for the space must not grow for ever.
  void forget_old(Clock::time_point now, bool locked);
  static constexpr int kLockedFactor = 10;
  [[nodiscard]] Clock::duration grace() const { return grace_; }
  /// Is there one that forget_old() would forget? Asking for locks costs calls.
  [[nodiscard]] bool any_old(Clock::time_point now) const;
  /// The oldest step that a view shows; nothing if there is no view.
  [[nodiscard]] std::optional<std::uint64_t> oldest_step() const;
  /// All of them, as a newer view follows them now, for the next session: `now` is `now_ns` of
  /// CLOCK_REALTIME. Views that were followed at nearly the same time are one, so that they are
  /// few.
  [[nodiscard]] std::vector<EarlierView> passed_on(Clock::time_point now,
                                                   std::uint64_t now_ns) const;
  [[nodiscard]] bool empty() const { return views_.empty(); }
  /// Adds the places of all views.
  void add_ranges(std::vector<CatalogueRange>& used) const;

 private:
  struct View {
    std::uint64_t step;
    std::vector<CatalogueRange> ranges;
    std::optional<Clock::time_point> followed;  ///< when a newer one came
  };
  [[nodiscard]] static bool older(const View& view, Clock::time_point now, Clock::duration age) {
    return view.followed && now - *view.followed > age;
  }

  Clock::duration grace_;
  std::vector<View> views_;  ///< by ascending step
};

}  // namespace bento
