// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// H5Dwrite and H5Dread, of one dataset or of several at once: each goes where its dataset's data
/// is. A collective transfer does on all ranks what its files need before anything can fail on one.
/// Source: H5VL_dataset_class_t of the HDF5 reference manual.
#pragma once

#include <cstddef>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "vol/file/object.hpp"

namespace bento::vol {

herr_t dataset_write(size_t count, void* dset[], hid_t mem_type[], hid_t mem_space[],
                     hid_t file_space[], hid_t dxpl, const void* buf[], void** req);
herr_t dataset_read(size_t count, void* dset[], hid_t mem_type[], hid_t mem_space[],
                    hid_t file_space[], hid_t dxpl, void* buf[], void** req);

/// H5Dvlen_get_buf_size of a virtual dataset: the bytes that a read of the elements of `space` as
/// `type` allocates. Errors: as H5Dread.
Result<hsize_t> virtual_buffer_bytes(Object* object, hid_t type, hid_t space);

}  // namespace bento::vol
