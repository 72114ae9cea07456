// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/spread_cache.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/comm/agree.hpp"
#include "core/spread/spread_communicator.hpp"
#include "transfer/cached_copy.hpp"
#include "transfer/spill.hpp"
#include "transfer/submit.hpp"

namespace bento::vol {

namespace {

/// What is free in a cache that is not called full: less would not hold the smallest share.
constexpr std::uint64_t kRoom = 256u << 10;

Hash128 hash_of(const std::string& text) {
  return hash128(std::as_bytes(std::span(text)));
}

/// Equal on ranks that find the same folder.
std::string place_of(const std::string& cache) {
  struct stat about{};
  if (cache.empty()) return {};
  if (::stat(cache.c_str(), &about) != 0 && errno == ENOENT) (void)::mkdir(cache.c_str(), 0777);
  if (::stat(cache.c_str(), &about) != 0) return "none";
  return fmt::format("{}:{}", about.st_dev, about.st_ino);
}

Status check_settings(const Config& config) {
  if (!config.view_commits) return {};
  return fail(Code::kUnsupported,
              fmt::format("cache={} is another folder on each node: view=commit is not possible "
                          "then, because no node has the whole file before it has arrived",
                          config.cache));
}

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

/// Where this rank's node has its share, and that it has.
Result<std::string> find_share(const BegunCopy& begun, bool seen, const Config& config,
                               const Communicator& comm) {
  if (seen) return begun.path;
  std::string path = transfer::copy_with_id(config.cache, begun.final_name, begun.id);
  if (path.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("cache={}: on node '{}' there is no share of '{}', which another rank "
                            "of that node has begun",
                            config.cache, comm.node(), begun.final_name));
  return path;
}

}  // namespace

Hash128 node_key(const Communicator& comm, const std::string& cache) {
  return hash_of(fmt::format("{} {}", comm.node(), place_of(cache)));
}

Status spread_over_nodes(const BegunCopy& begun, bool seen, const Config& config,
                         Communicator& comm, CachePlace& place) {
  const auto rank = static_cast<std::uint32_t>(comm.rank());
  // A folder that several nodes see is that of rank 0 for all who see it.
  BENTO_ASSIGN(RankGroups nodes,
               RankGroups::make(comm, seen ? hash_of("rank 0") : node_key(comm, config.cache)));
  const std::uint32_t node = nodes.group_of(rank);
  const bool leads = nodes.leader_of(node) == rank;
  const auto begin = [&]() -> Status {
    BENTO_TRY(check_settings(config));
    const transfer::Share share{
        node, nodes.count(), {config.view, config.view_maps, config.view_copy}};
    if (!leads) return {};
    if (node == 0) return transfer::set_share(begun.path, share);
    if (config.flush != Flush::kOff)
      if (auto program = transfer::find_program(); !program) return fail(program.error());
    BENTO_ASSIGN(auto copy,
                 transfer::begin_share(config.cache, begun.final_name, begun.id, kRoom, share));
    // What has the name on this node is asked for its identity, even if no stream lies in it.
    const auto made = open_posix_file(copy.path, OpenMode::kCreateExclusive);
    place.held = std::make_shared<transfer::CachedCopy>(std::move(copy));
    return made ? Status{} : Status(fail(made.error()));
  };
  BENTO_TRY(agree(comm, begin()));
  auto path = find_share(begun, seen, config, comm);
  BENTO_TRY(agree(comm, path ? Status{} : Status(fail(path.error()))));
  SpreadPlace mine;
  mine.folder = folder_of(*path);
  mine.node = node;
  mine.owner = rank == 0;
  mine.leads = leads;
  mine.survives_power = config.power;
  auto spread = std::make_shared<SpreadCache>();
  spread->nodes = std::move(nodes);
  // Only now does each rank's node know which share it has.
  spread->files = std::make_shared<SpreadFiles>(
      std::move(mine), transfer::spilling_opener(*path, begun.final_name, open_posix_file,
                                                 !config.cache_full_fails));
  place.cached = CachedFile{std::move(*path), begun.final_name, std::move(spread)};
  return {};
}

void use_spread(ContainerOptions& options, const std::shared_ptr<SpreadCache>& spread) {
  options.opener = spread->files->common_opener();
  ContainerOptions::Spread how;
  how.stream_opener = spread->files->stream_opener();
  how.stream_is_here = [spread](std::uint32_t rank) -> Status {
    const std::uint32_t node = spread->nodes.group_of(rank);
    if (node == spread->files->place().node) return {};
    return fail(Code::kNotFound,
                fmt::format("data that rank {} has written is in the cache of another node, and "
                            "can be read here only when the file was closed and has arrived (or "
                            "write without cache=) (errno = {})",
                            rank, ENOENT),
                ENOENT);
  };
  options.spread = std::move(how);
}

std::shared_ptr<Communicator> spread_communicator(const std::shared_ptr<SpreadCache>& spread,
                                                  const std::shared_ptr<Communicator>& comm) {
  return std::make_shared<SpreadCommunicator>(comm, spread->files);
}

}  // namespace bento::vol
