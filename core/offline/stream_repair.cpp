// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/offline/stream_repair.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "core/stream/granule_table.hpp"

namespace bento {

namespace {

using fti::v11::DbVar;
using fti::v11::header_bytes;
using fti::v11::kDataBlockHeadBytes;
using fti::v11::kDbVarBytes;

/// Does a block's header say what its own sizes and the index say?
bool agrees(const StreamBlock& block, std::span<const Record> inside) {
  const auto numvars = static_cast<std::uint32_t>(block.vars.size());
  Position at = block.position + header_bytes(numvars);
  const Position end = block.position + block.bytes;
  auto next = inside.begin();
  for (std::size_t i = 0; i < block.vars.size(); ++i) {
    const DbVar& var = block.vars[i];
    if (var.containersize > end - at || var.id < fti::kFillerId) return false;
    if (var.id == fti::kFillerId && (var.hascontent || var.chunksize != 0)) return false;
    if (next != inside.end() && next->where.offset == at && var.id != fti::kFillerId) {
      const Position record = block.position + kDataBlockHeadBytes + i * kDbVarBytes;
      const bool dead = !var.hascontent;
      if (var.id != static_cast<std::int32_t>(next->dataset) ||
          var.containersize < next->stored_bytes ||
          (!dead && var.chunksize != next->stored_bytes) ||
          (!dead && next->hash != Hash128{} && var.hash != next->hash) ||
          record + next->header_distance != at)
        return false;
      ++next;
    }
    at += var.containersize;
  }
  return at == end && next == inside.end();
}

/// One chunk of one stream. Positions are those of the stream.
class ChunkRepair {
 public:
  ChunkRepair(const StreamPlace& place, Position end, std::span<const Record> records,
              RepairedStream& result)
      : place_(place), end_(end), records_(records), result_(result) {}

  Status run(Position at) {
    while (at < end_) {
      BENTO_ASSIGN(const auto block, good_block(at));
      if (block) {
        at = *block;
        continue;
      }
      BENTO_ASSIGN(const Position good, next_good(at));
      BENTO_TRY(rebuild(at, good));
      at = good;
    }
    return {};
  }

 private:
  [[nodiscard]] std::span<const Record> between(Position from, Position to) const {
    const auto less = [](const Record& record, Position at) { return record.where.offset < at; };
    const auto first = std::lower_bound(records_.begin(), records_.end(), from, less);
    const auto last = std::lower_bound(first, records_.end(), to, less);
    return {first, last};
  }

  /// Where the block at `at` ends, if it is sound.
  Result<std::optional<Position>> good_block(Position at) {
    if (end_ - at < header_bytes(1)) return std::optional<Position>();
    auto block = read_block(place_, at, end_ - at);
    if (!block) {
      if (block.error().code == Code::kCorrupt) return std::optional<Position>();
      return fail(std::move(block).error());
    }
    const Position end = at + block->bytes;
    if (block->bytes == 0 || !agrees(*block, between(at, end))) return std::optional<Position>();
    return std::optional<Position>(end);
  }

  /// The next sound block behind a damaged one, looked for in front of each record that follows;
  /// the end of the chunk if there is none.
  Result<Position> next_good(Position damaged) {
    constexpr std::uint64_t kMostVars = 4096;  // in front of one record
    for (const Record& record : between(damaged, end_)) {
      const Position data = record.where.offset;
      for (std::uint64_t i = 0; i < kMostVars; ++i) {
        const std::uint64_t back = kDataBlockHeadBytes + i * kDbVarBytes + record.header_distance;
        if (back > data || data - back <= damaged) break;
        BENTO_ASSIGN(const auto block, good_block(data - back));
        if (block && *block > data) return data - back;
      }
    }
    return end_;
  }

  struct Slot {
    std::uint64_t index;  ///< among the block's records
    const Record* record;
  };

  [[nodiscard]] StreamSpot spot(Position at, std::span<const Record> inside) const {
    StreamSpot found{place_.writer, place_.file->path(), place_.address(at), inside.size(), 0, {}};
    for (const auto& record : inside) {
      found.bytes += record.stored_bytes;
      found.datasets.insert(record.dataset);
    }
    return found;
  }

  /// Writes headers over [from, to), which holds at least one damaged block.
  Status rebuild(Position from, Position to) {
    auto rest = between(from, to);
    Position at = from;
    while (at < to) {
      // Records whose own record lies behind the data before it belong to a later block.
      std::size_t count = rest.empty() ? 0 : 1;
      while (count < rest.size() && !begins_block(rest[count - 1], rest[count])) ++count;
      const auto group = rest.first(count);
      rest = rest.subspan(count);
      BENTO_ASSIGN(const Position end, rebuild_group(at, group, rest, to));
      if (end == at) {  // beyond repair: so is everything up to the next sound block
        result_.beyond_repair.push_back(spot(at, between(at, to)));
        return {};
      }
      at = end;
    }
    return {};
  }

