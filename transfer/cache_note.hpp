// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The note beside a final name, `.h5bento-HASH.cache`: the newest state of this file lies in a
/// cache and has not arrived. It comes with the first commit in the cache, is looked for by whoever
/// opens the file through h5bento, on any node, and goes when that state lies under the final name.
/// A KVTree file that is replaced by a rename. Source: docs/transfer.md.
#pragma once

#include <optional>
#include <string>

#include "core/base/error.hpp"

namespace bento::transfer {

struct CacheNote {
  std::string copy;           ///< absolute name of the container in the cache
  std::string id;             ///< of that copy: what the file `id` beside it says
  std::string host;           ///< the node that wrote it
  std::string transfer_file;  ///< of that node's daemon
  bool evict = true;          ///< the copy is removed when it has arrived
  std::string arrive;         ///< as what, the name of an Arrive; empty: as a container
  /// What lay under the final name when the note was written, as stamp_of() says it; nothing if the
  /// note does not say.
  std::optional<std::string> before;
  std::string file;     ///< the final name that it was written for
  bool copied = false;  ///< it lies in a copy of the folder that it was written in
};

/// The name of this node, as a note says it.
std::string this_host();
/// Is the copy that it names on this node, and still that one?
bool is_here(const CacheNote& note);

/// The absolute name of a file as the kernel would find it: symbolic links resolved, also the last,
/// which need lead nowhere yet. Errors: kNotFound (its folder), kPermission, kInvalidArgument (no
/// name of a file), kIo.
Result<std::string> final_name_of(const std::string& name);
/// Where the note for this final name is.
std::string note_name(const std::string& final_name);

/// Nothing if there is none. Errors: kCorrupt, kPermission, kIo.
Result<std::optional<CacheNote>> read_note(const std::string& final_name);
/// Writes it, durably, in the place of an older one, with what lies under the name and in which
/// folder. Errors: kPermission, kNoSpace, kIo.
Status write_note(const std::string& final_name, const CacheNote& note);
/// Removes it if it is about this copy. Errors: as read_note().
Status remove_note(const std::string& final_name, const std::string& copy);

}  // namespace bento::transfer
