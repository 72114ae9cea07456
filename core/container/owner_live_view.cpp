// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// view=commit: the native view that a commit leaves, while the session goes on. The commit is safe
/// before it begins: what goes wrong here costs the view. Source: docs/format.md, "Native view".
#include <algorithm>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "core/base/checked.hpp"
#include "core/container/owner.hpp"
#include "core/container/published_view.hpp"
#include "core/layout/empty_view.hpp"

namespace bento {

namespace {
// A view that takes longer than the first is not built at every commit, but so that views take a
// tenth of the time.
constexpr auto kShort = std::chrono::milliseconds(50);
constexpr int kShare = 10;
// How much longer than needed the file becomes, and how long a reader may take from its open to the
// superblock.
constexpr std::uint64_t kMoreBytes = 4u << 20;
constexpr std::uint64_t kMoreShare = 8;
constexpr auto kReaderOpens = std::chrono::milliseconds(5);
constexpr std::string_view kText =
    "Nothing was committed here so far: a program that writes this file with h5bento has not come "
    "to its first H5Fflush or H5Fclose.";
}  // namespace

// This session's views are told of at each commit. The one that is there counts from now on.
Status Owner::begin_live_views() {
  if (!state_.options.view_at_commits) return {};
  BENTO_ASSIGN(File* const first, files_.file(0));
  // As long as the session before has left it, it will do: or each would make it longer.
  BENTO_ASSIGN(live_length_, first->size());
  if (state_.root.view.bytes == 0) return {};
  Catalogue catalogue(*first, state_.plan.file(0));
  std::vector<CatalogueRange> ranges;
  BENTO_ASSIGN(const Root root, in_use_of(*first, state_.plan.file(0), state_.root));
  for (const CatalogueRef& ref : {root.view, root.view_before}) {
    if (ref.bytes == 0) continue;
    BENTO_ASSIGN(const auto bytes, catalogue.read(ref, "table of the native view"));
    BENTO_ASSIGN(const ViewTable table, decode_view_table(bytes));
    const auto more = table.in_use(state_.plan.file(0).chunk_bytes);
    ranges.insert(ranges.end(), more.begin(), more.end());
  }
  // Its step may be before that of the root: of what came then, it was not told.
  live_views_.publish(shown_step_.value_or(0), std::move(ranges), LiveViews::Clock::now());
  return {};
}

void Owner::note_once(std::string note) {
  if (std::ranges::find(notes_, note) == notes_.end()) notes_.push_back(std::move(note));
}

// From the create on stock HDF5 opens the file. What it finds is written last.
Result<Bytes> Owner::first_view() {
  if (!state_.options.view_at_commits || state_.plan.files() > 1) return Bytes{};
  File& first = *files_.opened(0);
  BENTO_ASSIGN(const std::uint64_t bytes, first.size());
  Bytes empty = empty_view(state_.plan.file(0).superblock_address(), bytes, kText);
  state_.root.superblock = hash128(std::span(empty).first(kSuperblockBytes));
  state_.root.superblock_before = hash128(Superblock{});
  return empty;
}

Status Owner::show_first_view(const Bytes& empty) {
  if (empty.empty()) return {};
  File& first = *files_.opened(0);
  const std::uint64_t address = state_.plan.file(0).superblock_address();
  const auto bytes = std::span(empty);
  BENTO_TRY(first.write_at(address + kSuperblockBytes, bytes.subspan(kSuperblockBytes)));
  BENTO_TRY(files_.make_durable(first));
  BENTO_TRY(first.write_at(address, bytes.first(kSuperblockBytes)));
  return files_.make_durable(first);
}

// HDF5 asks for the length of a file before it reads the superblock, and refuses a file that was
// shorter then than the superblock says. So the file becomes longer in few large steps, without
// taking space, and each some time before a superblock says so.
Result<std::uint64_t> Owner::live_length(File& first) {
  BENTO_ASSIGN(const std::uint64_t bytes, first.size());
  if (bytes == live_length_) return bytes;
  const std::uint64_t longer = round_up(bytes + bytes / kMoreShare, kMoreBytes);
  BENTO_TRY(first.truncate(longer));
  live_length_ = longer;
  std::this_thread::sleep_for(kReaderOpens);
  return longer;
}

// The view is in the file after this, and `next` leads to it.
Result<Superblock> Owner::next_view(const ViewBuilder& view, const Superblock& before, Root& next) {
  BENTO_ASSIGN(File* const first, files_.file(0));
  begin_view(next, hash128(before));
  std::vector<CatalogueSpace*> spaces{&space_.space()};
  BENTO_ASSIGN(NativeView built, guarded_view(view, next, spaces));
  if (built.superblocks.empty() || !built.superblocks[0])
    return fail(Code::kInternal, "it has no superblock");
  Superblock after = *built.superblocks[0];
  BENTO_ASSIGN(const std::uint64_t bytes, live_length(*first));
  BENTO_TRY(set_end_of_file(after, bytes));
  // The next commits would say much the same.
  if (!told_views_ && !built.notes.empty()) {
    for (auto& note : built.notes) note_once(std::move(note));
    told_views_ = true;
  }
  next.catalogue_end = space_.space().end();
  next.superblock_before = hash128(before);
  next.superblock = hash128(after);
  next.flags |= kRootLiveViews;
  return after;
}

// A commit that comes too soon after the last view leaves the one that is there; a later one, also
// one that has nothing else to do, brings it up to date.
Status Owner::publish_view(const ViewBuilder& view, Root& next) {
  if (!view || !state_.options.view_at_commits) return {};
  if (!makes_live_views()) {
    note_once(
        "view=commit does as view=on where there are several physical files: what stock HDF5 "
        "sees is that of the last close");
    return {};
  }
  const auto begun = LiveViews::Clock::now();
  view_behind_ = begun < next_view_;
  if (view_behind_) return {};
  forget_old_views();
  BENTO_ASSIGN(File* const first, files_.file(0));
  BENTO_ASSIGN(const Superblock before, read_superblock(*first, state_.plan.file(0)));
  const CatalogueSpace space = space_.space();
  Root shown = next;
  const auto after = next_view(view, before, shown);
  const auto ended = LiveViews::Clock::now();
  next_view_ = ended - begun < kShort ? ended : ended + (kShare - 1) * (ended - begun);
  if (!after) {
    space_.space() = space;
    note_once(
        fmt::format("stock HDF5 goes on with the native view before, for the one of a commit "
                    "could not be built: {}",
                    after.error().text));
    return {};
  }
  BENTO_TRY(slots_.write(*first, shown));
  next = shown;
  NativeView built;
  built.superblocks = {*after};
  BENTO_TRY(show_view(built, before, *after));
  live_views_.publish(next.step, std::move(shown_ranges_), ended);
  return {};
}

}  // namespace bento
