// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Commit and close. Source of the order of writes: docs/format.md, "Order of writes in a commit".
#include "core/container/container.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/guarded.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/catalogue/sion_view.hpp"
#include "core/comm/agree.hpp"
#include "core/comm/status_message.hpp"
#include "core/layout/overflow.hpp"
#include "core/steps/contribution.hpp"
#include "core/steps/segment_codec.hpp"
#include "core/steps/step_commit.hpp"

namespace bento {

namespace {

/// What the owner sends back.
enum class Answer : std::uint8_t { kVerdict, kAgain, kDiverged };

}  // namespace

Status Container::commit() {
  BENTO_TRY(check_home());
  return commit_impl(false, {});
}

Status Container::close(const ViewBuilder& view) {
  if (writable_ && inherited()) {
    abandon();
    return check_home();
  }
  Status status = writable_ ? commit_impl(true, view) : Status{};
  if (status) give_back();  // else some streams may lack their marks
  for (auto& handle : files_) {
    if (!handle) continue;
    auto closed = handle->close();
    if (!closed && status) status = std::move(closed);
  }
  files_.clear();
  lock_.reset();
  return status;
}

// Everything of this rank's that the commit will refer to is in the files after this.
Status Container::prepare(bool closing) {
  Status mine = std::exchange(deferred_, Status{});
  if (comm_->rank() == 0 && placed_.sequence != root_.sequence)
    give_up(fail(Code::kInternal, "a commit ended behind its root"));
  if (!broken_) return broken_;
  auto stored = layout_fixed_ ? store_layout() : fix_layout(0);
  if (mine) mine = std::move(stored);
  // A task that never wrote still gets a file block, so that every stream is an FTI-FF file.
  const std::uint32_t writer = my_writer();
  const bool begun = writer < fills_.size() && !fills_[writer].empty();
  if (mine && (stream_.has_buffered() || (closing && !begun))) mine = attach();
  if (mine && stream_.attached()) mine = stream_.flush(true);
  if (mine && (stream_.attached() || layout_unsynced_)) mine = sync_mine();
  return mine;
}

Status Container::sync_mine() {
  BENTO_ASSIGN(File* const handle, file(plan_.file_of(my_writer())));
  BENTO_TRY(make_durable(*handle));
  layout_unsynced_ = false;
  return {};
}

// A record that grew is as late as its first part. Where another rank has written the same place,
// the later parts must say for themselves how late they are.
Status Container::part_records(const std::set<DatasetNumber>& datasets) {
  const auto read = [this](const Record& record) { return reader_.read_stored(record); };
  BENTO_ASSIGN(const bool any, stream_.write_parts(datasets, read));
  return any ? sync_mine() : Status{};
}

Result<Bytes> Container::contribution(const Status& mine, const SecondRound& second) const {
  const std::uint32_t rank = my_rank();
  CommitMessage message;
  if (!mine) {
    Error error = mine.error();
    message.status = fail(std::move(error).with_context(fmt::format("rank {}", rank)));
  }
  message.first_rank = rank;
  message.collective = collective_;
  message.operation_hash = operations_.hash();
  for (const auto& old : retired_) message.fills.push_back({old.writer, 1, old.fill});
  if (!stream_.fill().empty()) message.fills.push_back({stream_.writer(), 1, stream_.fill()});
  if (options_.keep != 0) message.new_bytes = stream_.new_bytes();  // else nothing is ever dead
  if (!mine || stream_.uncommitted().empty()) return encode(message);
  message.partial = member_writes_.partial();
  message.member_writes = member_writes_.encode(second.member_writes);

  // In the order of the stream, because that is regular.
  std::vector<std::pair<Record, ValueRange>> records;
  for (const auto& slot : stream_.uncommitted())
    records.emplace_back(index_.record(slot.dataset, slot.position), stream_.range_of(slot));
  std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) {
    return a.first.where.offset < b.first.where.offset;
  });
  ContributionBuilder::Options options;
  options.ranges = options_.minmax;
  options.exact_times = second.exact_times;
  options.all_exact_times = comm_->size() == 1;
  ContributionBuilder builder(options);
  for (const auto& [record, range] : records)
    BENTO_TRY(builder.add(record, index_.find(record.dataset)->element_bytes, range));
  message.entries = builder.encode();
  return encode(message);
}

// What this rank brings to the commit, its failure included: the others wait for it.
Result<Bytes> Container::contribute(Status& mine, const SecondRound& second) {
  Bytes out;
  auto brought = guarded([&]() -> Status {
    if (mine && !second.exact_times.empty()) BENTO_TRY(part_records(second.exact_times));
    BENTO_ASSIGN(out, contribution(mine, second));
    return {};
  });
  if (brought) return out;
  mine = std::move(brought);
  return contribution(mine, {});
}

