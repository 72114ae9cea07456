// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What is mounted where, and taking it away.
#pragma once

#include <cstddef>
#include <string>

#include "core/base/error.hpp"

namespace bento::tools {

/// Is something mounted there? From /proc/self/mountinfo; the type of the file system, empty if
/// nothing is.
std::string mounted_type(const std::string& folder);
inline constexpr const char* kMountType = "fuse.h5bento";

/// Lets the kernel read so many bytes of a mount of ours ahead of who reads in order, where it
/// allows us to: it asks root, and never goes beyond 128 KiB by itself.
void read_ahead(const std::string& folder, std::size_t bytes);

/// Takes a mount of ours away. Errors: kNotFound (nothing of ours is there), kBusy (files are
/// open), kPermission, kIo.
Status unmount(const std::string& folder);

}  // namespace bento::tools
