// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What rank 0 does with what all ranks bring to a commit. Source of the order of writes:
/// docs/format.md, "Order of writes in a commit".
#include <fmt/format.h>

#include "core/base/guarded.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/status_message.hpp"
#include "core/container/container.hpp"
#include "core/layout/overflow.hpp"
#include "core/steps/contribution.hpp"
#include "core/steps/step_commit.hpp"

namespace bento {

// The owner's part of one round: what all ranks are told.
ByteWriter Container::owner_answer(const Bytes& merged, bool first_round, bool closing,
                                   const ViewBuilder& view) {
  ByteWriter out;
  CommitAnswer answer = CommitAnswer::kVerdict;
  Status lost;
  Status done = guarded([&]() -> Status {
    BENTO_ASSIGN(const CommitMessage message, decode_commit_message(merged));
    if (message.differs && message.status) {
      answer = CommitAnswer::kDiverged;
      return {};
    }
    BENTO_TRY(message.status);
    if (first_round && comm_->size() > 1) {
      BENTO_ASSIGN(const SecondRound again, owner_ask(message));
      if (!again.exact_times.empty() || !again.member_writes.empty()) {
        answer = CommitAnswer::kAgain;
        put_datasets(out, again.exact_times);
        put_datasets(out, again.member_writes);
        return {};
      }
    }
    lost = owner_check_members(message);
    BENTO_TRY(lost);
    Root next = root_;
    BENTO_TRY(owner_commit(message, closing, view, next));
    BENTO_ASSIGN(const Bytes liveness,
                 closing ? owner_liveness(next) : owner_find_space(message, next));
    out.bytes(encode_root(next));
    out.u8(mirrored_ ? 1 : 0);
    out.bytes(liveness);
    return {};
  });
  if (!done) {
    // A root that the ranks do not know of must not be followed by one that does not either.
    if (placed_.sequence != root_.sequence) give_up(done);
    out = ByteWriter();
    if (comm_->size() > 1 && lost) done = fail(std::move(done).error().with_context("rank 0"));
  }
  ByteWriter whole;
  whole.u8(static_cast<std::uint8_t>(answer));
  put_status(whole, done);
  whole.bytes(out.view());
  return whole;
}

Status Container::owner_commit(const CommitMessage& message, bool closing, const ViewBuilder& view,
                               Root& next) {
  std::vector<ChunkFill> fills = fills_;
  fills.resize(plan_.writers());
  for (const auto& run : message.fills)
    for (std::uint32_t i = 0; i < run.count; ++i) {
      if (run.writer + i >= fills.size())
        return fail(Code::kInternal, fmt::format("fill of writer {}", run.writer + i));
      fills[run.writer + i] = run.fill;
    }

  const bool data_changed = !message.entries.empty() || !pending_.datasets.empty() ||
                            !pending_.extents.empty() || !pending_.deleted.empty();
  const bool fills_changed = fills != fills_;
  const bool step_changed = data_changed || skeleton_.any_dirty() || next.index.bytes == 0;
  const bool changed = step_changed || fills_changed;
  const bool complete = (next.flags & kRootClosed) != 0 && !complete_again_;
  if (!changed && (!closing || complete)) return {};

  BENTO_ASSIGN(File* const first, file(0));
  BENTO_TRY(owner_mirror(*first));
  BENTO_TRY(owner_sweep(*first));
  // What a commit without a root has stored is in nobody's way.
  struct GiveBack {
    Container& container;
    CatalogueSpace before;
    ~GiveBack() {
      if (container.placed_.sequence == container.root_.sequence)
        container.space_ = std::move(before);
    }
  } give_back{*this, space_};
  Catalogue catalogue(*first, plan_.file(0), options_.logical_limit);
  auto places = page_places_;
  ContainerPlan plan = plan_;
  if (!closing) {
    BENTO_ASSIGN(plan, owner_overflow(fills));
    fills.resize(plan.writers());
  }
  next.groups.assign(plan.groups().begin(), plan.groups().end());
  next.flags &= ~static_cast<std::uint32_t>(kRootProvisional | kRootClosed);
  if (counted_references_) next.flags |= kRootCountedReferences;
  if (skeleton_.any_dirty() || next.skeleton.bytes == 0) {
    BENTO_ASSIGN(next.skeleton, catalogue.store(skeleton_, places, space_));
    next.skeleton_bytes = skeleton_.size();
  }
  if (fills_changed || fills.size() != fills_.size() || next.streams.bytes == 0) {
    BENTO_ASSIGN(next.streams, catalogue.append(space_, encode_fills(fills)));
  }
  if (step_changed) {
    StepCommit step;
    step.step = AbsoluteStep(++next.step);
    step.declared = pending_.datasets;
    step.deleted = pending_.deleted;
    step.extents = pending_.extents;
    step.contribution = message.entries;
    step.keep = options_.keep;
    const auto payload = encode_payload({next.skeleton, next.skeleton_bytes});
    step.payload = payload;
    CatalogueBlobs blobs(catalogue, &space_);
    CachedSource cache(blobs);
    BENTO_ASSIGN(const StepCommitted done, commit_step(cache, blobs, blob_ref(next.index), step));
    next.index = catalogue_ref(done.root);
    next.oldest = done.oldest.number();
  }
  next.collective = collective_;
  next.next_dataset = next_dataset_;
  next.catalogue_end = space_.end();
  for (const auto& event : pending_.extents) touched_.note(event.dataset);
  for (const DatasetNumber dataset : pending_.deleted) touched_.note(dataset);
  if (!message.entries.empty()) {
    BENTO_ASSIGN(const auto parts, parse_contribution(message.entries));
    for (const auto& part : parts) touched_.note(part.dataset);
  }
  BENTO_TRY(owner_write_root(*first, next));
  page_places_ = std::move(places);
  fills_ = std::move(fills);
  // What other readers see; the step is safe already.
  return closing ? owner_complete(view, next) : Status{};
}

// The plan with which the writers go on: with new physical files, which are then there, if those in
// use are nearly full. That there can be none does not fail the commit, whose data is in place.
Result<ContainerPlan> Container::owner_overflow(std::span<const ChunkFill> fills) {
  const auto ranks = static_cast<std::uint32_t>(comm_->size());
  const auto group = overflow_at_commit(plan_, ranks, fills_, fills, options_.logical_limit);
  if (!group) return plan_;
  ContainerPlan wider = plan_;
  auto added = wider.add(*group);
  if (added) added = owner_add_files(wider, plan_.files());
  if (added) return wider;
  notes_.push_back(
      fmt::format("'{}' is nearly as large as it may get, and cannot go on in another "
                  "physical file: {}",
                  path_, added.error().text));
  return plan_;
}

}  // namespace bento
