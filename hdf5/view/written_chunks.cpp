// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/view/written_chunks.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace bento::vol {

namespace {

using Origin = std::vector<std::uint64_t>;

struct Found {
  unsigned rank = 0;
  std::vector<Origin> origins;
};

int note_chunk(const hsize_t* offset, unsigned, haddr_t, hsize_t, void* data) {
  try {
    auto& found = *static_cast<Found*>(data);
    found.origins.emplace_back(offset, offset + found.rank);
    return 0;
  } catch (...) {
    return -1;
  }
}

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

Result<WrittenChunks> written_chunks(hid_t dataset, hid_t dcpl, const Dims& extent) {
  constexpr std::uint64_t kMost = std::uint64_t{16} << 20;  // each costs a value in a heap
  std::array<hsize_t, kMaxRank> sizes{};
  Found found;
  found.rank = extent.rank();
  if (H5Pget_chunk(dcpl, static_cast<int>(sizes.size()), sizes.data()) !=
          static_cast<int>(found.rank) ||
      H5Dchunk_iter(dataset, H5P_DEFAULT, note_chunk, &found) < 0)
    return fail(Code::kInternal, "a dataset's chunks cannot be listed");
  Dims chunk(found.rank);
  for (unsigned d = 0; d < found.rank; ++d) chunk[d] = sizes[d];
  std::ranges::sort(found.origins);
  WrittenChunks out;
  std::uint64_t covered = 0;
  for (const Origin& origin : found.origins) {
    out.written.push_back(chunk_at(origin, chunk, extent));
    covered += out.written.back().elements();
  }
  if (Box::whole(extent).elements() - covered > kMost) return out;
  Origin origin(found.rank, 0);
  do {
    if (!std::ranges::binary_search(found.origins, origin))
      out.others.push_back(chunk_at(origin, chunk, extent));
  } while (advance(origin, chunk, extent));
  return out;
}

}  // namespace bento::vol
