// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Exchange, commit and close: the only places where the ranks of a container talk to each other.
/// Order of writes in a commit: records and their FTI headers (all ranks), index segment, skeleton
/// pages, stream table, then the root in the other slot; file blocks last. A crash before the root
/// leaves the previous step, since nothing that the old root refers to was touched.
#include "core/container/container.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/status_message.hpp"
#include "core/container/segment_chain.hpp"
#include "core/container/sion_view.hpp"
#include "core/index/segment_codec.hpp"

namespace bento {

namespace {

/// What one rank brings to a commit.
struct Contribution {
  Status status;
  std::uint64_t collective = 0;
  std::uint64_t operation_hash = 0;
  ChunkFill fill;
  std::span<const std::byte> entries;
};

Result<Contribution> decode_contribution(std::span<const std::byte> bytes) {
  Contribution result;
  ByteReader in(bytes, std::endian::little, "commit message");
  result.status = get_status(in);
  BENTO_ASSIGN(result.collective, in.u64());
  BENTO_ASSIGN(result.operation_hash, in.u64());
  BENTO_ASSIGN(const std::uint64_t blocks, in.varint());
  BENTO_TRY(in.fits(blocks, 1));
  result.fill.resize(static_cast<std::size_t>(blocks));
  for (auto& used : result.fill) {
    BENTO_ASSIGN(used, in.varint());
  }
  BENTO_ASSIGN(const std::uint64_t length, in.u64());
  BENTO_ASSIGN(result.entries, in.bytes(length));
  return result;
}

}  // namespace

Bytes Container::encode_contribution(const Status& mine, std::size_t first_slot) const {
  ByteWriter out;
  put_status(out, mine);
  out.u64(collective_);
  out.u64(operations_.hash());
  out.varint(stream_.fill().size());
  for (const auto used : stream_.fill()) out.varint(used);
  Segment own;
  if (mine) {
    for (std::size_t i = first_slot; i < stream_.uncommitted().size(); ++i) {
      const auto& slot = stream_.uncommitted()[i];
      own.records.push_back(index_.record(slot.dataset, slot.position));
    }
  }
  const auto entries = encode_entries(own);
  out.u64(entries.size());
  out.bytes(entries);
  return std::move(out).take();
}

Status Container::exchange() {
  if (comm_->size() == 1) return {};
  BENTO_TRY(catch_up());
  Status mine;
  if (writable_) {
    if (!layout_fixed_) mine = fix_layout(0);
    if (mine && stream_.has_buffered()) mine = attach();
    if (mine && stream_.attached()) mine = stream_.flush();
    if (!mine && deferred_) deferred_ = mine;
  }
  BENTO_ASSIGN(const auto gathered, comm_->gather(encode_contribution(mine, exchanged_)));
  ByteWriter out;
  if (comm_->rank() == 0) {
    Status all;
    Segment merged;
    for (std::size_t rank = 0; rank < gathered.size() && all; ++rank) {
      auto part = decode_contribution(gathered[rank]);
      if (!part) {
        all = fail(std::move(part).error());
      } else if (!part->status) {
        all = fail(std::move(part->status).error().with_context(fmt::format("rank {}", rank)));
      } else if (auto entries = decode_entries(part->entries)) {
        merged.records.insert(merged.records.end(), entries->records.begin(),
                              entries->records.end());
      } else {
        all = fail(std::move(entries).error());
      }
    }
    put_status(out, all);
    if (all) out.bytes(encode_entries(merged));
  }
  BENTO_ASSIGN(const Bytes blob, comm_->broadcast(out.view()));
  ByteReader in(blob, std::endian::little, "exchange message");
  BENTO_TRY(get_status(in));
  BENTO_ASSIGN(const Segment merged,
               decode_entries(std::span<const std::byte>(blob).subspan(in.offset())));
  BENTO_TRY(add_others(merged));
  for (const auto& record : merged.records) {
    if (record.order.rank >= known_until_ns_.size()) continue;
    auto& until = known_until_ns_[record.order.rank];
    until = std::max(until, record.order.time_ns);
  }
  exchanged_ = stream_.uncommitted().size();
  return {};
}

Status Container::commit() {
  return commit_impl(false, {});
}

Status Container::close(const ViewBuilder& view) {
  Status status = writable_ ? commit_impl(true, view) : Status{};
  give_back();
  for (auto& handle : files_) {
    if (!handle) continue;
    auto closed = handle->close();
    if (!closed && status) status = std::move(closed);
  }
  files_.clear();
  return status;
}

Status Container::commit_impl(bool closing, const ViewBuilder& view) {
  Status mine = std::exchange(deferred_, Status{});
  auto stored = layout_fixed_ ? store_layout() : fix_layout(0);
  if (mine) mine = std::move(stored);
  // A task that never wrote still gets a file block, so that every stream is an FTI-FF file.
  const auto rank = static_cast<std::uint32_t>(comm_->rank());
  const bool begun = rank < fills_.size() && !fills_[rank].empty();
  if (mine && (stream_.has_buffered() || (closing && !begun))) mine = attach();
  if (mine && stream_.attached()) mine = stream_.flush();

  BENTO_ASSIGN(const auto gathered, comm_->gather(encode_contribution(mine, 0)));
  ByteWriter out;
  Root next = root_;
  unsigned next_slot = slot_;
  if (rank == 0) {
    Status done = owner_commit(gathered, closing, view, next, next_slot);
    Bytes liveness;
    if (done && closing) {
      auto found = owner_liveness(next);
      if (found)
        liveness = std::move(*found);
      else
        done = fail(std::move(found).error());
    }
    put_status(out, done);
    out.u8(std::exchange(diverged_, false) ? 1 : 0);
    if (done) {
      out.bytes(encode_root(next));
      out.bytes(liveness);
    }
  }
  BENTO_ASSIGN(const Bytes blob, comm_->broadcast(out.view()));
  ByteReader in(blob, std::endian::little, "commit message");
  Status verdict = get_status(in);
  BENTO_ASSIGN(const std::uint8_t diverged, in.u8());
  if (diverged != 0) return explain_divergence();
  BENTO_TRY(std::move(verdict));
  operations_.agreed();
  BENTO_ASSIGN(const auto sector, in.bytes(kSectorBytes));
  BENTO_ASSIGN(next, decode_root(sector));
  const bool changed = next.sequence != root_.sequence;
  if (comm_->size() == 1) loaded_segment_ = next.segment;
  root_ = next;
  slot_ = next_slot;
  pending_ = {};
  exchanged_ = 0;
  stream_.mark_committed();
  skeleton_.clear_dirty();
  if (closing) {
    BENTO_ASSIGN(const LivenessPlan plan,
                 decode_liveness(std::span<const std::byte>(blob).subspan(in.offset())));
    return finish_streams(plan, changed);
  }
  if (changed && stream_.attached()) return stream_.write_file_block(now_ns(), false);
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
                          path_, text));
}

