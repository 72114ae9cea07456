// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Older native views that plain readers may have open: those that sessions before this one left,
/// and for how long nothing of them is written over. Source: docs/format.md, "Views of commits".
#include <algorithm>
#include <ctime>

#include <sys/stat.h>

#include "core/container/owner.hpp"
#include "core/container/published_view.hpp"

namespace bento {

namespace {
constexpr auto kSeldom = std::chrono::seconds(1);
}  // namespace

// The table of the view that the last session left knows of older ones. One that did not come to
// its close has left none, or one that does not know of the view that was there before the switch.
Status Owner::recall_views(File& first, bool edited) {
  const auto now = LiveViews::Clock::now();
  unknown_since_ = now;
  const Root& root = state_.root;
  opened_at_step_ = root.step;
  BENTO_ASSIGN(const bool switched, view_switched(first, state_.plan.file(0), root));
  ViewTable table;
  const CatalogueRef& shown = switched ? root.view : root.view_before;
  if (shown.bytes == 0) {
    shown_step_ = 0;
  } else {
    Catalogue catalogue(first, state_.plan.file(0));
    BENTO_ASSIGN(const auto bytes, catalogue.read(shown, "table of the native view"));
    BENTO_ASSIGN(table, decode_view_table(bytes));
    shown_step_ = table.step;
  }
  if (edited) shown_step_.reset();
  if ((root.flags & kRootLiveViews) == 0) {
    // Only a lock tells of readers. Without locks, nobody would ever write over anything. That
    // there is no view now does not say that nobody has an older one open.
    old_views_wait_ = files_.others_read().value_or(false);
    return {};
  }
  const bool closed = (root.flags & kRootClosed) != 0;
  const std::uint64_t now_ns = state_.clock.now_ns();
  const auto age = [&](std::uint64_t ns) {
    return std::chrono::nanoseconds(now_ns - std::min(ns, now_ns));
  };
  if (table.live && !state_.options.view_at_commits)
    replaced_at_close_ =
        EarlierView{shown_step_.value_or(0), 0, table.in_use(state_.plan.file(0).chunk_bytes)};
  if (!closed || !switched || root.view.bytes == 0) {
    const bool read = plain_readers();
    old_views_wait_ = read || changed_lately(first);
    const auto patience = (read ? LiveViews::kLockedFactor : 1) * live_views_.grace();
    if (!closed && switched && table.live && !table.earlier.empty() &&
        age(table.earlier[0].followed_ns) > patience)
      settled_ = table.earlier[0].step + 1;
    return {};
  }
  for (const EarlierView& view : table.earlier)
    live_views_.recall(view.step, view.ranges, now, age(view.followed_ns));
  old_views_wait_ = table.unknown_since_ns != 0;
  if (old_views_wait_) unknown_since_ = now - age(table.unknown_since_ns);
  // Views of closes are in no list, as above, and whoever reads now may have had one of them open
  // for longer than any list says.
  if (files_.others_read().value_or(false)) {
    old_views_wait_ = true;
    unknown_since_ = now;
  }
  forget_old_views();
  return {};
}

// Whoever did not come to its close has not marked its dead records either: left_dead().
DeadSpace Owner::dead_space(bool left_behind) const {
  DeadSpace dead;
  const Root& root = state_.root;
  dead.newest = root.step;
  dead.oldest = std::min(root.oldest, live_views_.oldest_step().value_or(root.oldest));
  if (!state_.writable) return dead;
  dead.undated = !left_behind && dead.oldest == root.step && !old_views_wait_;
  // Unknown views are gone when the one that is newest now is, if there is one.
  dead.settled = settled_;
  if (!old_views_wait_)
    dead.not_before = 0;
  else if (state_.options.view_at_commits && root.view.bytes != 0)
    dead.not_before = root.step + 1;
  return dead;
}

bool Owner::makes_live_views() const {
  return state_.options.view_at_commits && state_.plan.files() == 1;
}

bool Owner::any_live_views() const {
  return makes_live_views() || old_views_wait_ || replaced_at_close_ || !live_views_.empty();
}

// The view that is being built is the one that a later session finds. Views between commits are
// many: they only say when the one was followed that was there before the session.
void Owner::pass_views_on(ViewTable& table) {
  table.live = makes_live_views();
  const auto now = LiveViews::Clock::now();
  const std::uint64_t now_ns = state_.clock.now_ns();
  if (!closing_) {
    if (!first_followed_) first_followed_ = EarlierView{opened_at_step_, now_ns, {}};
    table.earlier = {*first_followed_};
    return;
  }
  forget_old_views();
  table.earlier = live_views_.passed_on(now, now_ns);
  if (replaced_at_close_) {
    replaced_at_close_->followed_ns = now_ns;
    table.earlier.push_back(*replaced_at_close_);
  }
  if (!old_views_wait_) return;
  const auto age = std::chrono::duration_cast<std::chrono::nanoseconds>(now - unknown_since_);
  table.unknown_since_ns = now_ns - std::min(now_ns - 1, static_cast<std::uint64_t>(age.count()));
}

bool Owner::changed_lately(File& first) {
  struct stat info{};
  if (first.descriptor() < 0 || ::fstat(first.descriptor(), &info) != 0) return true;
  const double since = std::difftime(std::time(nullptr), info.st_mtim.tv_sec);
  return since <= state_.options.view_grace + 1;
}

// By trying: a reader that opens the file at that moment is refused. So it is asked seldom.
bool Owner::plain_readers() {
  const auto read = files_.others_read();
  return !read || *read;
}

void Owner::forget_old_views() {
  const auto now = LiveViews::Clock::now();
  const auto waited = now - unknown_since_;
  live_views_.forget_old(now, true);
  if (waited > LiveViews::kLockedFactor * live_views_.grace()) old_views_wait_ = false;
  const bool of_before = old_views_wait_ && waited > live_views_.grace();
  if (now < next_question_ || (!of_before && !live_views_.any_old(now))) return;
  next_question_ = now + std::max<LiveViews::Clock::duration>(kSeldom, live_views_.grace() / 4);
  if (plain_readers()) return;
  live_views_.forget_old(now, false);
  if (of_before) old_views_wait_ = false;
}

}  // namespace bento
