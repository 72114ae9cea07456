// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A cache that is another folder on each node: the new container is spread over them, and each
/// node has a share. Source: docs/transfer.md, "Caches on several nodes".
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/error.hpp"
#include "core/comm/communicator.hpp"
#include "core/comm/rank_groups.hpp"
#include "core/config/config.hpp"
#include "core/container/container_options.hpp"
#include "core/spread/spread_files.hpp"
#include "vol/file/cached_file.hpp"

namespace bento::vol {

/// What all ranks know of such a container, and this rank's part of it.
struct SpreadCache {
  RankGroups nodes;  ///< which ranks share a folder
  std::shared_ptr<SpreadFiles> files;
};

/// Equal on ranks that are on one node, and see one folder under the name `cache` there; empty: no
/// cache. The folder is made if only its last part is missing. Task-local.
Hash128 node_key(const Communicator& comm, const std::string& cache);

/// What rank 0 has begun in the cache of its node.
struct BegunCopy {
  std::string path;
  std::string final_name;
  std::string id;
  bool held = false;  ///< on rank 0
};

/// Gives each node its share of a container of which rank 0 has begun the first, where `seen` says
/// whether this rank sees that one. The lowest rank of each further node holds its folder
/// afterwards. Collective. Errors, equal on all ranks: kUnsupported (settings that need one folder
/// for all ranks), kInvalidArgument (a folder that some nodes share), kNoSpace, kPermission, kIo.
Status spread_over_nodes(const BegunCopy& begun, bool seen, const Config& config,
                         Communicator& comm, CachePlace& place);

/// Opens the physical files of such a container as SpreadFiles does.
void use_spread(ContainerOptions& options, const std::shared_ptr<SpreadCache>& spread);
/// What its ranks talk over.
std::shared_ptr<Communicator> spread_communicator(const std::shared_ptr<SpreadCache>& spread,
                                                  const std::shared_ptr<Communicator>& comm);

}  // namespace bento::vol
