// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Ordinary files that the native library reaches from a container by name (external links, virtual
/// sources). The library opens them with the skeleton driver, which hands every call on to a file
/// opened here with sec2.
#pragma once

#include <hdf5.h>

#include "hdf5/skeleton/host.hpp"

namespace bento::vol {

/// An open sec2 file; the caller closes it with close_plain.
struct PlainFile {
  H5FD_t* file = nullptr;
  FileIdentity identity;
};

enum class PlainLock {
  kShared,
  kExclusive,
  kHeldAlready,  ///< by another handle of this process
};

/// Opens an ordinary file with sec2 and, if `fapl` wants locks, takes this one.
/// Errors: what sec2 puts on the error stack, plus one of kNotFound, kPermission, kIo; kBusy
/// (locked).
Result<PlainFile> open_plain(const char* name, unsigned h5f_flags, hid_t fapl, haddr_t max_address,
                             PlainLock lock);
/// The error stack is left as it was: files are closed while the library unwinds from a failure.
Status close_plain(H5FD_t* file);
Status delete_plain(const char* name);

/// Device and inode behind a name; zeros if there is nothing.
FileIdentity identity_of_name(const char* name);
/// Does a file begin as a SION container, or as an HDF5 file without a user block, which is no
/// container for certain? Reads eight bytes.
bool starts_like_sion(const char* name);
bool starts_like_hdf5(const char* name);

}  // namespace bento::vol
