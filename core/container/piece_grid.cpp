// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/piece_grid.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace bento {

namespace {

/// What HDF5 allows: both are stored in 32 bits.
constexpr std::uint64_t kMostChunkBytes = std::numeric_limits<std::uint32_t>::max();
/// Each costs the view an entry of the chunk index.
constexpr std::uint64_t kMostChunks = 1u << 20;
/// Pieces are cut into chunks of no less.
constexpr std::uint64_t kLeastCutBytes = 64u << 10;
/// Larger pieces are cut if they can be, down to the smaller size at most.
constexpr std::uint64_t kLargeBytes = 256u << 20;
constexpr std::uint64_t kHandyBytes = 16u << 20;
constexpr std::uint64_t kMostParts = 4096;
/// What may be copied in any case, and else this part of what is in place.
constexpr std::uint64_t kLittleBytes = 64u << 10;
constexpr std::uint64_t kCopiedPart = 16;

/// A box of the dataset whose elements are one run of bytes, or that comes out of the filters.
struct Stored {
  Box box;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t filter_mask = 0;
};

std::vector<std::uint64_t> key_of(const Dims& dims) {
  return {dims.view().begin(), dims.view().end()};
}

Box repeated(const ViewMapping& mapping, std::uint64_t i) {
  Box box = mapping.to;
  box.start[mapping.dim] += i * mapping.stride;
  return box;
}

class Grid {
 public:
  Grid(const ViewPieces& pieces, const Dims& extent, std::uint64_t element_bytes, bool filters)
      : pieces_(pieces), extent_(extent), element_bytes_(element_bytes), filters_(filters) {}

  std::optional<ViewGrid> make() {
    if (extent_.rank() == 0 || element_bytes_ == 0 || !list_stored() || !choose_chunk()) return {};
    for (const Stored& stored : stored_)
      if (!adopt(stored) && !copy(stored.box)) return {};
    for (const ViewMapping& mapping : pieces_.mappings) {
      if (may_be_chunks(mapping)) continue;
      for (std::uint64_t i = 0; i < mapping.repeat; ++i)
        if (!copy(repeated(mapping, i))) return {};
    }
    if (grid_.chunks.empty() || grid_.copied_bytes > allowed_copy()) return {};
    return std::move(grid_);
  }

 private:
  // Is all of its source what the mapping shows, in the first file, and stored as chunks are? A
  // chunk that skips the filters is written wrongly by HDF5 1.14.5 and 2.0.0 if a filter leaves its
  // size as it is (docs/hdf5-traps.md).
  [[nodiscard]] bool may_be_chunks(const ViewMapping& mapping) const {
    const ViewSource& source = pieces_.sources[mapping.source];
    return source.file == 0 && mapping.from == Box::whole(source.shape) &&
           source.encoding == (filters_ ? Encoding::kFiltered : Encoding::kPlain) &&
           (!filters_ || mapping.repeat == 1);
  }

  bool list_stored() {
    std::uint64_t boxes = 0;
    for (const ViewMapping& mapping : pieces_.mappings) {
      boxes += mapping.repeat;
      if (boxes > kMostChunks) return false;
      const ViewSource& source = pieces_.sources[mapping.source];
      if (!may_be_chunks(mapping)) continue;
      const std::uint64_t bytes = source.bytes / mapping.repeat;
      in_place_ += source.bytes;
      for (std::uint64_t i = 0; i < mapping.repeat; ++i)
        stored_.push_back(
            {repeated(mapping, i), source.address + i * bytes, bytes, source.filter_mask});
    }
    return !stored_.empty();
  }

