// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What other ranks have written and no commit or exchange has brought yet.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/base/hash.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/agree.hpp"
#include "core/comm/node_clock.hpp"
#include "core/container/container.hpp"
#include "core/container/seen_writes.hpp"
#include "core/records/part_candidates.hpp"

namespace bento {

namespace {
/// Ranks on several nodes that share what they write without having been asked to. Each of them
/// keeps some 130 bytes for each of the others.
constexpr int kSharedByDefault = 65536;
}  // namespace

// Collective. What only this rank's node can tell is what its clock shows; on one node all have the
// same.
Status Container::set_clock() {
  if (node_.several) {
    BENTO_ASSIGN(clock_, measure_clock(*comm_, node_, clock_base_ns_, &GrowingClock::steady_ns));
    state_.clock.follow_steady(clock_.offset_ns);
    return {};
  }
  ByteWriter out;
  if (owner_) out.i64(clock_base_ns_);
  BENTO_ASSIGN(const Bytes blob, comm_->broadcast(out.view()));
  ByteReader in(blob, std::endian::little, "time of rank 0");
  BENTO_ASSIGN(const std::int64_t base_ns, in.i64());
  state_.clock.follow_steady(base_ns);
  return {};
}

// How wrong the times of this rank's writes since the last measurement may be: what that left open,
// and what the clock has drifted since then. Collective.
Status Container::doubt_clock() {
  BENTO_ASSIGN(const ClockOffset now,
               measure_clock(*comm_, node_, clock_base_ns_, &GrowingClock::steady_ns));
  const auto drift = std::max(now.offset_ns, clock_.offset_ns) -  //
                     std::min(now.offset_ns, clock_.offset_ns);
  clock_doubt_ns_ = clock_.error_ns + now.error_ns + static_cast<std::uint64_t>(drift);
  return {};
}

bool Container::too_many() const {
  return !state_.options.must_share && comm_->size() > kSharedByDefault;
}

// Why ranks on several nodes do not even try to see what others have written; empty: they try.
std::string Container::too_far_apart() const {
  if (!node_.several) return {};
  if (too_many())
    return fmt::format("{} ranks are on several nodes, and visible=write was not asked for",
                       comm_->size());
  if (state_.options.spread)
    return "the ranks are on several nodes, each of which has files of its own";
  return {};
}

// Collective. Between nodes what is in the files must be seen at once, too.
Result<Boards::Opened> Container::boards_of_ranks(const RankGroups& nodes) {
  if (node_.several) {
    Boards::Opened none;
    Status seen = nodes_see_writes(*comm_, nodes, state_.options.opener, state_.path);
    if (!seen && seen.error().code != Code::kUnsupported) return fail(std::move(seen).error());
    if (!seen) {
      none.why = fmt::format("the ranks are on {} nodes: {}", nodes.count(), seen.error().text);
      return none;
    }
  }
  OtherRecords::Metadata metadata;
  metadata.removed = [this](DatasetNumber dataset) {
    return dataset < state_.next_dataset && state_.index.find(dataset) == nullptr;
  };
  metadata.extents = [this] { return std::span<const ExtentEvent>(state_.pending.extents); };
  return Boards::open(*comm_, nodes, state_.options.timeout_s, std::move(metadata));
}

// A failure that all ranks have, of an open: nobody will read what this rank has exposed.
Status Container::without_boards(Status failed) {
  if (boards_ && failed.error().code != Code::kPeer) (void)boards_->close(*comm_);
  return failed;
}

// Which ranks share this one's node. All nodes are returned where ranks will try to see what others
// have written, else none: with a million ranks the list would take 94 KB on each. Collective.
Result<RankGroups> Container::find_node() {
  const std::string name = comm_->node();
  const Hash128 key = hash128(std::as_bytes(std::span(name)));
  const bool share = state_.options.share_uncommitted;
  if (share && !too_many() && !state_.options.spread) {
    BENTO_ASSIGN(RankGroups nodes, RankGroups::make(*comm_, key));
    node_ = nodes.own(my_rank());
    return nodes;
  }
  BENTO_ASSIGN(node_, find_own_group(*comm_, key));
  if (!share || node_.several) return RankGroups();
  return RankGroups::of_one(node_.ranks, key);
}

// Collective.
Status Container::open_boards() {
  if (!state_.writable || comm_->size() == 1) return {};
  BENTO_ASSIGN(const RankGroups nodes, find_node());
  Boards::Opened opened;
  opened.why = too_far_apart();
  clock_base_ns_ = GrowingClock::steady_offset_ns();
  BENTO_TRY(set_clock());
  if (!state_.options.share_uncommitted) return {};
  if (opened.why.empty()) {
    BENTO_ASSIGN(opened, boards_of_ranks(nodes));
  }
  not_shared_because_ = std::move(opened.why);
  boards_ = std::move(opened.boards);
  if (boards_ == nullptr) {
    const bool refused = state_.options.must_share;
    return agree(*comm_, refused ? fail(Code::kUnsupported,
                                        fmt::format("'{}': visible=write is not available here: {}",
                                                    state_.path, not_shared_because_))
                                 : Status{});
  }
  boards_->mine().set_collective(state_.collective);
  stream_.share(&boards_->mine());
  return {};
}

// What other ranks have published before this rank writes is earlier than what it writes, even if
// their node's clock is ahead. The program may have heard of it in any way. Once a call of
// H5Dwrite.
Status Container::order_behind_others() {
  if (boards_ == nullptr || !node_.several || boards_->ordered()) return {};
  BENTO_ASSIGN(const std::uint64_t latest, boards_->latest_time());
  state_.clock.pass(latest);
  boards_->set_ordered(true);
  return {};
}

// Each node has a clock of its own. So a rank shows its time before it looks at what others have
// written, and one that has published passes the times that it finds: who was not seen is told of
// later.
Result<std::uint64_t> Container::seen_until() {
  BENTO_TRY(await_meeting());
  if (boards_ == nullptr || !node_.several) return state_.clock.now_ns();
  BENTO_TRY(order_behind_others());
  const std::uint64_t now = state_.clock.now_ns();
  boards_->mine().set_time(now);
  BENTO_TRY(boards_->show());
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return now;
}

Status Container::tell_of_members() {
  if (!member_writes_.any_untold()) return {};
  if (node_.several) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    BENTO_ASSIGN(const std::uint64_t latest, boards_->latest_time());
    state_.clock.pass(latest);
  }
  const std::uint64_t now = state_.clock.now_ns();
  member_writes_.told(now);
  boards_->mine().set_time(now);
  return boards_->show();
}

