// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The system calls below our file locks: ranges of bytes, locked by open file description
/// (F_OFD_SETLK), and flock. None of them waits, and one that a signal has interrupted is called
/// again: that says nothing about the lock. Network file systems let a signal through.
#pragma once

#include <cstdint>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "core/io/private_descriptor.hpp"

namespace bento {

/// `kind` is F_RDLCK, F_WRLCK or F_UNLCK. Returns 0 or an errno.
int set_range_lock(int descriptor, short kind, std::int64_t at, std::int64_t bytes);
/// Sets `held` to whether an exclusive lock would be refused. Returns 0 or an errno.
int ask_range_lock(int descriptor, std::int64_t at, std::int64_t bytes, bool& held);
/// `kind` is LOCK_SH, LOCK_EX or LOCK_UN. Returns 0 or an errno.
int set_flock(int descriptor, int kind);
/// Does this errno of a try say that somebody else has the lock?
bool says_held(int os_errno);

/// Opens the very file that `file` has open once more, whatever its name leads to by now; else by
/// name, and compared. `flags` as open() takes them, O_CLOEXEC and O_NOCTTY are added. Errors:
/// kBusy (it was replaced), kPermission, kIo.
Result<PrivateDescriptor> open_again(const File& file, int flags);

}  // namespace bento