  // The shape of most of the data; of plain data shorter along the slowest dimension, if that way
  // all pieces of such a width become chunks.
  bool choose_chunk() {
    std::map<std::vector<std::uint64_t>, std::uint64_t> votes;
    std::uint64_t most = 0;
    for (const Stored& stored : stored_) {
      std::uint64_t& votes_of_shape = votes[key_of(stored.box.count)];
      votes_of_shape += stored.box.count.bytes(element_bytes_);
      if (votes_of_shape <= most) continue;
      most = votes_of_shape;
      grid_.chunk = stored.box.count;
    }
    slowest_ = 0;
    while (slowest_ + 1 < extent_.rank() && grid_.chunk[slowest_] == 1) ++slowest_;
    if (!filters_) {
      Dims shorter = grid_.chunk;
      shorter[slowest_] = 0;
      for (const Stored& stored : stored_)
        if (has_width(stored.box))
          shorter[slowest_] = std::gcd(std::gcd(shorter[slowest_], stored.box.count[slowest_]),
                                       stored.box.start[slowest_]);
      if (shorter.bytes(element_bytes_) >= kLeastCutBytes) grid_.chunk = std::move(shorter);
      cut_large();
    }
    return grid_.chunk.bytes(element_bytes_) <= kMostChunkBytes &&
           std::ranges::all_of(grid_.chunk.view(),
                               [](std::uint64_t n) { return n <= kMostChunkBytes; });
  }

  /// Into equal parts, if there are any of a handy size.
  void cut_large() {
    const std::uint64_t all = grid_.chunk[slowest_];
    for (std::uint64_t parts = 1; parts <= std::min(all, kMostParts); ++parts) {
      if (all % parts != 0) continue;
      Dims part = grid_.chunk;
      part[slowest_] = all / parts;
      if (part.bytes(element_bytes_) > kLargeBytes) continue;
      if (part.bytes(element_bytes_) >= kHandyBytes) grid_.chunk = std::move(part);
      return;
    }
  }

  /// In all dimensions but the slowest.
  [[nodiscard]] bool has_width(const Box& box) const {
    for (unsigned d = 0; d < box.rank(); ++d)
      if (d != slowest_ && (box.count[d] != grid_.chunk[d] || box.start[d] % grid_.chunk[d] != 0))
        return false;
    return true;
  }

  bool adopt(const Stored& stored) {
    const std::uint64_t part = grid_.chunk[slowest_];
    const std::uint64_t count = stored.box.count[slowest_];
    if (!has_width(stored.box) || count % part != 0 || stored.box.start[slowest_] % part != 0)
      return false;
    const std::uint64_t chunks = count / part;
    if (filters_ && chunks != 1) return false;
    if (grid_.chunks.size() + chunks > kMostChunks) return false;
    const std::uint64_t bytes = stored.bytes / chunks;
    for (std::uint64_t i = 0; i < chunks; ++i) {
      Dims start = stored.box.start;
      start[slowest_] += i * part;
      grid_.chunks.push_back(
          {std::move(start), stored.address + i * bytes, bytes, stored.filter_mask});
    }
    return true;
  }

  [[nodiscard]] std::uint64_t allowed_copy() const {
    return std::max(kLittleBytes, in_place_ / kCopiedPart);
  }

  /// All chunks that the box reaches into. False: too much.
  bool copy(const Box& box) {
    const unsigned rank = box.rank();
    Dims first(rank);
    for (unsigned d = 0; d < rank; ++d) first[d] = box.start[d] / grid_.chunk[d] * grid_.chunk[d];
    Dims at = first;
    while (true) {
      if (copied_.insert(key_of(at)).second) {
        Box cell{at, grid_.chunk};
        for (unsigned d = 0; d < rank; ++d)
          cell.count[d] = std::min(cell.count[d], extent_[d] - cell.start[d]);
        grid_.copied_bytes += cell.count.bytes(element_bytes_);
        if (grid_.copied_bytes > allowed_copy()) return false;
        grid_.copied.push_back(std::move(cell));
      }
      unsigned d = rank;
      while (d-- > 0) {
        at[d] += grid_.chunk[d];
        if (at[d] < box.start[d] + box.count[d]) break;
        at[d] = first[d];
      }
      if (d >= rank) return true;  // all dimensions have begun anew
    }
  }

  const ViewPieces& pieces_;
  const Dims& extent_;
  std::uint64_t element_bytes_;
  bool filters_;
  std::vector<Stored> stored_;
  std::uint64_t in_place_ = 0;
  unsigned slowest_ = 0;  ///< the first dimension in which a chunk has more than one element
  std::set<std::vector<std::uint64_t>> copied_;  ///< where the chunks of grid_.copied begin
  ViewGrid grid_;
};

}  // namespace

std::optional<ViewGrid> view_grid(const ViewPieces& pieces, const Dims& extent,
                                  std::uint64_t element_bytes, bool filters) {
  return Grid(pieces, extent, element_bytes, filters).make();
}

}  // namespace bento
