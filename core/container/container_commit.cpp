// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Commit and close. Source of the order of writes: docs/format.md, "Order of writes in a commit".
#include <algorithm>

#include <fmt/format.h>

#include "core/base/guarded.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/agree.hpp"
#include "core/comm/status_message.hpp"
#include "core/container/container.hpp"
#include "core/container/fill_runs.hpp"
#include "core/container/owner.hpp"
#include "core/steps/contribution.hpp"

namespace bento {

Status Container::commit(const ViewBuilder& view,
                         std::optional<std::set<DatasetNumber>> unreachable) {
  BENTO_TRY(check_home());
  unreachable_ = std::move(unreachable);
  removed_.clear();
  Status done = commit_impl(false, view);
  unreachable_.reset();
  return done;
}

Status Container::close(const ViewBuilder& view) {
  if (state_.writable && inherited()) {
    abandon();
    return check_home();
  }
  Status status = state_.writable ? commit_impl(true, view) : Status{};
  // If that fails, what others may still read is left alone: no reason to fail after a commit.
  if (state_.writable && boards_) (void)boards_->close(*comm_);
  if (status && owner_) owner_->give_back();  // else some streams may lack their marks
  auto closed = files_.close();
  return status ? closed : status;
}

// Everything of this rank's that the commit will refer to is in the files after this.
Status Container::prepare(bool closing) {
  Status mine = failures_.take_deferred();
  if (owner_ && !owner_->at_rest())
    failures_.give_up(fail(Code::kInternal, "a commit ended behind its root"));
  if (!failures_.broken()) return failures_.broken();
  auto stored = layout_fixed_ ? store_layout() : fix_layout(0);
  if (mine) mine = std::move(stored);
  // A task that never wrote still gets a file block, so that every stream is an FTI-FF file.
  const std::uint32_t writer = my_writer();
  const ChunkFill* const known = state_.fill_of(writer);
  const bool begun = known != nullptr && !known->empty();
  if (mine && (stream_.has_buffered() || (closing && !begun))) mine = attach();
  if (mine && stream_.attached()) mine = stream_.flush(true);
  if (mine && (stream_.attached() || layout_unsynced_)) mine = sync_mine();
  return mine;
}

Status Container::sync_mine() {
  BENTO_ASSIGN(File* const handle, files_.stream_file(state_.plan.file_of(my_writer())));
  BENTO_TRY(files_.make_durable(*handle));
  if (state_.options.spread && owner_ && layout_unsynced_)
    for (std::uint32_t index = 0; index < state_.plan.files(); ++index) {
      BENTO_ASSIGN(File* const common, files_.file(index));
      BENTO_TRY(files_.make_durable(*common));
    }
  layout_unsynced_ = false;
  return {};
}

// A record that grew is as late as its first part. Where another rank has written the same place,
// the later parts must say for themselves how late they are.
Result<bool> Container::part_records(const std::set<DatasetNumber>& datasets) {
  return stream_.write_parts(datasets,
                             [this](const Record& record) { return reader_.read_stored(record); });
}

Result<Bytes> Container::contribution(const Status& mine, const SecondRound& second) const {
  const std::uint32_t rank = my_rank();
  CommitMessage message;
  if (!mine) {
    Error error = mine.error();
    message.status = fail(std::move(error).with_context(fmt::format("rank {}", rank)));
  }
  message.first_rank = rank;
  message.collective = state_.collective;
  message.operation_hash = operations_.hash();
  for (const auto& old : retired_) message.fills.push_back({old.writer, 1, old.fill});
  if (!stream_.fill().empty()) message.fills.push_back({stream_.writer(), 1, stream_.fill()});
  if (!second.exact_times.empty() && clocks_decide())
    message.clocks.push_back({rank, 1, node_.leader, clock_doubt_ns_});
  // With keep=0 nothing is ever dead.
  if (state_.options.keep != 0) message.new_bytes = stream_.new_bytes();
  message.unreachable = unreachable_;
  if (!mine || stream_.uncommitted().empty()) return encode(message);
  message.partial = member_writes_.partial();
  message.gapped = stream_.datasets_with_gaps();
  message.member_writes = member_writes_.encode(second.member_writes);

  // In the order of the stream, because that is regular.
  std::vector<std::pair<Position, const StreamWriter::Slot*>> slots;
  slots.reserve(stream_.uncommitted().size());
  for (const auto& slot : stream_.uncommitted())
    slots.emplace_back(state_.index.where(slot.dataset, slot.position).offset, &slot);
  if (!std::ranges::is_sorted(slots)) std::ranges::sort(slots);
  ContributionBuilder::Options options;
  options.ranges = state_.options.minmax;
  options.exact_times = second.exact_times;
  options.all_exact_times = comm_->size() == 1;
  ContributionBuilder builder(options);
  for (const auto& [offset, slot] : slots)
    BENTO_TRY(builder.add(state_.index.record(slot->dataset, slot->position),
                          state_.index.find(slot->dataset)->element_bytes,
                          stream_.range_of(*slot)));
  message.entries = builder.encode();
  return encode(message);
}

// What this rank brings to the commit, its failure included: the others wait for it.
Result<Bytes> Container::contribute(Status& mine, const SecondRound& second) {
  Bytes out;
  auto brought = guarded([&]() -> Status {
    bool wrote = false;
    if (mine && !second.gapped.empty()) {
      BENTO_TRY(fill_gaps(second.gapped));
      wrote = stream_.attached();
    }
    if (mine && !second.exact_times.empty()) {
      BENTO_ASSIGN(const bool parted, part_records(second.exact_times));
      wrote = wrote || parted;
    }
    if (wrote) BENTO_TRY(sync_mine());
    BENTO_ASSIGN(out, contribution(mine, second));
    return {};
  });
  if (brought) return out;
  mine = std::move(brought);
  return contribution(mine, {});
}

Status Container::commit_impl(bool closing, const ViewBuilder& view) {
  merge_small_records();
  Status mine = guarded([&] { return prepare(closing); });
  SecondRound second;
  for (bool first_round = true;; first_round = false) {
    BENTO_ASSIGN(const Bytes brought, contribute(mine, second));
    BENTO_ASSIGN(const Bytes merged, comm_->combine(brought, &merge_commit_messages));
    ByteWriter out;
    if (owner_) out = owner_->answer(merged, first_round, closing, view);
    BENTO_ASSIGN(const Bytes blob, comm_->broadcast(out.view()));
    ByteReader in(blob, std::endian::little, "commit message");
    BENTO_ASSIGN(const std::uint8_t answer, in.u8());
    Status verdict = get_status(in);
    if (answer == static_cast<std::uint8_t>(CommitAnswer::kDiverged)) return explain_divergence();
    BENTO_TRY(std::move(verdict));
    if (answer == static_cast<std::uint8_t>(CommitAnswer::kVerdict)) {
      if (owner_) owner_->count_unordered(second.exact_times.size());
      // Clocks of nodes drift. Who misses it now finds out in the next call of all.
      if (!closing && node_.several) (void)set_clock();
      return accept_commit(std::span<const std::byte>(blob).subspan(in.offset()), closing);
    }
    BENTO_ASSIGN(second.exact_times, get_datasets(in));
    BENTO_ASSIGN(second.member_writes, get_datasets(in));
    BENTO_ASSIGN(second.gapped, get_datasets(in));
    if (!second.exact_times.empty() && clocks_decide()) BENTO_TRY(doubt_clock());
  }
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
    BENTO_ASSIGN(const std::uint64_t oldest_seen, in.u64());
    BENTO_ASSIGN(const auto unreachable, get_datasets(in));
    BENTO_ASSIGN(plan, decode_liveness(message.subspan(in.offset()),
                                       own_writers(state_.plan, my_rank(), state_.ranks)));
    operations_.agreed();
    changed = next.sequence != state_.root.sequence;
    // A slot that still holds the root before keeps what only that one refers to.
    const std::uint64_t free_before = mirrored != 0 ? oldest_seen : 0;
    stream_.mark_committed(next.step, free_before, state_.pending.deleted);
    dead_.oldest = free_before;
    state_.root = std::move(next);
    state_.pending = {};
    state_.index.clear_records();
    member_writes_.clear();
    forget_read_records();
    if (boards_) boards_->next_epoch();
    state_.skeleton.clear_dirty();
    if (closing) return {};
    stream_.forget_unseen(plan, state_.root.step, free_before);
    // What comes now is later than everything in this step, for who looks at records alone.
    count_meeting();
    // Here and not before the commit, which has their last records: the next one stores that they
    // are gone.
    for (const DatasetNumber dataset : unreachable) {
      if (state_.index.find(dataset) == nullptr) continue;
      remove(dataset);
      removed_.push_back(dataset);
    }
    // The step is safe: what fails here is for the next commit to say, on all ranks.
    Status marked = changed && stream_.attached()
                        ? stream_.write_file_block(state_.clock.now_ns(), false)
                        : Status{};
    failures_.defer(std::move(marked));
    if (changed && state_.root.groups.size() > state_.plan.groups().size()) {
      BENTO_ASSIGN(state_.plan, ContainerPlan::of(state_.root.groups, state_.root.fs_block));
      follow_plan();
    }
    return {};
  });
  if (!done) failures_.give_up(done);
  if (!closing) return done;
  // The holder's note stays until all streams are marked: who finds it there marks them again.
  if (done) done = guarded([&] { return finish_streams(plan, changed); });
  if (state_.options.spread) return agree(*comm_, done);
  // Who returns from the close may create the file anew, or delete it: no rank holds its lock then.
  if (!owner_)
    if (Status closed = files_.close(); done) done = std::move(closed);
  return agree_then(*comm_, done, [this] {
    owner_->give_back();
    return files_.close();
  });
}

