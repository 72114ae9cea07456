// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/stream_liveness.hpp"

#include <algorithm>
#include <unordered_map>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/stream/container_step.hpp"
#include "core/stream/stream_gate.hpp"

namespace bento {

Result<LivenessPlan> plan_liveness(CommittedIndex& committed,
                                   std::span<const DatasetDeclaration> datasets,
                                   const TouchedDatasets& touched, std::uint32_t writers,
                                   std::uint64_t most_records) {
  LivenessPlan plan;
  plan.all = touched.all();
  plan.older_kept = !committed.empty() && committed.steps().oldest() < committed.steps().newest();
  std::vector<bool> concerned(writers, plan.all);
  std::vector<Location> live;
  for (const auto& dataset : datasets) {
    if (!touched.contains(dataset.number)) continue;
    BENTO_ASSIGN(const auto extent, committed.steps().extent_of(dataset.number));
    if (extent.records > most_records) return LivenessPlan{};
    most_records -= extent.records;
    BENTO_ASSIGN(const RecordLookup seen, committed.find_all(dataset.number, dataset.rank));
    if (!plan.all && !extent.dropped && extent.records == seen.records.size())
      continue;  // none died
    plan.marked.insert(dataset.number);
    for (const auto& record : seen.records) live.push_back(record.where);
  }
  for (const DatasetNumber dataset : touched.datasets())
    if (!std::ranges::binary_search(datasets, dataset, {}, &DatasetDeclaration::number))
      plan.marked.insert(dataset);  // deleted
  // Which writers hold dead ones is not known here: space of theirs may have been used again.
  if (!plan.marked.empty()) concerned.assign(writers, true);

  for (std::uint32_t writer = 0; writer < writers; ++writer)
    if (concerned[writer]) plan.live[writer];
  for (const Location& where : live)
    if (const auto found = plan.live.find(where.task); found != plan.live.end())
      found->second.push_back(where.offset);
  for (auto& [writer, positions] : plan.live) std::sort(positions.begin(), positions.end());
  return plan;
}

void plan_gates(CommittedIndex& committed, std::span<const DatasetDeclaration> datasets,
                std::uint32_t writers, LivenessPlan& plan) {
  ShareFinder finder(writers);
  bool known = true;
  for (const auto& dataset : datasets) {
    auto seen = committed.find_all(dataset.number, dataset.rank);
    known = known && seen.has_value();
    if (!known) break;
    finder.add(dataset.number, *seen);
  }
  plan.shares = known ? std::move(finder).take() : FtiShares{};
  for (std::uint32_t writer = 0; writer < writers; ++writer) plan.live[writer];
}

namespace {

struct LiveRun {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  const std::vector<Position>* positions = nullptr;
};

std::vector<LiveRun> runs_of(const LivenessPlan& plan) {
  std::vector<LiveRun> runs;
  for (const auto& [writer, positions] : plan.live) {
    if (!runs.empty() && runs.back().first + runs.back().count == writer &&
        *runs.back().positions == positions)
      ++runs.back().count;
    else
      runs.push_back({writer, 1, &positions});
  }
  return runs;
}

}  // namespace

// Numbers are varints, sorted ones differences to the one before.
Bytes encode_liveness(const LivenessPlan& plan) {
  ByteWriter out;
  if (plan.empty()) return {};
  const auto put_sorted = [&out](const auto& numbers) {
    out.varint(numbers.size());
    std::uint64_t before = 0;
    for (const std::uint64_t number : numbers) {
      out.varint(number - before);
      before = number;
    }
  };
  out.u8(static_cast<std::uint8_t>((plan.all ? 1 : 0) | (plan.older_kept ? 2 : 0) |
                                   (plan.shares ? 4 : 0)));
  put_sorted(plan.marked);
  const auto runs = runs_of(plan);
  out.varint(runs.size());
  for (const auto& run : runs) {
    out.varint(run.first);
    out.varint(run.count);
    put_sorted(*run.positions);
  }
  if (plan.shares) {
    put_sorted(plan.shares->datasets);
    put_sorted(plan.shares->writers);
  }
  return std::move(out).take();
}

Result<LivenessPlan> decode_liveness(std::span<const std::byte> bytes,
                                     std::span<const std::uint32_t> writers) {
  LivenessPlan plan;
  if (bytes.empty()) return plan;
  ByteReader in(bytes, std::endian::little, "liveness message");
  const auto get_sorted = [&in](const auto& use) -> Status {
    BENTO_ASSIGN(const std::uint64_t count, in.varint());
    BENTO_TRY(in.fits(count, 1));
    std::uint64_t number = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      BENTO_ASSIGN(const std::uint64_t more, in.varint());
      number += more;
      use(number);
    }
    return {};
  };
  BENTO_ASSIGN(const std::uint8_t flags, in.u8());
  plan.all = (flags & 1) != 0;
  plan.older_kept = (flags & 2) != 0;
  BENTO_TRY(get_sorted(
      [&](std::uint64_t number) { plan.marked.insert(static_cast<DatasetNumber>(number)); }));
  BENTO_ASSIGN(const std::uint64_t runs, in.varint());
  for (std::uint64_t i = 0; i < runs; ++i) {
    BENTO_ASSIGN(const std::uint64_t first, in.varint());
    BENTO_ASSIGN(const std::uint64_t count, in.varint());
    const auto mine = std::ranges::lower_bound(writers, first);
    const auto behind =
        std::find_if(mine, writers.end(), [&](std::uint32_t w) { return w - first >= count; });
    std::vector<Position> positions;
    BENTO_TRY(get_sorted([&](std::uint64_t number) {
      if (mine != behind) positions.push_back(number);
    }));
    for (auto writer = mine; writer != behind; ++writer) plan.live[*writer] = positions;
  }
  if ((flags & 4) != 0) {
    FtiShares& shares = plan.shares.emplace();
    BENTO_TRY(get_sorted(
        [&](std::uint64_t number) { shares.datasets.insert(static_cast<DatasetNumber>(number)); }));
    BENTO_TRY(get_sorted(
        [&](std::uint64_t number) { shares.writers.insert(static_cast<std::uint32_t>(number)); }));
  }
  return plan;
}

