// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Files that go into no container: HDF5's own driver sec2 has them, and every call is handed on.
#pragma once

#include <cstdint>
#include <utility>

#include <H5FDdevelop.h>
#include <hdf5.h>

#include "core/base/error.hpp"

namespace bento::vfd {

struct PlainFile {
  H5FD_t* file = nullptr;
  std::pair<std::uint64_t, std::uint64_t> identity;  ///< device and inode
};

/// Opens with sec2 and the locking settings of `fapl`. Errors: kNotFound, kPermission, kExists,
/// kIo, with errno.
Result<PlainFile> open_plain(const char* name, unsigned flags, hid_t fapl, haddr_t max_address);
Status close_plain(H5FD_t* file);
Status delete_plain(const char* name);
bool exists(const char* name);

}  // namespace bento::vfd