  static bool begins_block(const Record& before, const Record& record) {
    return record.where.offset >=
           before.where.offset + before.stored_bytes + record.header_distance;
  }

  /// Returns where the group's block ends; `at` if no block can be made.
  Result<Position> rebuild_group(Position at, std::span<const Record> group,
                                 std::span<const Record> behind, Position to) {
    if (group.empty()) return write_filler(at, to);
    const Record& last = group.back();
    const Position data_end = last.where.offset + last.stored_bytes + hashes_behind(last);
    // What follows the group's data is the next group's block, as near to it as that allows.
    Position end = to;
    if (!behind.empty()) {
      const Record& next = behind.front();
      const Position head = next.where.offset - next.header_distance - kDataBlockHeadBytes;
      end = head >= data_end && (head - data_end) % kDbVarBytes == 0 ? data_end : head;
    }
    for (const Position block_end : {end, data_end}) {
      auto vars = layout(at, group, block_end);
      if (!vars) continue;
      BENTO_TRY(write(at, *vars, group));
      return block_end;
    }
    // The records may belong to a block behind one of which the index knows nothing.
    const Record& first = group.front();
    const Position head = first.where.offset - first.header_distance - kDataBlockHeadBytes;
    if (head < at + header_bytes(1) || head >= to) return at;
    if (!layout(head, group, end) && !layout(head, group, data_end)) return at;
    BENTO_TRY(write_filler(at, head));
    return rebuild_group(head, group, behind, to);
  }

  /// Bytes of the granules' hashes that lie behind a record's data.
  [[nodiscard]] std::uint64_t hashes_behind(const Record& record) const {
    return record.encoding == Encoding::kPlain
               ? granule_table_bytes(place_.rules, record.stored_bytes)
               : 0;
  }

  /// The records of a block [at, end) that holds `group`; nothing if there is none. A container
  /// has the room up to the next one, which may be more than its record needs.
  std::optional<std::vector<DbVar>> layout(Position at, std::span<const Record> group,
                                           Position end) const {
    std::vector<Slot> slots;
    for (const auto& record : group) {
      if (record.header_distance > record.where.offset) return std::nullopt;
      const Position own = record.where.offset - record.header_distance;
      if (own < at + kDataBlockHeadBytes || (own - at - kDataBlockHeadBytes) % kDbVarBytes != 0)
        return std::nullopt;
      const std::uint64_t index = (own - at - kDataBlockHeadBytes) / kDbVarBytes;
      if (!slots.empty() && index <= slots.back().index) return std::nullopt;
      slots.push_back({index, &record});
    }
    const Position data = group.front().where.offset;
    std::uint64_t numvars = slots.back().index + 1;
    if (slots.front().index == 0) {  // its data follows the header at once
      if ((data - at - kDataBlockHeadBytes) % kDbVarBytes != 0) return std::nullopt;
      numvars = std::max(numvars, (data - at - kDataBlockHeadBytes) / kDbVarBytes);
    }
    if (numvars > UINT32_MAX || at + header_of(numvars) > data) return std::nullopt;

    std::vector<DbVar> vars;
    Position next = at + header_of(numvars);
    const auto fill_up = [&](std::uint64_t index, Position until) {
      while (vars.size() < index) {
        vars.push_back(fti::v11::make_filler(0, until - next, place_.rules.hash));
        next = until;
      }
      if (!vars.empty()) vars.back().containersize += until - next;
      next = until;
    };
    for (const auto& slot : slots) {
      const Position begin = slot.record->where.offset;
      if (begin < next) return std::nullopt;
      if (begin != next && slot.index == 0) return std::nullopt;
      fill_up(slot.index, begin);
      DbVar var;
      var.id = var.idx = static_cast<std::int32_t>(slot.record->dataset);
      var.hascontent = true;
      var.chunksize = slot.record->stored_bytes;
      var.containersize = var.chunksize + hashes_behind(*slot.record);
      var.hash = slot.record->hash;
      vars.push_back(var);
      next = begin + var.containersize;
    }
    if (next > end) return std::nullopt;
    fill_up(numvars, end);
    return vars;
  }

  static std::uint64_t header_of(std::uint64_t numvars) {
    return kDataBlockHeadBytes + numvars * kDbVarBytes;
  }

  Result<Position> write_filler(Position at, Position end) {
    if (end - at < header_bytes(1)) return at;
    BENTO_TRY(
        write(at, {fti::v11::make_filler(0, end - at - header_bytes(1), place_.rules.hash)}, {}));
    return end;
  }

  /// Numbers and stream offsets come later, see renumber().
  Status write(Position at, std::vector<DbVar> vars, std::span<const Record> group) {
    Position data = at + header_of(vars.size());
    for (auto& var : vars) {
      if (var.hascontent && var.hash == fti::Digest{}) BENTO_TRY(hash_anew(var, data));
      data += var.containersize;
    }
    BENTO_TRY(place_.file->write_at(place_.address(at), fti::v11::encode_header(vars)));
    result_.rebuilt.push_back(spot(at, group));
    return {};
  }

