// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Whether what one node writes to files of a folder is at once what others read there. File
/// systems over a network may keep older bytes on each node for seconds (NFS).
#pragma once

#include <string>

#include "core/base/error.hpp"
#include "core/comm/communicator.hpp"
#include "core/comm/rank_groups.hpp"
#include "core/io/file.hpp"

namespace bento {

/// Tries it: the first rank of each node writes to a file beside `path`, which all of them have
/// open and have read before, and reads what node 0 and the next node wrote. Rank 0 makes the file
/// and removes it. Collective; four messages up and down a tree. Errors, equal on all ranks:
/// kUnsupported (it is not so, or cannot be tried), kPeer.
Status nodes_see_writes(Communicator& ranks, const RankGroups& nodes, const FileOpener& opener,
                        const std::string& path);

}  // namespace bento
