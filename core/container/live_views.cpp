// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/live_views.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace bento {

void LiveViews::publish(std::uint64_t step, std::vector<CatalogueRange> ranges,
                        Clock::time_point now) {
  for (auto& view : views_)
    if (!view.followed) view.followed = now;
  views_.push_back({step, std::move(ranges), std::nullopt});
}

void LiveViews::recall(std::uint64_t step, std::vector<CatalogueRange> ranges,
                       Clock::time_point now, Clock::duration age) {
  views_.push_back({step, std::move(ranges), now - age});
}

void LiveViews::forget_old(Clock::time_point now, bool locked) {
  const auto age = locked ? kLockedFactor * grace_ : grace_;
  std::erase_if(views_, [&](const View& view) { return older(view, now, age); });
}

bool LiveViews::any_old(Clock::time_point now) const {
  return std::ranges::any_of(views_, [&](const View& view) { return older(view, now, grace_); });
}

std::optional<std::uint64_t> LiveViews::oldest_step() const {
  if (views_.empty()) return std::nullopt;
  return std::ranges::min(views_, {}, &View::step).step;
}

// The intervals are those of the clock, not of the views: or a view that is passed on again and
// again would grow together with ever newer ones.
std::vector<EarlierView> LiveViews::passed_on(Clock::time_point now, std::uint64_t now_ns) const {
  using std::chrono::nanoseconds;
  constexpr int kParts = 16;
  const auto wanted = std::chrono::duration_cast<nanoseconds>(grace_ / kParts).count();
  const auto interval = static_cast<std::uint64_t>(std::max<nanoseconds::rep>(wanted, 1));
  std::map<std::uint64_t, EarlierView> parts;
  for (const auto& view : views_) {
    const nanoseconds age = now - view.followed.value_or(now);
    const std::uint64_t at = now_ns - std::min(now_ns, static_cast<std::uint64_t>(age.count()));
    EarlierView& part =
        parts.try_emplace(at / interval, EarlierView{view.step, at, {}}).first->second;
    part.step = std::min(part.step, view.step);
    part.followed_ns = std::max(part.followed_ns, at);
    part.ranges.insert(part.ranges.end(), view.ranges.begin(), view.ranges.end());
  }
  std::vector<EarlierView> out;
  for (auto& [number, part] : parts) {
    part.ranges = joined(std::move(part.ranges));
    out.push_back(std::move(part));
  }
  return out;
}

void LiveViews::add_ranges(std::vector<CatalogueRange>& used) const {
  for (const auto& view : views_) used.insert(used.end(), view.ranges.begin(), view.ranges.end());
}

}  // namespace bento
