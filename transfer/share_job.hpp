// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the daemon of a node does for a container of which this node has a share: brings it to
/// where the shares come together, and waits until the container has arrived. Source:
/// docs/transfer.md, "Caches on several nodes".
#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "transfer/destination.hpp"
#include "transfer/gate.hpp"
#include "transfer/job.hpp"
#include "transfer/parts_folder.hpp"
#include "transfer/transfer_file.hpp"

namespace bento::transfer {

/// Brings the files of one share, which `entries` are, to their places. `written` of each grows;
/// it reaches its size only when the container has arrived. Errors: those of overlay_copy().
Result<JobEnd> bring_share(std::vector<Entry>& entries, PartsFolder& parts, Gate& gate,
                           const Job::Report& report);

/// If something else will get the name, the share and what was brought of it go. Returns whether
/// that is so. Errors: kIo, kPermission.
Result<bool> drop_if_outdated(const Entry& entry, int folder);

/// Reports what a job waits for, once. Returns kWaits, or kGone if the entries are gone. Errors:
/// those of `report`.
Result<JobEnd> wait_saying(std::vector<Entry>& entries, const std::string& problem,
                           const Job::Report& report);

/// The whole way of a share that is not that of rank 0's node. kWaits: it is there, others are not.
/// kOutdated: nobody wants it any more; it is gone. Errors: as Job::run().
Result<JobEnd> run_share_job(std::vector<Entry>& entries, const AllowedFolders& allowed, Gate& gate,
                             const Job::Report& report);

}  // namespace bento::transfer
