// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How a block writer places a large record: in a block that is free, in what is left of its chunk,
/// or in the next one; cut where it fits none of them.
#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "core/base/checked.hpp"
#include "core/base/guarded.hpp"
#include "core/geometry/box_run.hpp"
#include "core/stream/block_writer.hpp"
#include "core/stream/granule_table.hpp"

namespace bento {

using fti::v11::DbVar;
using fti::v11::header_bytes;

struct BlockWriter::LargeSizes {
  StreamRules rules;
  bool sliceable;  ///< plain data; a filtered record stays whole
  std::uint64_t element_bytes;
  std::uint64_t stored_bytes;  ///< of a filtered record
  std::uint64_t largest;       ///< container that any chunk has room for
  std::uint64_t alignment;     ///< of a record that is not cut

  [[nodiscard]] std::uint64_t data_of(const Box& box) const {
    return sliceable ? box.elements() * element_bytes : stored_bytes;
  }
  /// With the hashes of the granules, which lie behind a large plain record.
  [[nodiscard]] std::uint64_t container_of(std::uint64_t bytes) const {
    return sliceable ? bytes + granule_table_bytes(rules, bytes) : bytes;
  }
  [[nodiscard]] std::uint64_t smallest() const {
    return container_of(sliceable ? element_bytes : stored_bytes);
  }
  /// Compressed data of the next step may be a little longer: its container gets some slack.
  [[nodiscard]] std::uint64_t capacity_of(const Box& box) const {
    return sliceable ? container_of(data_of(box))
                     : std::min(stored_bytes + stored_bytes / 8, largest);
  }
};

void BlockWriter::note_whole(DatasetNumber dataset, std::uint64_t bytes) {
  if (options_.whole_datasets.multiple > 1 && bytes >= options_.whole_datasets.threshold)
    whole_bytes_[dataset] = bytes;
  else
    whole_bytes_.erase(dataset);
}

std::uint64_t BlockWriter::alignment_of(DatasetNumber dataset, std::uint64_t bytes) const {
  const auto whole = whole_bytes_.find(dataset);
  if (whole == whole_bytes_.end() || whole->second != bytes || rules_.for_fti) return 1;
  const std::uint64_t multiple = options_.whole_datasets.multiple;
  const std::uint64_t chunk = plan_.chunk_bytes;
  if (multiple > std::min(kMostAlignment, chunk / 4)) return 1;
  const std::uint64_t rest =
      rules_.head_bytes() + header_bytes(rules_.large_containers()) + multiple;
  const std::uint64_t container = bytes + granule_table_bytes(rules_, bytes);
  return container <= chunk && rest <= chunk - container ? multiple : 1;
}

std::uint64_t BlockWriter::aligned_at(std::uint64_t used, std::uint64_t multiple) const {
  const std::uint64_t chunk = plan_.address(local_task_, (fill_.size() - 1) * plan_.chunk_bytes);
  const std::uint64_t nearest = data_at(used);
  if ((chunk + nearest) % multiple == 0) return nearest;
  const std::uint64_t behind = used + header_bytes(rules_.large_containers());
  return round_up(chunk + behind, multiple) - chunk;
}

// A dataset that is written again and again finds the block of an earlier time.
std::optional<StreamBlockShape> BlockWriter::take_aligned(const LargeSizes& sizes, const Box& box) {
  const std::uint64_t header = header_bytes(rules_.large_containers());
  const std::uint64_t bytes = sizes.container_of(sizes.data_of(box));
  const std::uint64_t filler = aligned_at(fill_.back(), sizes.alignment) - fill_.back() - header;
  auto free = bytes < kLargeRecordBytes ? reuse_.take_small(std::array{filler, bytes})
                                        : reuse_.take_large(bytes);
  if (!free) return free;
  const Position data = free->position + header + free->capacities.front();
  if (free->capacities.size() == 2 && plan_.address(local_task_, data) % sizes.alignment == 0)
    return free;
  reuse_.add_free(std::move(*free));
  return std::nullopt;
}

namespace {

// Processors copy between memory and the page cache up to twice as fast where both lie alike within
// a line of their caches (docs/benchmarks.md, "Where a record begins").
constexpr std::uint64_t kLineBytes = 64;
// As large blocks of malloc() do: readers have such buffers, too.
constexpr std::uint64_t kUsualShift = 16;

std::uint64_t shift_for(const ByteSource& data) {
  if (data.place() == nullptr) return kUsualShift;
  return reinterpret_cast<std::uintptr_t>(data.place()) % kLineBytes;
}

}  // namespace

// Parts below kLargeRecordBytes would leave blocks that nothing fits.
std::optional<StreamBlockShape> BlockWriter::take_free(const LargeSizes& sizes, Box& box,
                                                       std::vector<Box>& rest) {
  if (sizes.alignment > 1) return take_aligned(sizes, box);
  const std::uint64_t bytes = sizes.data_of(box);
  auto free = sizes.sliceable ? reuse_.take_large(sizes.container_of(bytes))
                              : reuse_.take_roomy(sizes.container_of(bytes));
  if (free || !sizes.sliceable || bytes < 2 * std::max(kLargeRecordBytes, sizes.element_bytes))
    return free;
  free = reuse_.take_for_part(sizes.container_of(bytes), sizes.smallest());
  if (free) {
    const std::uint64_t most =
        std::min(data_bytes_within(rules_, free->capacities.back()), bytes - kLargeRecordBytes);
    box = cut_front(box, most / sizes.element_bytes, rest);
  }
  return free;
}

// What fits the next chunk goes there whole. What fits none fills the rest of this one first, if
// that is worth a record. False: another chunk was begun.
Result<bool> BlockWriter::cut_to_chunk(const LargeSizes& sizes, Box& box, std::vector<Box>& rest) {
  if (sizes.alignment > 1) {
    if (aligned_at(fill_.back(), sizes.alignment) + sizes.capacity_of(box) <= plan_.chunk_bytes)
      return true;
    BENTO_TRY(next_chunk());
    return false;
  }
  const std::uint64_t here = room_behind(fill_.back());
  if (sizes.capacity_of(box) <= here) return true;
  const bool worth_it = sizes.sliceable && here >= sizes.smallest() &&
                        here >= std::min(kLargeRecordBytes, plan_.chunk_bytes / 2);
  if (sizes.container_of(sizes.data_of(box)) <= room_behind(0) || !worth_it) {
    BENTO_TRY(next_chunk());
    return false;
  }
  box = cut_front(box, data_bytes_within(rules_, here) / sizes.element_bytes, rest);
  return true;
}

Status BlockWriter::write_parts(const Record& record, std::uint64_t element_bytes, ByteSource& data,
                                std::uint64_t bytes, std::vector<Record>& placed) {
  const bool plain = record.encoding == Encoding::kPlain;
  const LargeSizes sizes{rules_, plain,          element_bytes,
                         bytes,  room_behind(0), plain ? alignment_of(record.dataset, bytes) : 1};
  if (sizes.smallest() > sizes.largest)
    return fail(Code::kNoSpace,
                fmt::format("writer {}: a piece of {} bytes fits no chunk of {} bytes in '{}'; use "
                            "a larger chunk= (errno = {})",
                            writer_, sizes.smallest(), plan_.chunk_bytes, file_->path(), EFBIG),
                EFBIG);
  std::vector<Box> todo{record.box};
  while (!todo.empty()) {
    Record part = record;
    part.box = todo.back();
    todo.pop_back();
    const auto free = take_free(sizes, part.box, todo);
    if (!free) {
      BENTO_ASSIGN(const bool here, cut_to_chunk(sizes, part.box, todo));
      if (!here) {
        todo.push_back(part.box);
        continue;
      }
    }
    part.stored_bytes = sizes.data_of(part.box);
    const std::uint64_t capacity = free ? free->capacities.back() : sizes.capacity_of(part.box);
    const std::uint64_t shift = options_.align_exactly ? 0 : shift_for(data);
    BENTO_TRY(write_part(part, data, {capacity, sizes.alignment, shift}, free ? &*free : nullptr,
                         placed));
  }
  return {};
}

Result<std::vector<Record>> BlockWriter::write_large(const Record& record,
                                                     std::uint64_t element_bytes, ByteSource& data,
                                                     std::uint64_t bytes) {
  std::vector<Record> placed;
  auto written = guarded([&] { return write_parts(record, element_bytes, data, bytes, placed); });
  if (written) return placed;
  for (const auto& part : placed) orphans_.push_back(part.where.offset);
  return fail(std::move(written).error());
}

namespace {

/// What is in a file.
class StoredBytes final : public ByteSource {
 public:
  StoredBytes(File& file, std::uint64_t address) : file_(file), address_(address) {}