// This rank's next records go where the plan says now. The stream that it leaves is finished at the
// close; one that was never begun gets its file block then.
void Container::follow_plan() {
  const std::uint32_t old = stream_.writer();
  if (my_writer() == old) return;
  const ChunkFill* const known = state_.fill_of(old);
  const bool begun = known != nullptr && !known->empty();
  if (stream_.attached())
    retired_.push_back({old, stream_.fill(), stream_.orphans()});
  else if (!begun)
    retired_.push_back({old, {state_.root.stream_rules().head_bytes()}, {}});
  stream_.become(my_writer());
}

// Each rank finishes what it wrote. All other streams, also those of writers that take no part in
// this session, are shared among the ranks.
Status Container::finish_streams(const LivenessPlan& plan, bool changed) {
  const auto ranks = state_.ranks;
  std::set<std::uint32_t> written;  // physical files
  const auto mark = [&](std::uint32_t writer, const ChunkFill& fill,
                        std::span<const Position> orphans, bool mine) -> Status {
    const std::uint32_t index = state_.plan.file_of(writer);
    BENTO_ASSIGN(File* const handle, files_.stream_file(index));
    written.insert(index);
    return mark_stream({handle, state_.plan.file(index), state_.plan.local_task(writer), writer,
                        state_.root.stream_rules()},
                       fill, plan, {orphans, mine, state_.root.step, state_.clock.now_ns()});
  };
  std::set<std::uint32_t> own;
  for (const auto& old : retired_) own.insert(old.writer);
  if (stream_.attached()) own.insert(stream_.writer());
  for (const auto& entry : plan.live) {
    const ChunkFill* const fill = state_.fill_of(entry.first);
    if (fill != nullptr && state_.plan.rank_of_writer(entry.first) % ranks == my_rank() &&
        !own.contains(entry.first))
      BENTO_TRY(mark(entry.first, *fill, {}, false));
  }
  for (const auto& old : retired_) BENTO_TRY(mark(old.writer, old.fill, old.orphans, true));
  if (stream_.attached()) {
    if (plan.live.contains(stream_.writer()) || !stream_.orphans().empty() || stream_.reused()) {
      BENTO_TRY(mark(stream_.writer(), stream_.fill(), stream_.orphans(), true));
    } else if (changed) {
      BENTO_TRY(stream_.write_file_block(state_.clock.now_ns(), true));
      written.insert(state_.plan.file_of(stream_.writer()));
    }
  }
  // Without the holder's note nobody would mark them again.
  for (const std::uint32_t index : written) {
    BENTO_ASSIGN(File* const handle, files_.stream_file(index));
    BENTO_TRY(files_.make_durable(*handle));
  }
  return {};
}

