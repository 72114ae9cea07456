// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/view/written_chunks.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "hdf5/base/handle.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "hdf5/data/stored_chunks.hpp"

namespace bento::vol {

namespace {

using Origin = std::vector<std::uint64_t>;

struct Found {
  unsigned rank = 0;
  Dims chunk;
  std::vector<Origin> origins;
};

Box chunk_at(const Origin& origin, const Dims& chunk, const Dims& extent) {
  Box box{chunk, chunk};
  for (unsigned d = 0; d < box.rank(); ++d) box.start[d] = origin[d];
  return intersect(box, Box::whole(extent));
}

/// The origin of the next chunk, in row-major order. False behind the last.
bool advance(Origin& origin, const Dims& chunk, const Dims& extent) {
  for (auto d = static_cast<unsigned>(origin.size()); d-- > 0;) {
    origin[d] += chunk[d];
    if (origin[d] < extent[d]) return true;
    origin[d] = 0;
  }
  return false;
}

}  // namespace

Result<bool> has_unreadable_chunks(hid_t dcpl) {
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  if (H5Pfill_value_defined(dcpl, &defined) < 0)
    return fail(Code::kInternal, "a fill value is unreadable");
  return defined == H5D_FILL_VALUE_USER_DEFINED && H5Pget_layout(dcpl) == H5D_CHUNKED;
}

namespace {

/// What is there, in row-major order.
Result<Found> find_chunks(hid_t dataset, hid_t dcpl, unsigned rank) {
  Found found;
  found.rank = rank;
  BENTO_ASSIGN(found.chunk, chunk_shape(dcpl, rank));
  BENTO_ASSIGN(const auto chunks, stored_chunks(dataset));
  for (const StoredChunk& chunk : chunks)
    found.origins.emplace_back(chunk.offset.begin(), chunk.offset.end());
  std::ranges::sort(found.origins);
  return found;
}

std::vector<Box> boxes_of(const Found& found, const Dims& extent) {
  std::vector<Box> boxes;
  boxes.reserve(found.origins.size());
  for (const Origin& origin : found.origins) boxes.push_back(chunk_at(origin, found.chunk, extent));
  return boxes;
}

std::uint64_t elements_in(const std::vector<Box>& boxes) {
  std::uint64_t elements = 0;
  for (const Box& box : boxes) elements += box.elements();
  return elements;
}

/// The boxes around what is mapped. Nothing if it may have no end.
Result<std::optional<std::vector<Box>>> mapped_boxes(hid_t dcpl, const Dims& extent) {
  std::size_t mappings = 0;
  if (H5Pget_virtual_count(dcpl, &mappings) < 0)
    return fail(Code::kInternal, "the mappings of a virtual dataset are unreadable");
  std::vector<Box> boxes;
  for (std::size_t i = 0; i < mappings; ++i) {
    const SpaceHandle space(H5Pget_virtual_vspace(dcpl, i));
    std::array<hsize_t, kMaxRank> first{};
    std::array<hsize_t, kMaxRank> last{};
    if (!space.valid()) return fail(Code::kInternal, "a mapping is unreadable");
    const QuietErrors quiet;
    if (H5Sget_select_bounds(space.get(), first.data(), last.data()) < 0)
      return std::optional<std::vector<Box>>();
    Box box{Dims(extent.rank()), Dims(extent.rank())};
    for (unsigned d = 0; d < extent.rank(); ++d) {
      box.start[d] = first[d];
      box.count[d] = last[d] - first[d] + 1;
    }
    const Box inside = intersect(box, Box::whole(extent));
    if (!inside.empty()) boxes.push_back(inside);
  }
  return std::optional(std::move(boxes));
}

}  // namespace

Result<WrittenChunks> written_chunks(hid_t dataset, hid_t dcpl, const Dims& extent) {
  constexpr std::uint64_t kMost = std::uint64_t{16} << 20;  // each costs a value in a heap
  BENTO_ASSIGN(const Found found, find_chunks(dataset, dcpl, extent.rank()));
  WrittenChunks out;
  out.written = boxes_of(found, extent);
  if (Box::whole(extent).elements() - elements_in(out.written) > kMost) return out;
  Origin origin(found.rank, 0);
  do {
    if (!std::ranges::binary_search(found.origins, origin))
      out.others.push_back(chunk_at(origin, found.chunk, extent));
  } while (advance(origin, found.chunk, extent));
  return out;
}

// Where most of it is there, few large pieces are faster than many small ones.
Result<std::vector<Box>> parts_with_data(hid_t dataset, hid_t dcpl, const Dims& extent) {
  std::vector<Box> whole{Box::whole(extent)};
  const H5D_layout_t layout = H5Pget_layout(dcpl);
  if (extent.rank() == 0 || (layout != H5D_CHUNKED && layout != H5D_VIRTUAL)) return whole;
  std::vector<Box> parts;
  if (layout == H5D_CHUNKED) {
    BENTO_ASSIGN(const Found found, find_chunks(dataset, dcpl, extent.rank()));
    parts = boxes_of(found, extent);
  } else {
    BENTO_ASSIGN(auto mapped, mapped_boxes(dcpl, extent));
    if (!mapped) return whole;
    parts = std::move(*mapped);
  }
  const bool most = elements_in(parts) >= whole.front().elements() / 2;
  return most ? whole : parts;
}

}  // namespace bento::vol
