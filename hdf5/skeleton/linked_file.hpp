// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What may be done to an ordinary file behind a link of a container. A program of one rank changes
/// it as natively. The ranks of a parallel program each have it open by themselves, and may only
/// read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/skeleton/open_files.hpp"
#include "hdf5/skeleton/plain_file.hpp"

namespace bento::vol {

/// The lock that a file of this name needs when a link of `parent` opens it.
PlainLock linked_lock(const char* name, unsigned flags, const SkeletonHost& parent);

/// H5FDwrite to the file, or nothing but a note where several ranks have it open.
herr_t write_linked(SkeletonFile& me, H5FD_mem_t type, hid_t dxpl, haddr_t address, size_t size,
                    const void* buffer);

/// Writes to ordinary files behind links that were dropped in this process, because other ranks
/// have the file open beside it.
struct RefusedWrites {
  std::uint64_t count = 0;
  std::string last;  ///< why
};
const RefusedWrites& refused_writes();
/// Is the open native file with this file number an ordinary one behind a link of a parallel
/// program? Then the change that the program is about to make is refused: kPermission, and the next
/// flush or close of the container fails, too.
Status refuse_plain_change(unsigned long fileno);
/// Is that an ordinary file of which no change is written?
bool refuses_plain_changes(unsigned long fileno);
/// Is any ordinary file open behind a link?
bool any_plain_file();

}  // namespace bento::vol
