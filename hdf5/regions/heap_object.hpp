// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Objects of HDF5's global heap, read without the library, which has no call for it: its only one
/// (H5VLblob_get) wants to be told the size. Source: HDF5 File Format Specification, III.E.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/error.hpp"

namespace bento::vol {

/// Reads bytes at an address of the HDF5 file.
using ReadAt = std::function<Status(std::uint64_t address, std::span<std::byte> into)>;

/// The bytes of object `index` of the collection at `address`, in a file that ends at `end` and
/// whose sizes have 8 bytes. Errors: kCorrupt (there is no such object), those of `read`.
Result<std::vector<std::byte>> heap_object(const ReadAt& read, std::uint64_t end,
                                           std::uint64_t address, std::uint32_t index);

}  // namespace bento::vol
