// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// References to regions in values of the skeleton: attributes, and datasets of serial programs. In
/// a file that keeps regions beside the skeleton (FileContext::keeps_regions) the program's memory
/// has other references to the same regions, so what is written and read is translated.
#pragma once

#include <functional>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "vol/file/file_context.hpp"
#include "vol/file/object.hpp"

namespace bento::vol {

/// The container whose values of memory type `type` have to be translated; null if they are as they
/// are.
std::shared_ptr<FileContext> keeper_of_regions(const Object* object, hid_t type);

/// Elements in memory, not yet the skeleton's, and then its.
using NativeWrite = std::function<herr_t(const void* elements)>;

/// Writes `count` elements of `type` by `write`, which gets a copy whose references are those of
/// the skeleton. Whoever calls it on one rank must do so on all, with the same regions: they go to
/// the skeleton's heap. Errors: kInvalidArgument (no reference of this file), kUnsupported
/// (references of HDF5 1.12 beside), what `write` returns.
Status write_with_regions(const Object* object, FileContext& file, hid_t type,
                          const std::byte* elements, std::size_t count, const NativeWrite& write);

/// For a list with a fill value that the program has set. Fill values lie in the skeleton, and are
/// given out by the library itself. Errors: kUnsupported.
Status refuse_region_fill(hid_t dcpl, hid_t type);

/// Makes the references of `count` elements, which were read from the skeleton, those of the
/// program. Errors: kCorrupt, kUnsupported.
Status take_regions(FileContext& file, hid_t type, std::byte* elements, std::size_t count);

}  // namespace bento::vol