// In this order: what is shown to other nodes was published, and has a time by then.
Status Container::publish() {
  if (boards_ == nullptr || inherited()) return {};
  boards_->set_ordered(false);
  if (node_.several) boards_->mine().set_time(state_.clock.now_ns());
  BENTO_TRY(boards_->mine().publish());
  if (boards_->mine().unshown()) {
    BENTO_TRY(boards_->show());  // if it fails, the next call tries again
    boards_->mine().shown();
  }
  BENTO_TRY(tell_of_members());
  // The program may be called back in the middle of a collective write, and write another piece.
  if (in_collective_write_ == 0) boards_->mine().set_reached(state_.collective);
  return {};
}

// Who waits computes nothing, so it gives the processor away at once: it may be what the others
// lack.
Status Container::await_meeting() {
  using Clock = std::chrono::steady_clock;
  const bool written = in_collective_write_ == 0;
  std::uint64_t& known = written ? all_wrote_ : all_came_;
  if (meeting_.count() <= known || boards_ == nullptr || inherited()) return {};
  const double limit_s = state_.options.timeout_s;
  const auto begin = Clock::now();
  auto nap = std::chrono::microseconds(0);
  for (;;) {
    BENTO_ASSIGN(const auto late, boards_->others().behind(meeting_.count(), written));
    if (!late) break;
    if (limit_s > 0 && std::chrono::duration<double>(Clock::now() - begin).count() > limit_s)
      return fail(Code::kPeer,
                  fmt::format("'{}': rank {} did not come within {} s (timeout=) to a call that "
                              "natively no rank leaves before all have come to it",
                              state_.path, *late, limit_s));
    comm_->progress();
    std::this_thread::sleep_for(nap);
    nap = std::min(nap + std::chrono::microseconds(10), std::chrono::microseconds(1000));
  }
  known = meeting_.count();
  return {};
}