  /// The hash of a container's data, and of its granules where there is room for theirs.
  Status hash_anew(DbVar& var, Position data) {
    constexpr std::uint64_t kPieceBytes = 1u << 20;
    fti::ChunkHasher hasher(place_.rules.hash);
    fti::GranuleHasher granules;
    std::vector<std::byte> piece;
    for (std::uint64_t done = 0; done < var.chunksize; done += piece.size()) {
      piece.resize(static_cast<std::size_t>(std::min(kPieceBytes, var.chunksize - done)));
      BENTO_TRY(place_.file->read_at(place_.address(data) + done, piece));
      hasher.update(piece);
      granules.update(piece);
    }
    var.hash = hasher.digest();
    const std::uint64_t table = granule_table_bytes(place_.rules, var.chunksize);
    if (table == 0 || table > var.containersize - var.chunksize) return {};
    return place_.file->write_at(place_.address(data) + var.chunksize,
                                 encode_granule_table(place_.rules, granules.hashes(), var.hash));
  }

  const StreamPlace& place_;
  Position end_;
  std::span<const Record> records_;
  RepairedStream& result_;
};

/// Stream offsets and FTI's numbers of all containers, counted anew. Only a wrong offset is damage:
/// numbers may lag behind where space was used again.
Status renumber(const StreamPlace& place, const ChunkFill& fill, RepairedStream& result) {
  std::map<std::int32_t, std::int32_t> containers;
  return walk_stream(place, fill, [&](StreamBlock& block) -> Status {
    Position at = block.position + header_bytes(static_cast<std::uint32_t>(block.vars.size()));
    bool changed = false;
    StreamSpot spot{place.writer, place.file->path(), place.address(block.position), 0, 0, {}};
    for (auto& var : block.vars) {
      const DbVar before = var;
      var.fptr = stream_offset(fill, place.plan.chunk_bytes, at);
      if (var.id != fti::kFillerId) {
        var.containerid = containers[var.id]++;
        var.idx = var.id;
      }
      changed = changed || !(var == before);
      if (var.fptr != before.fptr) ++spot.records;
      at += var.containersize;
    }
    const auto same = [&](const StreamSpot& other) { return other.address == spot.address; };
    if (spot.records != 0 && std::ranges::none_of(result.rebuilt, same))
      result.rebuilt.push_back(std::move(spot));
    return changed ? rewrite_vars(place, block) : Status{};
  });
}

}  // namespace

Result<RepairedStream> repair_stream(const StreamPlace& place, const ChunkFill& fill,
                                     std::span<const Record> records) {
  RepairedStream result;
  for (std::size_t chunk = 0; chunk < fill.size(); ++chunk) {
    const Position begin = chunk * place.plan.chunk_bytes;
    ChunkRepair repair(place, begin + fill[chunk], records, result);
    BENTO_TRY(repair.run(begin + (chunk == 0 ? place.rules.head_bytes() : 0)));
  }
  if (result.beyond_repair.empty()) BENTO_TRY(renumber(place, fill, result));
  return result;
}

Result<std::vector<StreamSpot>> find_uncommitted(const StreamPlace& place, const ChunkFill& fill) {
  std::vector<StreamSpot> found;
  if (place.plan.chunk_bytes == 0) return found;
  BENTO_ASSIGN(const std::uint64_t file_bytes, place.file->size());
  const bool begun = stream_bytes(fill) != 0;
  std::uint64_t chunk = begun ? fill.size() - 1 : 0;
  std::uint64_t at = begun ? fill.back() : place.rules.head_bytes();
  for (;; ++chunk, at = 0) {
    bool any = false;
    while (place.plan.chunk_bytes - at >= header_bytes(1)) {
      const Position position = chunk * place.plan.chunk_bytes + at;
      if (place.address(position) + header_bytes(1) > file_bytes) return found;
      auto block = read_block(place, position, place.plan.chunk_bytes - at);
      if (!block && block.error().code != Code::kCorrupt) return fail(std::move(block).error());
      if (!block || block->vars.empty() || !agrees(*block, {}) ||
          place.address(position) + block->bytes > file_bytes)
        break;
      StreamSpot spot{place.writer, place.file->path(), place.address(position), 0, 0, {}};
      for (const auto& var : block->vars) {
        if (var.id < 0) continue;
        ++spot.records;
        spot.bytes += var.chunksize;
        spot.datasets.insert(static_cast<DatasetNumber>(var.id));
      }
      found.push_back(std::move(spot));
      at += block->bytes;
      any = true;
    }
    // A chunk is begun only when the one before it is; the last one used may be full.
    if (!any && chunk >= fill.size()) return found;
  }
}

}  // namespace bento
