// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/filtered_data.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "hdf5/data/filter_scratch.hpp"
#include "hdf5/data/filtered_record.hpp"

namespace bento::vol {

namespace {

/// Cuts `box` at the grid's lines into regions whose pieces all have the same shape: along each
/// dimension what lies in front of the first line, the whole chunks, and what is left behind them.
template <class Action>
Status for_each_region(const Box& box, const Dims& chunk, unsigned d, Box& region,
                       const Action& action) {
  if (d == box.rank()) return action(region);
  const std::uint64_t end = box.start[d] + box.count[d];
  for (std::uint64_t at = box.start[d]; at < end;) {
    const std::uint64_t inside = at % chunk[d];
    const std::uint64_t whole = (end - at) / chunk[d] * chunk[d];
    std::uint64_t count = end - at;
    if (inside != 0)
      count = std::min(chunk[d] - inside, count);
    else if (whole != 0)
      count = whole;
    region.start[d] = at;
    region.count[d] = count;
    BENTO_TRY(for_each_region(box, chunk, d + 1, region, action));
    at += count;
  }
  return {};
}

class FilteredWriter {
 public:
  FilteredWriter(DatasetState& state, FilterScratch& filters, const Dims& extent, const Box& box,
                 const std::byte* data, const WrittenMembers* written)
      : state_(state),
        filters_(filters),
        container_(state.file->container()),
        extent_(extent),
        box_(box),
        data_(data),
        written_(written) {}

  Status write() {
    Box region = box_;
    return for_each_region(box_, filters_.chunk(), 0, region,
                           [this](const Box& one) { return write_region(one); });
  }

 private:
  /// The elements of a part of the box, in place if they are one run.
  std::span<const std::byte> elements_of(const Box& part) {
    const std::size_t bytes = part.elements() * state_.element_bytes;
    if (is_contiguous_in(box_, part))
      return {data_ + row_major_offset(box_, part) * state_.element_bytes, bytes};
    packed_.resize(bytes);
    copy_box(part, box_, data_, part, packed_.data(), state_.element_bytes);
    return packed_;
  }

  Status write_plain(const Box& part) {
    const auto elements = elements_of(part);
    return container_.write(state_.number, part, state_.element_bytes, elements,
                            state_.range_of(elements), written_);
  }

  [[nodiscard]] bool worth_filtering(const Box& region, const Dims& piece) const {
    bool covers_chunks = true;
    for (unsigned d = 0; d < region.rank(); ++d) {
      const std::uint64_t end = region.start[d] + region.count[d];
      const std::uint64_t chunk = filters_.chunk()[d];
      covers_chunks =
          covers_chunks && region.start[d] % chunk == 0 && (end % chunk == 0 || end == extent_[d]);
    }
    const std::uint64_t bytes = piece.bytes(state_.element_bytes);
    if (covers_chunks) return bytes >= kFilteredChunkBytes;
    // While everything gathers in memory, records that cannot be cut must not pile up: of those
    // that cover their chunk only the newest is kept.
    return container_.layout_fixed() && bytes >= kFilteredPartBytes;
  }

  Status write_region(const Box& region) {
    Dims shape(region.rank());
    Dims pieces(region.rank());
    for (unsigned d = 0; d < region.rank(); ++d) {
      shape[d] = std::min(region.count[d], filters_.chunk()[d]);
      pieces[d] = region.count[d] / shape[d];
    }
    if (!worth_filtering(region, shape)) return write_plain(region);
    if (!(shape == filters_.chunk()) && !filters_.accepts(shape)) return write_plain(region);
    Box piece{region.start, shape};
    const std::uint64_t count = pieces.product();
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t rest = i;
      for (unsigned d = region.rank(); d-- > 0;) {
        piece.start[d] = region.start[d] + rest % pieces[d] * shape[d];
        rest /= pieces[d];
      }
      BENTO_TRY(write_piece(piece));
    }
    return {};
  }