// Ranks that have nothing to write together, or nobody to read beside, are always atomic. Only
// ranks of one node have a lock for it.
Status Container::set_atomic(bool atomic) {
  if (atomic && boards_ != nullptr && node_.several)
    return fail(
        Code::kUnsupported,
        fmt::format("'{}': MPI atomic mode is not available: the ranks are on several nodes",
                    state_.path));
  if (atomic && boards_ == nullptr && state_.writable && comm_->size() > 1)
    return fail(
        Code::kUnsupported,
        fmt::format("'{}': MPI atomic mode is not available: what a rank writes is seen by "
                    "others after H5Fflush, or in collective reads{}{}",
                    state_.path, not_shared_because_.empty() ? "" : ": ", not_shared_because_));
  atomic_ = atomic;
  return {};
}

Status Container::begin_atomic() {
  if (boards_ != nullptr && atomic_depth_ == 0)
    BENTO_TRY(boards_->lock().lock(state_.options.timeout_s, "a transfer in MPI atomic mode"));
  ++atomic_depth_;
  return {};
}

void Container::end_atomic() {
  if (--atomic_depth_ == 0 && boards_ != nullptr) boards_->lock().unlock();
}

// What was kept of a record that its rank has written anew is not what is in the file.
Status Container::catch_up() {
  OtherRecords& others = boards_->others();
  const std::uint64_t rewritten = others.rewritten();
  Status looked = others.catch_up();
  if (others.rewritten() != rewritten) reader_.invalidate();
  return looked;
}

Result<bool> Container::others_wrote(DatasetNumber dataset) {
  if (boards_ == nullptr) return false;
  // A forked child has no descriptor to look through. What was seen before, it does not give out.
  if (!inherited()) BENTO_TRY(catch_up());
  return boards_->others().any(dataset);
}

// Another rank may have come to a call that fixes the layout before this one does, and have put
// records into the file.
void Container::learn_layout() {
  if (layout_fixed_) return;
  if (const std::uint64_t chunk = boards_->others().chunk_bytes(); chunk != 0)
    state_.plan.set_chunk_bytes(chunk);
}

// This rank's records have their positions in the index as numbers, those of others come behind.
Result<Lookup> Container::find_uncommitted(DatasetNumber dataset, const Box& selection) {
  BENTO_TRY(await_meeting());
  BENTO_ASSIGN(const bool others_too, others_wrote(dataset));
  // Where others may write, too, their records may come between: a record with gaps shows of older
  // ones of its rank what theirs would hide.
  if (boards_ == nullptr && comm_->size() == 1)
    return state_.index.find_and_hide(dataset, selection);
  if (!others_too) return state_.index.find(dataset, selection);
  learn_layout();
  const OtherRecords& others = boards_->others();
  PartCandidates candidates(selection);
  BENTO_TRY(candidates.add(
      state_.index, dataset,
      [&](std::size_t position) { return stream_.any_times_of({dataset, position}); },
      [&](std::size_t position) { return stream_.gaps_of({dataset, position}); }));
  // A rank that has left a meeting ahead of this one may write over what this one has yet to read.
  BENTO_TRY(candidates.add(
      others.index(), dataset,
      [&](std::size_t position) { return others.times_of(dataset, position); },
      [&](std::size_t position) { return others.gaps_of(dataset, position); },
      order_count(dataset)));
  return std::move(candidates).resolve();
}

