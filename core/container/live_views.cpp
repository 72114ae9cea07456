// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/live_views.hpp"

#include <algorithm>
#include <utility>

namespace bento {

void LiveViews::publish(std::uint64_t step, std::vector<CatalogueRange> ranges,
                        Clock::time_point now) {
  for (auto& view : views_)
    if (!view.followed) view.followed = now;
  views_.push_back({step, std::move(ranges), std::nullopt});
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

void LiveViews::add_ranges(std::vector<CatalogueRange>& used) const {
  for (const auto& view : views_) used.insert(used.end(), view.ranges.begin(), view.ranges.end());
}

}  // namespace bento
