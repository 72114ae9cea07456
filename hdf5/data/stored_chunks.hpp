// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The chunks of a dataset that are there, as H5Dchunk_iter tells, but at their right places.
///
/// HDF5 1.14.5 and 2.0.0 tell wrong offsets of datasets of the newer formats whose only unlimited
/// dimension is not the first. It numbers such chunks with that dimension as the slowest, and
/// counts their coordinates as if the first one were (H5Dearray.c, H5D__earray_idx_iterate_cb).
/// H5Dget_chunk_info and H5Dget_chunk_info_by_coord go by the same coordinates.
#pragma once

#include <cstdint>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/geometry/box.hpp"

namespace bento::vol {

/// Elements of a chunk in each dimension, as the creation properties of a dataset of this `rank`
/// say. Errors: kInternal, kCorrupt.
Result<Dims> chunk_shape(hid_t dcpl, unsigned rank);

struct StoredChunk {
  std::vector<hsize_t> offset;  ///< of its first element, per dimension
  unsigned filter_mask = 0;
  std::uint64_t address = 0;  ///< HADDR_UNDEF: the file does not say
  std::uint64_t bytes = 0;
};

/// Of a chunked dataset, in the order in which the library has them. Makes HDF5 calls that fail, so
/// what is on the error stack after it means nothing, unless it fails itself. Errors: kInternal.
Result<std::vector<StoredChunk>> stored_chunks(hid_t dataset);

}  // namespace bento::vol
