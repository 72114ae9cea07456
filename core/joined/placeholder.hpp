// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What stock HDF5 finds in a joined container: an empty HDF5 file at P whose only attribute says
/// what the file is. Without it HDF5 would look on, find the superblock of task 0's stream, take
/// that for the whole, and cut off the rest when it closes. Source: docs/format.md, "Joined
/// containers".
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "core/layout/plan.hpp"

namespace bento {

/// Superblock and header of the root group, to be written at P. `length` is that of the physical
/// file: HDF5 refuses a file that is shorter, and cuts off one that is longer.
std::vector<std::byte> placeholder(std::uint64_t superblock_address, std::uint64_t length);

/// Does the file hold just that? Stock HDF5 may have changed it. Errors: kIo.
Result<bool> has_placeholder(File& file, const FilePlan& plan, std::uint64_t length);

}  // namespace bento
