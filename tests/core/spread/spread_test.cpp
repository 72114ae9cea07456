// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "core/comm/rank_groups.hpp"
#include "core/offline/verify_streams.hpp"
#include "core/spread/spread_communicator.hpp"
#include "core/spread/spread_files.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/thread_comm.hpp"

using namespace bento;
using namespace bento::test;
namespace fs = std::filesystem;

namespace {

constexpr int kRanks = 6;

Hash128 key_of(int number) {
  const std::array<std::byte, 1> byte{static_cast<std::byte>(number)};
  return hash128(byte);
}

/// One rank's program: a new container in the folders node-0, node-1, ..., with three steps.
Status write_spread(Communicator& comm, const Scratch& scratch, std::span<const int> node_of,
                    std::uint32_t files) {
  // The communicator belongs to the caller, who outlives this.
  const std::shared_ptr<Communicator> under(&comm, [](Communicator*) {});
  const auto rank = static_cast<std::size_t>(comm.rank());
  BENTO_ASSIGN(const RankGroups nodes, RankGroups::make(comm, key_of(node_of[rank])));
  SpreadPlace place;
  place.node = nodes.group_of(static_cast<std::uint32_t>(rank));
  place.owner = rank == 0;
  place.leads = nodes.leader_of(place.node) == rank;
  place.folder = scratch / ("node-" + std::to_string(place.node));
  const auto spread = std::make_shared<SpreadFiles>(place, open_posix_file);
  ContainerOptions options = small_options(spread->common_opener());
  options.files = files;
  options.spread = ContainerOptions::Spread{spread->stream_opener(),
                                            [&nodes, place](std::uint32_t other) -> Status {
                                              if (nodes.group_of(other) == place.node) return {};
                                              return fail(Code::kNotFound, "on another node");
                                            }};
  BENTO_ASSIGN(auto container,
               Container::create(place.folder + "/box.h5", false, options,
                                 std::make_shared<SpreadCommunicator>(under, spread)));
  const DatasetNumber dataset = container->declare({}, 8, 2, 0);
  for (std::uint64_t step = 1; step <= 3; ++step) {
    BENTO_TRY(write_step(*container, dataset, step));
    BENTO_TRY(container->commit());
    // This rank's own are read as of the commit, through the index that rank 0 has written.
    const Box mine = rows_of(comm.rank(), comm.size());
    BENTO_ASSIGN(const RecordLookup found, container->find(dataset, mine));
    std::vector<std::uint64_t> values(mine.elements(), 0);
    for (const auto& piece : found.pieces)
      BENTO_TRY(container->read(found.records[piece.record], piece.part, 8, mine,
                                reinterpret_cast<std::byte*>(values.data())));
    if (values != band_values(mine, step)) return fail(Code::kInternal, "other values");
    if (const auto all = read_all(*container, dataset); all.has_value() == (nodes.count() > 1))
      return fail(Code::kInternal, all ? "what is on another node was read" : all.error().text);
  }
  return container->close();
}

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Lays the files of all nodes over each other. No byte may be in two of them.
void bring_together(const Scratch& scratch, int nodes) {
  fs::create_directory(scratch / "whole");
  std::map<std::string, std::string> whole;
  for (int node = 0; node < nodes; ++node)
    for (const auto& one : fs::directory_iterator(scratch / ("node-" + std::to_string(node)))) {
      if (one.path().extension() == ".common") continue;
      std::string& all = whole[one.path().filename().string()];
      const std::string here = content(one.path());
      all.resize(std::max(all.size(), here.size()));
      for (std::size_t i = 0; i < here.size(); ++i) {
        if (here[i] == 0) continue;
        REQUIRE((all[i] == 0 || all[i] == here[i]));
        all[i] = here[i];
      }
    }
  for (const auto& [name, bytes] : whole)
    std::ofstream(scratch / ("whole/" + name), std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("groups of ranks: equal keys, numbered by their lowest ranks", "[core][comm]") {
  const std::array<int, kRanks> keys{5, 3, 3, 5, 9, 3};
  const auto done = run_ranks(kRanks, [&](Communicator& comm) -> Status {
    BENTO_ASSIGN(const RankGroups groups,
                 RankGroups::make(comm, key_of(keys[static_cast<std::size_t>(comm.rank())])));
    if (groups.count() != 3) return fail(Code::kInternal, "count");
    const std::array<std::uint32_t, kRanks> expected{0, 1, 1, 0, 2, 1};
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      if (groups.group_of(rank) != expected[rank]) return fail(Code::kInternal, "group");
    const bool leaders =
        groups.leader_of(0) == 0 && groups.leader_of(1) == 1 && groups.leader_of(2) == 4;
    return leaders ? Status{} : Status(fail(Code::kInternal, "leader"));
  });
  for (const auto& status : done) require_ok(status);
}

TEST_CASE("spread: the files of all nodes, laid over each other, are the container",
          "[core][spread]") {
  const auto files = GENERATE(1U, 2U, 3U);
  const auto node_of =
      GENERATE(std::array<int, kRanks>{0, 0, 0, 0, 0, 0}, std::array<int, kRanks>{0, 0, 0, 1, 1, 1},
               std::array<int, kRanks>{0, 1, 2, 0, 1, 2});
  const int nodes = *std::ranges::max_element(node_of) + 1;
  const Scratch scratch;
  for (int node = 0; node < nodes; ++node)
    fs::create_directory(scratch / ("node-" + std::to_string(node)));
  for (const auto& status : run_ranks(
           kRanks, [&](Communicator& comm) { return write_spread(comm, scratch, node_of, files); }))
    require_ok(status);

  bring_together(scratch, nodes);
  // What tells a node that its share is complete.
  for (int node = 1; node < nodes; ++node) {
    const std::string common = scratch / ("node-" + std::to_string(node) + "/box.h5.common");
    const auto seen = must(probe(*must(open_posix_file(common, OpenMode::kRead))));
    CHECK((seen.root.step == 3 && (seen.root.flags & kRootClosed) != 0));
  }
  const std::string path = scratch / "whole/box.h5";
  const auto verdict = must(verify_streams(path, open_posix_file));
  CHECK(verdict.sound());
  auto container =
      must(Container::open(path, false, small_options(open_posix_file), make_self_communicator()));
  CHECK(container->step().number() == 3);
  CHECK(must(read_all(*container, 0)) == whole_values(3));
  CHECK(skeleton_is(*container, 3));
}

TEST_CASE("spread: a node that cannot keep what rank 0 writes is everybody's error",
          "[core][spread]") {
  const std::array<int, kRanks> node_of{0, 0, 0, 1, 1, 1};
  const Scratch scratch;
  fs::create_directory(scratch / "node-0");  // and no node-1
  const auto done = run_ranks(
      kRanks, [&](Communicator& comm) { return write_spread(comm, scratch, node_of, 1); });
  for (const auto& status : done) {
    REQUIRE_FALSE(status);
    CHECK_THAT(status.error().text, Catch::Matchers::ContainsSubstring("node-1"));
  }
}