namespace {

class Marker {
 public:
  Marker(const StreamPlace& place, const LivenessPlan& plan, const StreamEnd& end)
      : place_(place),
        plan_(plan),
        orphans_(end.orphans.begin(), end.orphans.end()),
        step_(end.step),
        empty_(fti::empty_chunk_hash(place.rules.hash)),
        keep_hashes_(plan.older_kept && place.rules.hash != fti::HashKind::kMd5),
        keeper_(plan.shares ? &*plan.shares : nullptr, place.writer) {
    const auto found = plan.live.find(place.writer);
    concerned_ = found != plan.live.end();
    if (concerned_) live_ = found->second;
  }

  Status block(StreamBlock& block) {
    bool changed = false;
    Position at =
        block.position + fti::v11::header_bytes(static_cast<std::uint32_t>(block.vars.size()));
    for (auto& var : block.vars) {
      if (var.id != fti::kFillerId)
        changed = mark(var, at) || changed;
      else
        keeper_.filler();
      at += var.containersize;
      any_ = true;
      hashed_ = hashed_ || var.hash != fti::Digest{};
      if (var.hascontent) hashes_.add(var.hash);
    }
    changed_ = changed_ || changed;
    return changed ? rewrite_vars(place_, block) : Status{};
  }

  /// mark_left()
  Status left(StreamBlock& block, std::uint64_t since) {
    bool changed = false;
    Position at =
        block.position + fti::v11::header_bytes(static_cast<std::uint32_t>(block.vars.size()));
    for (auto& var : block.vars) {
      const auto before = step_of(var, step_);
      if (var.id != fti::kFillerId && var.hascontent && before && *before >= since &&
          !alive(static_cast<DatasetNumber>(var.id), at)) {
        set_step(var, step_);
        empty(var);
        changed = true;
      }
      at += var.containersize;
    }
    return changed ? rewrite_vars(place_, block) : Status{};
  }

  [[nodiscard]] bool changed() const { return changed_; }
  [[nodiscard]] Gate gate() const { return keeper_.verdict(); }
  /// What FB announces and, with XXH3, its checksum.
  [[nodiscard]] fti::HashKind kind(fti::HashKind rule) const {
    return hashed_ || !any_ ? rule : fti::HashKind::kNone;
  }
  [[nodiscard]] fti::ChecksumText hash_of_hashes() const { return hashes_.text(); }