Record Container::uncommitted_record(DatasetNumber dataset, std::size_t number) const {
  const std::size_t own = state_.index.size(dataset);
  if (number < own) return state_.index.record(dataset, number);
  return boards_->others().index().record(dataset, number - own);
}

// What gathered with its rank when it was found may have gone to the file since. If it is not what
// it was at all, all of the read is done again.
template <class FromBuffer, class FromFile>
Status Container::read_of_other(const Record& record, const FromBuffer& from_buffer,
                                const FromFile& from_file) {
  OtherRecords& others = boards_->others();
  for (bool again = false;; again = true) {
    BENTO_ASSIGN(const bool there, others.with_bytes(record.where, from_buffer));
    if (there) return {};
    BENTO_TRY(catch_up());
    const std::optional<Record> now = others.now(record.where);
    if (!now || !contains(now->box, record.box)) {
      others_moved_ = true;
      return fail(Code::kBusy, "a record of another rank is not what it was");
    }
    if (!OtherRecords::in_buffer(now->where)) {
      learn_layout();
      return from_file(*now);
    }
    if (again)
      return fail(Code::kInternal,
                  fmt::format("'{}': what rank {} wrote to dataset {} is not where its board says",
                              state_.path, record.where.task, record.dataset));
  }
}

// While its rank writes it anew (StreamWriter::rewrite), what is there has the hash of neither the
// old bytes nor the new ones. The read begins again when that rank is done; if it goes on doing so,
// this one takes a mixture, as from an HDF5 file.
Status Container::read_again(const Record& record, Status failed) {
  using Clock = std::chrono::steady_clock;
  const double limit_s = state_.options.timeout_s;
  const auto begin = Clock::now();
  // That rank may wait for what this one has written anew, in the same call for several datasets.
  BENTO_TRY(publish());
  for (;;) {
    BENTO_TRY(catch_up());
    const std::optional<Record> now = boards_->others().placed(record.where);
    if (!now) return failed;
    if (now->order != record.order || now->hash != record.hash) break;
    if (limit_s > 0 && std::chrono::duration<double>(Clock::now() - begin).count() > limit_s)
      return failed;
    comm_->progress();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  ++mixtures_;
  others_moved_ = true;
  return fail(Code::kBusy, "a record of another rank is written anew");
}

Status Container::read(const Record& record, std::span<const Box> parts,
                       std::uint64_t element_bytes, const Box& to_box, std::byte* to) {
  if (!OtherRecords::in_buffer(record.where)) {
    constexpr unsigned kMostMixtures = 8;
    Status done = reader_.read(record, element_bytes, parts, to_box, to);
    if (done || done.error().code != Code::kCorrupt || boards_ == nullptr || inherited())
      return done;
    if (mixtures_ >= kMostMixtures && boards_->others().placed(record.where))
      return reader_.read_unverified(record, element_bytes, parts, to_box, to);
    return read_again(record, std::move(done));
  }
  return read_of_other(
      record,
      [&](std::span<const std::byte> bytes) {
        for (const Box& part : parts)
          copy_box(part, record.box, bytes.data(), to_box, to, element_bytes);
      },
      [&](const Record& now) { return reader_.read(now, element_bytes, parts, to_box, to); });
}

Result<std::vector<std::byte>> Container::read_stored(const Record& record) {
  if (!OtherRecords::in_buffer(record.where)) return reader_.read_stored(record);
  std::vector<std::byte> out;
  const auto first = [&](std::span<const std::byte> bytes) {
    bytes = bytes.first(static_cast<std::size_t>(record.stored_bytes));
    out.assign(bytes.begin(), bytes.end());
  };
  BENTO_TRY(read_of_other(record, first, [&](const Record& now) -> Status {
    BENTO_ASSIGN(const auto bytes, reader_.read_stored(now));
    first(bytes);
    return {};
  }));
  return out;
}

}  // namespace bento