// If that does not succeed everywhere, nothing of earlier sessions is written over; the close tells
// what is wrong.
Status Container::mark_left_streams() {
  Result<Bytes> found;
  if (owner_) {
    const Status asked = guarded([&]() -> Status {
      BENTO_ASSIGN(found, owner_->left_dead());
      return {};
    });
    if (!asked) found = fail(Error(asked.error()));
  }
  const auto blob = from_owner(found);
  const Status marked = agree(*comm_, guarded([&]() -> Status {
    if (!blob) return fail(Error(blob.error()));
    if (blob->empty()) return fail(Code::kUnsupported, "it waits for the close");
    ByteReader in(*blob, std::endian::little, "liveness message");
    BENTO_ASSIGN(const std::uint64_t since, in.u64());
    BENTO_ASSIGN(const LivenessPlan plan,
                 decode_liveness(std::span(*blob).subspan(in.offset()),
                                 own_writers(state_.plan, my_rank(), state_.ranks)));
    for (const auto& entry : plan.live) {
      const std::uint32_t writer = entry.first;
      const ChunkFill* const fill = state_.fill_of(writer);
      if (fill == nullptr || state_.plan.rank_of_writer(writer) % state_.ranks != my_rank())
        continue;
      const std::uint32_t index = state_.plan.file_of(writer);
      BENTO_ASSIGN(File* const handle, files_.stream_file(index));
      BENTO_TRY(mark_left({handle, state_.plan.file(index), state_.plan.local_task(writer), writer,
                           state_.root.stream_rules()},
                          *fill, plan, state_.root.step, since));
    }
    return {};
  }));
  if (!marked) dead_ = {};
  return {};
}

// The second round, which only a wrong program pays for.
Status Container::explain_divergence() {
  BENTO_ASSIGN(const auto logs, comm_->gather(operations_.encode()));
  ByteWriter out;
  if (comm_->rank() == 0) {
    const std::string text = first_difference(logs);
    out.bytes(std::as_bytes(std::span(text)));
  }
  BENTO_ASSIGN(const Bytes blob, comm_->broadcast(out.view()));
  const std::string_view text(reinterpret_cast<const char*>(blob.data()), blob.size());
  return fail(Code::kInvalidArgument,
              fmt::format("'{}': the ranks have not made the same collective calls: {}; metadata "
                          "calls must be made by all ranks in the same order",
                          state_.path, text));
}

}  // namespace bento
