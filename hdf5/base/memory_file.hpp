// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Small HDF5 files in memory, in which the native library does what no call of it does alone:
/// filters, conversions, transforms.
#pragma once

#include <cstddef>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"

namespace bento::vol {

enum class MemoryFormat : bool {
  kUsual,
  kNewest,  ///< indexes a single chunk without a tree
};

/// A new file of the native connector that is never stored. It grows by `increment` bytes.
/// `purpose` is for whoever meets its name. Errors: kInternal, naming the purpose.
Result<FileHandle> make_memory_file(const char* purpose, std::size_t increment,
                                    MemoryFormat format = MemoryFormat::kUsual);

}  // namespace bento::vol
