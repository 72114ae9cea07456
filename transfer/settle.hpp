// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the daemon does with a copy in a cache that gets its final name. Source: docs/transfer.md.
#pragma once

#include <optional>

#include "core/base/error.hpp"
#include "transfer/cache_folder.hpp"
#include "transfer/transfer_file.hpp"

namespace bento::transfer {

/// Of the daemon: is this copy still what shall get the name, and lies nothing under it that was
/// put there since the note was written? Nobody else changes the former while the folder is held.
/// Errors: kExists, if not.
Result<std::optional<CacheFolder>> hold_wanted(const Entry& master);
/// Of the daemon: a copy lies under its final name. Its note goes, and it is evicted, unless a
/// program has written to it since.
Status settle_copy(const Entry& master);
/// Of the daemon: an older state of a copy got the name though a newer one had been submitted. That
/// one replaces what lies there now.
Status renew_note(const Entry& master);

}  // namespace bento::transfer