Result<Bytes> Container::owner_liveness(const Root& next) {
  if (next.sequence == root_.sequence || (touched_.datasets().empty() && !touched_.all()))
    return Bytes{};
  BENTO_ASSIGN(const LivenessPlan plan, plan_liveness(index_, touched_, plan_.writers()));
  return encode_liveness(plan);
}

// The streams of writers that take no part in this session are shared among the ranks.
Status Container::finish_streams(const LivenessPlan& plan, bool changed) {
  const auto me = static_cast<std::uint32_t>(comm_->rank());
  const auto ranks = static_cast<std::uint32_t>(comm_->size());
  const auto mark = [&](std::uint32_t writer, const ChunkFill& fill,
                        std::span<const Position> orphans) -> Status {
    const std::uint32_t index = plan_.file_of(writer);
    BENTO_ASSIGN(File* const handle, file(index));
    return mark_stream({handle, plan_.file(index), plan_.local_task(writer), writer}, fill, plan,
                       orphans, root_.record_hash(), now_ns());
  };
  for (const auto& entry : plan.live)
    if (entry.first % ranks == me && entry.first != me && entry.first < fills_.size())
      BENTO_TRY(mark(entry.first, fills_[entry.first], {}));
  if (stream_.attached()) {
    if (plan.live.contains(me) || !stream_.orphans().empty())
      return mark(me, stream_.fill(), stream_.orphans());
    return changed ? stream_.write_file_block(now_ns(), true) : Status{};
  }
  if (plan.live.contains(me) && me < fills_.size()) return mark(me, fills_[me], {});
  return {};
}

