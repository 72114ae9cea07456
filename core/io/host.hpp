// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the operating system knows about an open file beyond its bytes: identity, block size. Files
/// without a descriptor (tests) get neutral answers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/io/file.hpp"

namespace bento {

/// Device and inode.
Result<std::pair<std::uint64_t, std::uint64_t>> file_identity(const File& file);

/// Does the name lead to this open file? False where there is none.
bool leads_to(const std::string& name, int descriptor);
/// Does the name lead to the file with this file_identity()? Errors: kBusy, if it does not any
/// more.
Status check_not_replaced(const std::string& name,
                          const std::pair<std::uint64_t, std::uint64_t>& identity);
/// Do both names lead to one file? False where there is none, for both.
bool lead_to_one_file(const std::string& one, const std::string& other);

/// The file system's preferred block, a power of two, at least 4096.
std::uint32_t file_system_block(const File& file);

/// Does this file system show other nodes what was written only after a sync or a close (NFS and
/// its like)?
bool shows_writes_late(const File& file);

/// Removes a name. Errors: kNotFound, kPermission, kIo.
Status remove_file(const std::string& path);

/// 16 random bytes for a file id.
std::array<std::byte, 16> random_id();

}  // namespace bento
