// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which chunks of a dataset were written. HDF5 cannot read any other one if its elements are of
/// variable length and have a fill value, the file is open for reading, and other chunks were
/// written ("no write intent on file", 1.14.5 and 2.0.0).
#pragma once

#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/geometry/box.hpp"

namespace bento::vol {

struct WrittenChunks {
  std::vector<Box> written;  ///< within the extent
  /// What is left of the extent; none where that is very much.
  std::vector<Box> others;
};

/// Has it chunks and a fill value of its own? Errors: kInternal.
Result<bool> has_unreadable_chunks(hid_t dcpl);

/// Of a chunked dataset. Errors: kInternal.
Result<WrittenChunks> written_chunks(hid_t dataset, hid_t dcpl, const Dims& extent);

/// The parts of a dataset that may hold something else than its fill value: chunks that are there,
/// boxes that are mapped to another dataset, or all of it. They may overlap. Errors: kInternal.
Result<std::vector<Box>> parts_with_data(hid_t dataset, hid_t dcpl, const Dims& extent);

}  // namespace bento::vol