 private:
  bool mark(fti::v11::DbVar& var, Position at) {
    const fti::v11::DbVar before = var;
    // Also one that is marked as without content already: the process that did it may have been
    // killed before it wrote the other fields.
    if (!alive(static_cast<DatasetNumber>(var.id), at)) {
      // No later than now. Steps of this session that still showed it count as not known.
      if (var.hascontent || !step_of(var, step_)) set_step(var, step_);
      empty(var);
    }
    // Space that was used again may hold a newer container in front of older ones.
    if (place_.rules.for_fti) {
      keeper_.number(var);
    } else {
      var.containerid = containers_[var.id]++;
      std::uint64_t& bytes = bytes_[var.id];
      var.dptr = bytes;
      bytes += var.chunksize;
    }
    return !(var == before);
  }

  void empty(fti::v11::DbVar& var) const {
    var.hascontent = false;
    var.chunksize = 0;
    if (var.hash != fti::Digest{} && !keep_hashes_) var.hash = empty_;
  }

  [[nodiscard]] bool alive(DatasetNumber dataset, Position at) const {
    if (orphans_.contains(at)) return false;
    if (!concerned_ || !(plan_.all || plan_.marked.contains(dataset))) return true;
    return std::binary_search(live_.begin(), live_.end(), at);
  }

  const StreamPlace& place_;
  const LivenessPlan& plan_;
  std::set<Position> orphans_;
  std::uint64_t step_;
  fti::Digest empty_;
  bool keep_hashes_;  ///< with MD5, FTI would hold them against no bytes
  bool concerned_ = false;
  std::span<const Position> live_;
  std::unordered_map<std::int32_t, std::int32_t> containers_;  ///< so far, by dataset
  std::unordered_map<std::int32_t, std::uint64_t> bytes_;      ///< live ones so far, by dataset
  GateKeeper keeper_;
  bool changed_ = false;
  bool any_ = false;
  bool hashed_ = false;
  fti::v11::HashOfHashes hashes_;
};

/// Has the stream a head as a close leaves it, with this gate? Its blocks have not changed.
Result<bool> head_is_right(const StreamPlace& place, const ChunkFill& fill, Gate gate) {
  const auto wanted = encode_gate(gate);
  std::vector<std::byte> head(static_cast<std::size_t>(place.rules.head_bytes()));
  BENTO_TRY(place.file->read_at(place.address(0), head));
  const auto block = fti::v11::decode_file_block(head);
  return block && block->ckpt_size == stream_bytes(fill) &&
         block->checksum != fti::ChecksumText{} &&
         std::equal(wanted.begin(), wanted.end(), head.begin() + fti::v11::kFileBlockBytes);
}

}  // namespace

Status mark_stream(const StreamPlace& place, const ChunkFill& fill, const LivenessPlan& plan,
                   const StreamEnd& end) {
  if (stream_bytes(fill) == 0) return {};  // never begun
  Marker marker(place, plan, end);
  BENTO_TRY(walk_stream(place, fill, [&](StreamBlock& block) { return marker.block(block); }));
  const fti::HashKind kind = marker.kind(place.rules.hash);
  if (place.rules.for_fti && kind == fti::HashKind::kMd5 && !end.written && !plan.all &&
      !marker.changed()) {
    BENTO_ASSIGN(const bool right, head_is_right(place, fill, marker.gate()));
    if (right) return {};  // without reading it all
  }
  fti::ChecksumText checksum = marker.hash_of_hashes();
  if (kind == fti::HashKind::kMd5) {
    // The checksum covers the gate.
    if (place.rules.for_fti) BENTO_TRY(write_gate(place, marker.gate()));
    BENTO_ASSIGN(checksum, md5_of_stream(place, fill));
    return write_file_block(place, fill, kind, checksum, end.time_ns);
  }
  if (place.rules.for_fti) BENTO_TRY(write_gate(place, {}));
  return write_file_block(place, fill, kind, checksum, end.time_ns);
}

Status mark_left(const StreamPlace& place, const ChunkFill& fill, const LivenessPlan& plan,
                 std::uint64_t step, std::uint64_t since) {
  if (stream_bytes(fill) == 0) return {};  // never begun
  Marker marker(place, plan, {{}, false, step, 0});
  return walk_stream(place, fill, [&](StreamBlock& block) { return marker.left(block, since); });
}

}  // namespace bento
