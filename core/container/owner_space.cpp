// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What can nobody see any more? Found at commits, so that its space is written again, and at the
/// close, so that the streams say so; in the catalogue, so that its holes are used.
#include <algorithm>

#include "core/base/guarded.hpp"
#include "core/catalogue/catalogue_sweep.hpp"
#include "core/catalogue/sion_view.hpp"
#include "core/container/owner.hpp"
#include "core/container/published_view.hpp"
#include "core/io/read_ahead.hpp"
#include "core/layout/holder.hpp"

namespace bento {

// Ranks free what they overwrite themselves without asking. What others overwrite is looked for
// when so much was written that replaced nothing of the same rank that looking at every record is
// little beside it. That it cannot be found does not fail the commit, whose data is in place.
Result<Bytes> Owner::find_space(const CommitMessage& message, const Root& next) {
  constexpr std::uint64_t kLeastBytes = 256u << 10;
  constexpr std::uint64_t kMostRecords = 1u << 16;  // some hundred MB of memory
  unsearched_bytes_ += message.new_bytes;
  std::uint64_t taken = 0;
  for (const auto& fill : state_.fills) taken += stream_bytes(fill);
  if (unsearched_bytes_ < std::max(kLeastBytes, taken / 8)) return Bytes{};
  unsearched_bytes_ = 0;
  Bytes found;
  auto searched = guarded([&]() -> Status {
    BENTO_ASSIGN(found, liveness(next, false, kMostRecords));
    return {};
  });
  if (searched) return found;
  failures_.defer(std::move(searched));
  return Bytes{};
}

// A program that is killed each time never comes to a close. With MD5, FTI's order of containers
// would have to be made anew, and all streams read back.
Result<Bytes> Owner::left_dead() {
  ByteWriter out;
  if (state_.root.stream_rules().for_fti || state_.root.index.bytes == 0) return Bytes{};
  const Root& root = state_.root;
  if (!shown_step_ || root.closed == 0) return Bytes{};
  // What the native view maps stays, and what SION readers see.
  out.u64(std::max(root.closed - 1, *shown_step_ < root.step ? *shown_step_ : 0));
  BENTO_ASSIGN(const Bytes plan, liveness(state_.root, false));
  out.bytes(plan);
  return std::move(out).take();
}

Result<Bytes> Owner::liveness(const Root& next, bool closing, std::uint64_t most_records) {
  // What a session left behind that did not come to its close is marked even if nothing changes.
  const bool changed = next.sequence != state_.root.sequence;
  const bool gates = closing && next.stream_rules().for_fti && (changed || touched_.all());
  if (!gates && !touched_.all() && (!changed || touched_.datasets().empty())) return Bytes{};
  BENTO_ASSIGN(File* const first, files_.file(0));
  BENTO_ASSIGN(CommittedIndex newest, CommittedIndex::open(*first, state_.plan.file(0), next.index,
                                                           std::nullopt, nullptr, state_.blobs));
  newest.set_room([this] { return files_.room(); });
  BENTO_ASSIGN(LivenessPlan plan, plan_liveness(newest, state_.datasets(), touched_,
                                                state_.plan.writers(), most_records));
  if (gates) plan_gates(newest, state_.datasets(), state_.plan.writers(), plan);
  return encode_liveness(plan);
}

// What newer roots have left behind becomes holes, now and then. A reader may have opened a step by
// a root whose own pages no newer root refers to. As long as the step is kept (or for some commits,
// if all are), these stay as they are. After that, or if the reader is of an earlier session, it
// finds its step through the newest root (Container::confirm_read()).
Status Owner::sweep(File& first) {
  constexpr std::uint64_t kMostSteps = 16;
  const Root& root = state_.root;
  if (root.index.bytes == 0) return {};
  space_.release(root.step);
  if (!space_.due()) return {};
  forget_old_views();
  if (old_views_wait_) return {};
  // The index has some small pages for each dataset, mostly one behind the other; nobody else
  // writes to them.
  ReadAhead ahead;
  FileAhead pages(first, ahead, ReadAhead::kAllTheFile);
  BENTO_ASSIGN(const Root reachable, in_use_of(pages, state_.plan.file(0), root));
  BENTO_ASSIGN(auto used, ranges_in_use(pages, state_.plan.file(0), reachable));
  BENTO_ASSIGN(const auto meta2, meta2_in_use(first, state_.plan, 0));
  if (meta2) used.push_back(*meta2);
  live_views_.add_ranges(used);
  const std::uint64_t keep = state_.options.keep;
  const std::uint64_t older = keep == 0 || recent_.any() ? kMostSteps : keep - 1;
  space_.sweep(std::move(used), root.step + std::clamp<std::uint64_t>(older, 1, kMostSteps));
  // What earlier sessions have left behind need not wait: sessions of one commit would never come
  // to it, and the file would grow for ever.
  if (root.session != state_.session) space_.release();
  return {};
}

void Owner::complete_again() {
  complete_again_ = true;
  touched_.assume_all();
}

// What a later writer would be told must not outlive the lock. A note that stays, because the file
// is failing, does no harm without it.
void Owner::give_back() {
  File* const first = files_.opened(0);
  if (!state_.writable || first == nullptr) return;
  (void)guarded([&] { return clear_holder_note(*first, state_.plan.file(0)); });
}

}  // namespace bento
