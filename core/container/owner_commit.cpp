// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What rank 0 does with what all ranks bring to a commit. Source of the order of writes:
/// docs/format.md, "Order of writes in a commit".
#include <algorithm>

#include <fmt/format.h>

#include "core/base/guarded.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/status_message.hpp"
#include "core/container/owner.hpp"
#include "core/layout/overflow.hpp"
#include "core/steps/blob_cache.hpp"
#include "core/steps/contribution.hpp"
#include "core/steps/step_commit.hpp"

namespace bento {

ByteWriter Owner::answer(const Bytes& merged, bool first_round, bool closing,
                         const ViewBuilder& view) {
  ByteWriter out;
  CommitAnswer kind = CommitAnswer::kVerdict;
  Status lost;
  Status done = guarded([&]() -> Status {
    BENTO_ASSIGN(const CommitMessage message, decode_commit_message(merged));
    if (message.differs && message.status) {
      kind = CommitAnswer::kDiverged;
      return {};
    }
    BENTO_TRY(message.status);
    if (first_round && state_.ranks > 1) {
      BENTO_ASSIGN(const SecondRound again, ask(message));
      if (!again.exact_times.empty() || !again.member_writes.empty() || !again.gapped.empty()) {
        kind = CommitAnswer::kAgain;
        put_datasets(out, again.exact_times);
        put_datasets(out, again.member_writes);
        put_datasets(out, again.gapped);
        return {};
      }
    }
    lost = check_members(message);
    BENTO_TRY(lost);
    BENTO_TRY(note_uncertain_order(message));
    Root next = state_.root;
    BENTO_TRY(commit(message, closing, view, next));
    BENTO_ASSIGN(const Bytes dead, closing ? liveness(next, true) : find_space(message, next));
    out.bytes(encode_root(next));
    out.u8(slots_.mirrored() ? 1 : 0);
    // What a view shows is not written over while a plain reader may have that open.
    forget_old_views();
    out.u64(std::min(next.oldest, live_views_.oldest_step().value_or(next.oldest)));
    put_datasets(out, message.unreachable.value_or(std::set<DatasetNumber>{}));
    out.bytes(dead);
    return {};
  });
  if (!done) {
    // A root that the ranks do not know of must not be followed by one that does not either.
    if (!at_rest()) failures_.give_up(done);
    out = ByteWriter();
    if (state_.ranks > 1 && lost) done = fail(std::move(done).error().with_context("rank 0"));
  }
  ByteWriter whole;
  whole.u8(static_cast<std::uint8_t>(kind));
  put_status(whole, done);
  whole.bytes(out.view());
  return whole;
}

// What each writer's stream holds after this commit.
Result<std::vector<ChunkFill>> Owner::fills_with(const CommitMessage& message) const {
  std::vector<ChunkFill> fills = state_.fills;
  fills.resize(state_.plan.writers());
  for (const auto& run : message.fills)
    for (std::uint32_t i = 0; i < run.count; ++i) {
      if (run.writer + i >= fills.size())
        return fail(Code::kInternal, fmt::format("fill of writer {}", run.writer + i));
      fills[run.writer + i] = run.fill;
    }
  return fills;
}

Status Owner::commit(const CommitMessage& message, bool closing, const ViewBuilder& view,
                     Root& next) {
  BENTO_ASSIGN(auto fills, fills_with(message));
  const Segment& pending = state_.pending;
  const bool data_changed = !message.entries.empty() || !pending.datasets.empty() ||
                            !pending.extents.empty() || !pending.deleted.empty();
  const bool fills_changed = fills != state_.fills;
  const bool step_changed = data_changed || state_.skeleton.any_dirty() || next.index.bytes == 0;
  const bool changed = step_changed || fills_changed;
  const bool completed = (next.flags & kRootClosed) != 0 && !complete_again_;
  BENTO_ASSIGN(File* const first, files_.file(0));
  if (!changed && (!closing || completed)) {
    if (closing || !view_behind_) return {};
    BENTO_TRY(slots_.mirror(*first));
    return publish_view(view, next);
  }
  BENTO_TRY(slots_.mirror(*first));
  BENTO_TRY(sweep(*first));
  // What a commit without a root has stored is in nobody's way.
  struct GiveBack {
    Owner& owner;
    CatalogueSpace before;
    ~GiveBack() {
      if (owner.at_rest()) owner.space_.space() = std::move(before);
    }
  } give_back{*this, space_.space()};
  Catalogue catalogue(*first, state_.plan.file(0), state_.options.logical_limit);
  auto places = page_places_;
  ContainerPlan plan = state_.plan;
  if (!closing) {
    BENTO_ASSIGN(plan, overflow(fills));
    fills.resize(plan.writers());
  }
  next.groups.assign(plan.groups().begin(), plan.groups().end());
  next.flags &= ~static_cast<std::uint32_t>(kRootProvisional | kRootClosed);
  if (state_.counted_references) next.flags |= kRootCountedReferences;
  for (const auto& dataset : pending.datasets)
    if ((dataset.flags & kVariableElements) != 0) next.version = kVersionWithVariableElements;
  if (state_.skeleton.any_dirty() || next.skeleton.bytes == 0) {
    BENTO_ASSIGN(next.skeleton, catalogue.store(state_.skeleton, places, space_.space()));
    next.skeleton_bytes = state_.skeleton.size();
  }
  if (fills_changed || fills.size() != state_.fills.size() || next.streams.bytes == 0) {
    BENTO_ASSIGN(next.streams, catalogue.append(space_.space(), encode_fills(fills)));
  }
  if (step_changed) BENTO_TRY(store_step(catalogue, message, next));
  next.collective = state_.collective;
  next.next_dataset = state_.next_dataset;
  next.catalogue_end = space_.space().end();
  BENTO_TRY(keep_from_cut(next));
  BENTO_TRY(slots_.write(*first, next));
  page_places_ = std::move(places);
  space_.committed();
  state_.fills = std::move(fills);
  // What other readers see; the step is safe already.
  return closing ? complete(view, next) : publish_view(view, next);
}

// Segment, pages and tables of the step index.
Status Owner::store_step(Catalogue& catalogue, const CommitMessage& message, Root& next) {
  StepCommit step;
  step.step = AbsoluteStep(++next.step);
  step.declared = state_.pending.datasets;
  step.deleted = state_.pending.deleted;
  step.extents = state_.pending.extents;
  step.contribution = message.entries;
  step.keep = recent_.keep_with(state_.options.keep, RecentSteps::Clock::now());
  const auto payload = encode_payload({next.skeleton, next.skeleton_bytes});
  step.payload = payload;
  CatalogueBlobs blobs(catalogue, &space_.space());
  blobs.gather();  // two small blobs for each dataset that was written
  CachedSource source(blobs, *state_.blobs);
  CachingSink sink(blobs, *state_.blobs);
  BENTO_ASSIGN(const StepCommitted done, commit_step(source, sink, blob_ref(next.index), step));
  BENTO_TRY(blobs.write_gathered());
  next.index = catalogue_ref(done.root);
  next.oldest = done.oldest.number();
  // Whose records may be seen no more after this commit.
  for (const DatasetNumber dataset : state_.pending.deleted) touched_.note(dataset);
  for (const DatasetNumber dataset : done.hidden) touched_.note(dataset);
  return {};
}

// The plan with which the writers go on: with new physical files, which are then there, if those in
// use are nearly full. That there can be none does not fail the commit, whose data is in place.
Result<ContainerPlan> Owner::overflow(std::span<const ChunkFill> fills) {
  const auto group = overflow_at_commit(state_.plan, state_.ranks, state_.fills, fills,
                                        state_.options.logical_limit);
  if (!group) return state_.plan;
  ContainerPlan wider = state_.plan;
  auto added = wider.add(*group);
  if (added) added = add_files(wider, state_.plan.files());
  if (added) return wider;
  notes_.push_back(
      fmt::format("'{}' is nearly as large as it may get, and cannot go on in another "
                  "physical file: {}",
                  state_.path, added.error().text));
  return state_.plan;
}

}  // namespace bento