 private:
  Result<std::span<const std::byte>> next(std::uint64_t most) override {
    piece_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(most, kLargeRecordBytes)));
    BENTO_TRY(file_.read_at(address_, piece_));
    address_ += piece_.size();
    return std::span<const std::byte>(piece_);
  }

  File& file_;
  std::uint64_t address_;
  std::vector<std::byte> piece_;
};

}  // namespace

Status BlockWriter::rewrite_large(Record& record, ByteSource& data) {
  const std::uint64_t address = plan_.address(local_task_, record.where.offset);
  reused_ = true;  // the hash of all hashes counts the old one
  auto written = guarded([&] { return write_hashed(address, data, record); });
  if (!written) {
    StoredBytes there(*file_, address);
    BENTO_TRY(write_hashed(address, there, record));
  }
  BENTO_TRY(store_hash(record));
  return written;
}

// In its dbvar. All else that this says of the content stays.
Status BlockWriter::store_hash(const Record& record) {
  const std::uint64_t address =
      plan_.address(local_task_, record.where.offset - record.header_distance);
  std::array<std::byte, fti::v11::kDbVarBytes> bytes{};
  BENTO_TRY(file_->read_at(address, bytes));
  BENTO_ASSIGN(DbVar var, fti::v11::decode_dbvar(bytes));
  var.hash = record.hash;
  return file_->write_at(address, fti::v11::encode(var));
}

