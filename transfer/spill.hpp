// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A cache that is full in the middle of a write: what does not fit goes to files beside the final
/// name, `.h5bento-HASH.spill-ID/NAME`, at the same offset, and `NAME.map` lists which bytes those
/// are. When the container is closed, what is in the cache is added there, and the files get their
/// names. Whoever reads or writes the copy meanwhile, on any rank, sees both as one file. Source:
/// docs/transfer.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "transfer/cache_folder.hpp"

namespace bento::transfer {

/// Opens the physical files of this copy as said above, and any other file as `under` does. With
/// `may_spill` a write that the cache has no space for goes beside the final name; the first one of
/// a container says so on stderr.
FileOpener spilling_opener(const std::string& copy, const std::string& final_name, FileOpener under,
                           bool may_spill);

/// What of a physical file lies beside the final name: where each run of bytes begins, and ends.
using SpilledRanges = std::map<std::uint64_t, std::uint64_t>;
/// The same of a physical file of a copy. Errors: kNotFound (it is gone), kIo.
Result<SpilledRanges> spilled_ranges(const std::string& path, const std::string& final_name);

/// Prepares a new copy: a mark that can be set when no space is left, and room for what has to be
/// written then (a transfer file may lie in the cache). Errors: kNoSpace, kIo.
Status prepare_spill(const std::string& copy);
/// Now that has to be written.
void release_room(const std::string& copy);
/// Was something of this copy written beside its final name?
bool has_spilled(const std::string& copy);
/// And is that so that no daemon can bring it, but only finish_spilled()? Shares of several nodes
/// the daemons bring, with all that belongs to them.
bool needs_finish(const std::string& copy);
/// Of a copy that does, and that is closed: brings all of it together, durably, and gives it its
/// name, by one rename, or as WorkFolder does for several files. `tick` is called now and then, and
/// ends it with an error. The copy and its note are then to be removed. Errors: kNoSpace, kBusy (a
/// daemon does not let go of the name), those of `tick`.
Status finish_spilled(const std::string& copy, const std::string& final_name,
                      const std::function<Status()>& tick);
/// Removes what a copy has beside its final name.
void remove_spill(const std::string& copy, const std::string& final_name);

}  // namespace bento::transfer
