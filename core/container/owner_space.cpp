// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What can nobody see any more? Found at commits, so that its space is written again, and at the
/// close, so that the streams say so; in the catalogue, so that its holes are used.
#include "core/container/container.hpp"

#include <algorithm>

#include "core/base/guarded.hpp"
#include "core/catalogue/catalogue_sweep.hpp"
#include "core/catalogue/sion_view.hpp"

namespace bento {

// Ranks free what they overwrite themselves without asking. What others overwrite is looked for
// when so much was written that replaced nothing of the same rank that looking at every record is
// little beside it. That it cannot be found does not fail the commit, whose data is in place.
Result<Bytes> Container::owner_find_space(const CommitMessage& message, const Root& next) {
  constexpr std::uint64_t kLeastBytes = 256u << 10;
  constexpr std::uint64_t kMostRecords = 1u << 16;  // some hundred MB of memory
  unsearched_bytes_ += message.new_bytes;
  std::uint64_t taken = 0;
  for (const auto& fill : fills_) taken += stream_bytes(fill);
  if (unsearched_bytes_ < std::max(kLeastBytes, taken / 8)) return Bytes{};
  unsearched_bytes_ = 0;
  Bytes found;
  auto searched = guarded([&]() -> Status {
    BENTO_ASSIGN(found, owner_liveness(next, kMostRecords));
    return {};
  });
  if (searched) return found;
  if (deferred_) deferred_ = std::move(searched);
  return Bytes{};
}

Result<Bytes> Container::owner_liveness(const Root& next, std::uint64_t most_records) {
  // What a session left behind that did not come to its close is marked even if nothing changes.
  if (!touched_.all() && (next.sequence == root_.sequence || touched_.datasets().empty()))
    return Bytes{};
  BENTO_ASSIGN(File* const first, file(0));
  BENTO_ASSIGN(CommittedIndex newest, CommittedIndex::open(*first, plan_.file(0), next.index));
  newest.set_room([this] { return room(); });
  BENTO_ASSIGN(const LivenessPlan plan,
               plan_liveness(newest, datasets(), touched_, plan_.writers(), most_records));
  return encode_liveness(plan);
}

// What newer roots have left behind becomes holes, now and then: when the catalogue has grown by as
// much as it holds, so that looking at all of it costs no more than having written it. A reader may
// have opened a step by a root whose own pages no newer root refers to. As long as the step is kept
// (or for some commits, if all are), these stay as they are. After that, or if the reader is of an
// earlier session, it finds its step through the newest root (confirm_read()).
Status Container::owner_sweep(File& first) {
  constexpr std::uint64_t kLeastBytes = 256u << 10;
  constexpr std::uint64_t kMostSteps = 16;
  if (root_.index.bytes == 0) return {};
  const auto release_held = [this] {
    CatalogueSpace more = space_;  // all of it or nothing: no range may be free twice
    more.release(held_);
    space_ = std::move(more);
    held_.clear();
  };
  if (!held_.empty()) {
    if (root_.step < held_until_) return {};
    release_held();
  }
  const bool due = swept_ ? space_.taken_bytes() > std::max(kLeastBytes, catalogue_used_)
                          : space_.end() > kLeastBytes;
  if (!due) return {};
  Root reachable = root_;
  BENTO_ASSIGN(const bool switched, owner_view_switched(first));
  if (switched) reachable.view_before = {};
  BENTO_ASSIGN(auto used, ranges_in_use(first, plan_.file(0), reachable));
  BENTO_ASSIGN(const auto meta2, meta2_in_use(first, plan_, 0));
  if (meta2) used.push_back(*meta2);
  held_ = space_.unused(std::move(used));
  std::uint64_t held_bytes = 0;
  for (const auto& range : held_) held_bytes += range.end - range.begin;
  catalogue_used_ = space_.end() - space_.free_bytes() - held_bytes;
  const std::uint64_t older = options_.keep == 0 ? kMostSteps : options_.keep - 1;
  held_until_ = root_.step + std::clamp<std::uint64_t>(older, 1, kMostSteps);
  swept_ = true;
  // What earlier sessions have left behind need not wait: sessions of one commit would never come
  // to it, and the file would grow for ever.
  if (root_.session != session_) release_held();
  return {};
}

}  // namespace bento
