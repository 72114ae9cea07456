// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// One writable open at a time: flock on physical file 0, and beside it a note in the file that
/// says who holds it, for the error that a second writer gets. The lock decides, the note only
/// speaks: it stays behind when its process dies. Source: docs/format.md, "Holder note".
#pragma once

#include <string>

#include "core/base/error.hpp"
#include "core/container/plan.hpp"
#include "core/io/file.hpp"

namespace bento {

/// Locks physical file 0 for writing. Errors: kBusy, naming host and process of the holder where
/// its note can be read.
Status lock_container(File& first);

/// Writes the note: this host and process, and the time. Errors: kIo, kNoSpace.
Status write_holder_note(File& first, const FilePlan& plan);
/// Clears it; called before the lock is given back.
Status clear_holder_note(File& first, const FilePlan& plan);
/// What the note says, empty if there is none.
std::string read_holder_note(File& first);

}  // namespace bento