  Status write_piece(const Box& piece) {
    std::uint32_t mask = 0;
    const auto elements = elements_of(piece);
    BENTO_TRY(filters_.filter(piece.count, elements, stored_, mask));
    const std::uint64_t most = container_.largest_record();
    if (stored_.size() <= most)
      return container_.write_filtered(state_.number, piece, mask, stored_,
                                       state_.range_of(elements, &filters_), written_);
    // Stored bytes cannot be cut, elements can: as many slabs as should fit, an eighth to spare.
    unsigned d = 0;
    while (d < piece.rank() && piece.count[d] == 1) ++d;
    const std::uint64_t slabs = most == 0 ? 0 : stored_.size() / (most - most / 8) + 1;
    if (d == piece.rank() || slabs == 0) return write_plain(piece);
    const std::uint64_t rows = std::max<std::uint64_t>(1, piece.count[d] / slabs);
    if (rows == piece.count[d]) return write_plain(piece);
    for (std::uint64_t done = 0; done < piece.count[d]; done += rows) {
      Box slab = piece;
      slab.start[d] += done;
      slab.count[d] = std::min(rows, piece.count[d] - done);
      const bool filtered = slab.elements() * state_.element_bytes >= kFilteredChunkBytes &&
                            filters_.accepts(slab.count);
      BENTO_TRY(filtered ? write_piece(slab) : write_plain(slab));
    }
    return {};
  }

  DatasetState& state_;
  FilterScratch& filters_;
  Container& container_;
  const Dims& extent_;
  const Box& box_;
  const std::byte* data_;
  const WrittenMembers* written_;
  std::vector<std::byte> packed_;
  std::vector<std::byte> stored_;
};

}  // namespace

Result<bool> is_filtered(Object* object, DatasetState& state, const Box& box) {
  if (box.count.bytes(state.element_bytes) < kFilteredChunkBytes) return false;
  BENTO_ASSIGN(FilterScratch* const filters, state.filters(object));
  return filters != nullptr && filters->chunk().bytes(state.element_bytes) >= kFilteredChunkBytes;
}

Result<bool> write_filtered(Object* object, DatasetState& state, const Box& box,
                            const std::byte* data, const WrittenMembers* written) {
  BENTO_ASSIGN(const bool filtered, is_filtered(object, state, box));
  if (!filtered) return false;
  BENTO_ASSIGN(FilterScratch* const filters, state.filters(object));
  BENTO_ASSIGN(const Dims extent, state.extent(object));
  BENTO_TRY(FilteredWriter(state, *filters, extent, box, data, written).write());
  return true;
}

Status read_filtered(Object* object, DatasetState& state, const Record& record, const Box& part,
                     const Box& to_box, std::byte* to) {
  DecodedCache& cache = state.file->decoded();
  const auto* elements = cache.find(record);
  if (elements == nullptr) {
    BENTO_ASSIGN(FilterScratch* const filters, state.filters(object));
    if (filters == nullptr)
      return fail(Code::kCorrupt, fmt::format("a filtered record of dataset {}, which has no "
                                              "filters",
                                              state.number));
    BENTO_TRY(check_filtered(record, filters->chunk()));
    BENTO_ASSIGN(const auto stored, state.file->container().read_stored(record));
    if (part == record.box && is_contiguous_in(to_box, part))
      return filters->unfilter(record.box.count, stored, record.filter_mask,
                               to + row_major_offset(to_box, part) * state.element_bytes);
    std::vector<std::byte> decoded;
    // What is read whole is not likely to be read again at once: it passes through one buffer.
    if (part == record.box) decoded.swap(cache.passing());
    decoded.resize(record.box.elements() * state.element_bytes);
    BENTO_TRY(filters->unfilter(record.box.count, stored, record.filter_mask, decoded.data()));
    if (part == record.box) {
      copy_box(part, record.box, decoded.data(), to_box, to, state.element_bytes);
      if (decoded.size() <= kPassingBytes) cache.passing().swap(decoded);
      return {};
    }
    elements = &cache.put(record, std::move(decoded));
  }
  copy_box(part, record.box, elements->data(), to_box, to, state.element_bytes);
  return {};
}

}  // namespace bento::vol
