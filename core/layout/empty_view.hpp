// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// An empty HDF5 file at P, between superblock and identity: what stock HDF5 finds before there is
/// a native view. Its only attribute says what the file is. Source: HDF5 File Format Specification
/// 3.0; docs/format.md, "Native view" and "Joined containers".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace bento {

/// Superblock and header of the root group, to be written at P. `length` is that of the physical
/// file: HDF5 refuses a file that is shorter, and cuts off one that is longer when it writes.
std::vector<std::byte> empty_view(std::uint64_t superblock_address, std::uint64_t length,
                                  std::string_view text);

}  // namespace bento