Status Container::commit_impl(bool closing, const ViewBuilder& view) {
  Status mine = guarded([&] { return prepare(closing); });
  SecondRound second;
  for (bool first_round = true;; first_round = false) {
    BENTO_ASSIGN(const Bytes brought, contribute(mine, second));
    BENTO_ASSIGN(const Bytes merged, comm_->combine(brought, &merge_commit_messages));
    ByteWriter out;
    if (comm_->rank() == 0) out = owner_answer(merged, first_round, closing, view);
    BENTO_ASSIGN(const Bytes blob, comm_->broadcast(out.view()));
    ByteReader in(blob, std::endian::little, "commit message");
    BENTO_ASSIGN(const std::uint8_t answer, in.u8());
    Status verdict = get_status(in);
    if (answer == static_cast<std::uint8_t>(Answer::kDiverged)) return explain_divergence();
    BENTO_TRY(std::move(verdict));
    if (answer == static_cast<std::uint8_t>(Answer::kVerdict)) {
      if (comm_->rank() == 0) unordered_overlaps_ += second.exact_times.size();
      return accept_commit(std::span<const std::byte>(blob).subspan(in.offset()), closing);
    }
    BENTO_ASSIGN(second.exact_times, get_datasets(in));
    BENTO_ASSIGN(second.member_writes, get_datasets(in));
  }
}

// The owner's part of one round: what all ranks are told.
ByteWriter Container::owner_answer(const Bytes& merged, bool first_round, bool closing,
                                   const ViewBuilder& view) {
  ByteWriter out;
  Answer answer = Answer::kVerdict;
  Status lost;
  Status done = guarded([&]() -> Status {
    BENTO_ASSIGN(const CommitMessage message, decode_commit_message(merged));
    if (message.differs && message.status) {
      answer = Answer::kDiverged;
      return {};
    }
    BENTO_TRY(message.status);
    if (first_round && comm_->size() > 1) {
      BENTO_ASSIGN(const SecondRound again, owner_ask(message));
      if (!again.exact_times.empty() || !again.member_writes.empty()) {
        answer = Answer::kAgain;
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

// The commit is in place: this rank goes on from it. If that fails half-way, it does not go on.
Status Container::accept_commit(std::span<const std::byte> message, bool closing) {
  LivenessPlan plan;
  bool changed = false;
  Status done = guarded([&]() -> Status {
    ByteReader in(message, std::endian::little, "commit message");
    BENTO_ASSIGN(const auto sector, in.bytes(kSectorBytes));
    BENTO_ASSIGN(Root next, decode_root(sector));
    BENTO_ASSIGN(const std::uint8_t mirrored, in.u8());
    BENTO_ASSIGN(plan, decode_liveness(message.subspan(in.offset())));
    operations_.agreed();
    changed = next.sequence != root_.sequence;
    // A slot that still holds the root before keeps what only that one refers to.
    const std::uint64_t free_before = mirrored != 0 ? next.oldest : 0;
    stream_.mark_committed(next.step, free_before, pending_.deleted);
    root_ = std::move(next);
    pending_ = {};
    index_.clear_records();
    member_writes_.clear();
    forget_read_records();
    skeleton_.clear_dirty();
    if (closing) return {};
    stream_.forget_unseen(plan, root_.step, free_before);
    // What comes now is later than everything in this step, for who looks at records alone.
    ++collective_;
    // The step is safe: what fails here is for the next commit to say, on all ranks.
    Status marked =
        changed && stream_.attached() ? stream_.write_file_block(now_ns(), false) : Status{};
    if (deferred_) deferred_ = std::move(marked);
    if (changed && root_.groups.size() > plan_.groups().size()) {
      BENTO_ASSIGN(plan_, ContainerPlan::of(root_.groups, root_.fs_block));
      follow_plan();
    }
    return {};
  });
  if (!done) give_up(done);
  if (!closing) return done;
  // The holder's note stays until all streams are marked: who finds it there marks them again.
  if (done) done = guarded([&] { return finish_streams(plan, changed); });
  return agree(*comm_, done);
}

// This rank's next records go where the plan says now. The stream that it leaves is finished at the
// close; one that was never begun gets its file block then.
void Container::follow_plan() {
  const std::uint32_t old = stream_.writer();
  if (my_writer() == old) return;
  const bool begun = old < fills_.size() && !fills_[old].empty();
  if (stream_.attached())
    retired_.push_back({old, stream_.fill(), stream_.orphans()});
  else if (!begun)
    retired_.push_back({old, {fti::v11::kFileBlockBytes}, {}});
  stream_.become(my_writer());
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
