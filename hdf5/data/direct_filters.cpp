// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/direct_filters.hpp"

#include <cstring>
#include <limits>

#include "hdf5/data/byte_shuffle.hpp"
#include "hdf5/data/deflate_room.hpp"

namespace bento::vol {

namespace {

// HDF5 hands zlib the sizes of chunks as numbers of 32 bits.
constexpr std::size_t kMostBytes = std::numeric_limits<std::uint32_t>::max();

bool decompress(std::span<const std::byte> from, std::span<std::byte> to, DeflateRoomUse& room) {
  libdeflate_decompressor* const decompressor = room->decompressor();
  // Without a place for the size it is an error to decode to less than `to` holds.
  return decompressor != nullptr &&
         libdeflate_zlib_decompress(decompressor, from.data(), from.size(), to.data(), to.size(),
                                    nullptr) == LIBDEFLATE_SUCCESS;
}

}  // namespace

std::optional<DirectFilters> DirectFilters::of(hid_t dcpl, std::size_t element_bytes) {
  const int count = H5Pget_nfilters(dcpl);
  if (count < 1 || count > 2 || element_bytes == 0) return std::nullopt;
  DirectFilters made;
  made.element_bytes_ = element_bytes;
  made.shuffles_ = count == 2;
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    unsigned level = 0;
    std::size_t values = 1;
    const H5Z_filter_t filter = H5Pget_filter2(dcpl, static_cast<unsigned>(i), &flags, &values,
                                               &level, 0, nullptr, nullptr);
    const bool last = i == count - 1;
    if (filter != (last ? H5Z_FILTER_DEFLATE : H5Z_FILTER_SHUFFLE) || H5Zfilter_avail(filter) <= 0)
      return std::nullopt;
    // HDF5 sets the parameter of shuffle by itself.
    if (!last) continue;
    if (values != 1 || level > DeflateRoom::kHighestLevel) return std::nullopt;
    made.level_ = static_cast<int>(level);
  }
  return made;
}

bool DirectFilters::filter(std::span<const std::byte> elements,
                           std::vector<std::byte>& stored) const {
  if (elements.size() > kMostBytes) return false;
  DeflateRoomUse room;
  libdeflate_compressor* const compressor = room->compressor(level_);
  if (compressor == nullptr) return false;
  const std::byte* from = elements.data();
  if (shuffles_ && shuffle_changes(elements.size(), element_bytes_)) {
    std::byte* const shuffled = room->shuffled.at_least(elements.size());
    shuffle_bytes(element_bytes_, elements, shuffled);
    from = shuffled;
  }
  // With as much room it always succeeds, as zlib does in HDF5: noise becomes some bytes longer.
  const std::size_t most = libdeflate_zlib_compress_bound(compressor, elements.size());
  std::byte* const packed = room->packed.at_least(most);
  const std::size_t bytes =
      libdeflate_zlib_compress(compressor, from, elements.size(), packed, most);
  if (bytes == 0) return false;
  stored.assign(packed, packed + bytes);
  return true;
}

bool DirectFilters::unfilter(std::span<const std::byte> stored, std::uint32_t mask,
                             std::span<std::byte> elements) const {
  if (elements.size() > kMostBytes || stored.size() > kMostBytes) return false;
  const bool shuffled = shuffles_ && (mask & 1u) == 0;
  const bool packed = (mask >> (shuffles_ ? 1 : 0) & 1u) == 0;
  if (!shuffled || !shuffle_changes(elements.size(), element_bytes_)) {
    if (packed) {
      DeflateRoomUse room;
      return decompress(stored, elements, room);
    }
    if (stored.size() != elements.size()) return false;
    std::memcpy(elements.data(), stored.data(), stored.size());
    return true;
  }
  if (!packed) {
    if (stored.size() != elements.size()) return false;
    unshuffle_bytes(element_bytes_, stored, elements.data());
    return true;
  }
  DeflateRoomUse room;
  std::byte* const between = room->shuffled.at_least(elements.size());
  if (!decompress(stored, {between, elements.size()}, room)) return false;
  unshuffle_bytes(element_bytes_, {between, elements.size()}, elements.data());
  return true;
}

}  // namespace bento::vol
