// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// One writable open at a time: a lock on physical file 0 (core/io/file_lock.hpp), and beside it a
/// note in the file that says who took it, for the error that a second writer gets. The lock
/// decides, the note only speaks: it stays behind when its process dies. Source: docs/format.md,
/// "Holder note".
#pragma once

#include <memory>
#include <string>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "core/io/file_lock.hpp"
#include "core/layout/plan.hpp"

namespace bento {

/// Locks physical file 0 for its only writers, through a descriptor of its own: `first` may be
/// closed before or after. Null where there is nothing to hold (FileLock::take_alone). Errors:
/// those of take_alone(), kBusy naming host and process of the holder where its note can be read.
Result<std::unique_ptr<FileLock>> lock_container(File& first, Locking locking);

/// Writes the note: this host and process, and the time. Errors: kIo, kNoSpace.
Status write_holder_note(File& first, const FilePlan& plan);
/// Clears it; called before the lock is given back.
Status clear_holder_note(File& first, const FilePlan& plan);
/// What the note says, empty if there is none.
std::string read_holder_note(File& first);

}  // namespace bento