Status Container::owner_commit(const std::vector<Bytes>& gathered, bool closing,
                               const ViewBuilder& view, Root& next, unsigned& next_slot) {
  Segment segment = pending_;
  std::vector<ChunkFill> fills = fills_;
  fills.resize(plan_.writers());
  for (std::size_t rank = 0; rank < gathered.size(); ++rank) {
    BENTO_ASSIGN(Contribution part, decode_contribution(gathered[rank]));
    if (!part.status)
      return fail(std::move(part.status).error().with_context(fmt::format("rank {}", rank)));
    if (part.collective != collective_ || part.operation_hash != operations_.hash()) {
      diverged_ = true;
      return fail(Code::kInvalidArgument,
                  fmt::format("'{}': rank {} has not made the same collective calls as rank 0",
                              path_, rank));
    }
    if (!part.fill.empty()) fills[rank] = std::move(part.fill);
    BENTO_ASSIGN(Segment entries, decode_entries(part.entries));
    std::move(entries.records.begin(), entries.records.end(), std::back_inserter(segment.records));
  }

  const bool data_changed = !segment.records.empty() || !segment.datasets.empty() ||
                            !segment.extents.empty() || !segment.deleted.empty();
  const bool fills_changed = fills != fills_;
  const bool changed = data_changed || fills_changed || skeleton_.any_dirty();
  const bool complete = (next.flags & kRootClosed) != 0 && !complete_again_;
  if (!changed && (!closing || complete)) return {};

  BENTO_ASSIGN(File* const first, file(0));
  Catalogue catalogue(*first, plan_.file(0));
  Position end = next.catalogue_end;
  auto places = page_places_;
  next.groups.assign(plan_.groups().begin(), plan_.groups().end());
  next.flags &= ~static_cast<std::uint32_t>(kRootProvisional | kRootClosed);
  if (counted_references_) next.flags |= kRootCountedReferences;
  if (changed) ++next.step;
  if (data_changed) {
    segment.step = next.step;
    BENTO_ASSIGN(next.segment,
                 append_segment(catalogue, next.segment, encode_segment(segment), end));
  }
  if (skeleton_.any_dirty() || next.skeleton.bytes == 0) {
    BENTO_ASSIGN(next.skeleton, catalogue.store(skeleton_, places, end));
    next.skeleton_bytes = skeleton_.size();
  }
  if (fills_changed || next.streams.bytes == 0) {
    BENTO_ASSIGN(next.streams, catalogue.append(end, encode_fills(fills)));
  }
  next.collective = collective_;
  next.next_dataset = next_dataset_;
  next.catalogue_end = end;
  BENTO_TRY(owner_write_root(*first, next, next_slot));
  page_places_ = std::move(places);
  fills_ = std::move(fills);
  touched_.note(segment);
  if (!closing) return {};

  // What other readers see; the step is safe already. The owner's index learns the others' records.
  if (comm_->size() > 1) BENTO_TRY(catch_up(next.segment));
  return owner_complete(view, next, next_slot);
}

Status Container::owner_write_root(File& first, Root& next, unsigned& slot) {
  ++next.sequence;
  const unsigned other = 1 - slot;
  BENTO_TRY(first.write_at(plan_.file(0).root_address(other), encode_root(next)));
  slot = other;
  return {};
}

}  // namespace bento