// Data first, then the header that describes it. A block that is used again keeps its head and the
// capacities: only what its dbvars say of the content changes.
Status BlockWriter::write_part(Record part, ByteSource& data, const Room& room,
                               const StreamBlockShape* into, std::vector<Record>& placed) {
  const std::uint64_t capacity = room.capacity;
  const std::uint64_t begin = into != nullptr ? into->position % plan_.chunk_bytes : fill_.back();
  const Position block =
      into != nullptr ? into->position : (fill_.size() - 1) * plan_.chunk_bytes + begin;
  const std::uint64_t header = header_bytes(rules_.large_containers());
  const bool aligned = !rules_.for_fti;
  std::uint64_t filler_bytes = 0;
  if (aligned)
    filler_bytes = into != nullptr ? into->capacities[0] : data_at(begin, room) - begin - header;
  part.where = {writer_, block + header + filler_bytes};
  part.header_distance = static_cast<std::uint32_t>(fti::v11::kDbVarBytes + filler_bytes);
  BENTO_TRY(write_hashed(plan_.address(local_task_, part.where.offset), data, part));

  if (miscounted_) BENTO_TRY(resume({}));
  const std::uint64_t filler_at = stream_offset(fill_, plan_.chunk_bytes, block) + header;
  std::vector<DbVar> vars;
  StreamBlockShape shape{block, {}};
  if (aligned) {
    vars.push_back(fti::v11::make_filler(filler_at, filler_bytes, record_kind()));
    shape.capacities.push_back(filler_bytes);
  }
  vars.push_back(
      next_var(part.dataset, part.stored_bytes, part.hash, filler_at + filler_bytes, capacity));
  shape.capacities.push_back(capacity);
  miscounted_ = true;
  if (into != nullptr) {
    reused_ = true;
    BENTO_TRY(rewrite_vars(place(), {block, vars}));
  } else {
    // The last byte of the slack, so that the file is as long as the stream says.
    const std::uint64_t hashes = part.encoding == Encoding::kPlain && part.hash != Hash128{}
                                     ? granule_table_bytes(rules_, part.stored_bytes)
                                     : 0;
    if (capacity > part.stored_bytes + hashes)
      BENTO_TRY(file_->write_at(plan_.address(local_task_, part.where.offset) + capacity - 1,
                                std::array{std::byte{0}}));
    BENTO_TRY(file_->write_at(plan_.address(local_task_, block), fti::v11::encode_header(vars)));
    fill_.back() = begin + header + filler_bytes + capacity;
  }
  miscounted_ = false;
  bytes_written_ += part.stored_bytes;
  reuse_.note_written(std::move(shape), std::array{part.where.offset});
  placed.push_back(part);
  return {};
}

}  // namespace bento
