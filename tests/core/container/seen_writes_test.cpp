// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Ranks, as threads, on nodes whose file system keeps older bytes, or shows all at once.
#include <map>
#include <utility>

#include <catch2/catch_test_macros.hpp>

#include "core/base/hash.hpp"
#include "core/container/seen_writes.hpp"
#include "tests/support/forwarding_file.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/remote_ranks.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;

/// What was read once is read again as it was then, as from a node's cache.
class CachedFile final : public ForwardingFile {
 public:
  explicit CachedFile(std::unique_ptr<File> file) : ForwardingFile(std::move(file)) {}

  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) override {
    const auto kept = kept_.find(offset);
    if (kept != kept_.end() && kept->second.size() >= into.size()) {
      std::copy_n(kept->second.begin(), into.size(), into.begin());
      return into.size();
    }
    BENTO_ASSIGN(const std::size_t count, below().read_some(offset, into));
    kept_[offset].assign(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }
  Status write_at(std::uint64_t offset, std::span<const std::byte> from) override {
    kept_[offset].assign(from.begin(), from.end());
    return below().write_at(offset, from);
  }

 private:
  std::map<std::uint64_t, std::vector<std::byte>> kept_;
};

std::vector<Status> try_on_nodes(const std::function<FileOpener(int rank)>& opener_of) {
  RemoteRanks remote(2);
  return run_ranks(3, [&](Communicator& threads) -> Status {
    const auto comm = remote.communicator(threads);
    const std::string node = comm->node();
    BENTO_ASSIGN(const RankGroups nodes,
                 RankGroups::make(*comm, hash128(std::as_bytes(std::span(node)))));
    return nodes_see_writes(*comm, nodes, opener_of(comm->rank()), "box");
  });
}

}  // namespace

TEST_CASE("seen writes: a file system that shows all at once is found to", "[core][container]") {
  const MemoryFileSystem disk;
  for (const auto& status : try_on_nodes([&](int) { return disk.opener(); })) require_ok(status);
}

TEST_CASE("seen writes: one node's cache that keeps older bytes is found", "[core][container]") {
  for (const int cached : {0, 1}) {
    CAPTURE(cached);
    const MemoryFileSystem disk;
    const auto results = try_on_nodes([&](int rank) -> FileOpener {
      if (rank != cached) return disk.opener();
      return [&disk](const std::string& path, OpenMode mode) -> Result<std::unique_ptr<File>> {
        BENTO_ASSIGN(auto file, disk.open(path, mode));
        return std::unique_ptr<File>(std::make_unique<CachedFile>(std::move(file)));
      };
    });
    for (const auto& status : results) {
      REQUIRE_FALSE(status);
      CHECK(status.error().code == Code::kUnsupported);
      CHECK(status.error().text.find("not at once what others read") != std::string::npos);
    }
  }
}

TEST_CASE("seen writes: what cannot be tried is not taken for well", "[core][container]") {
  const auto results = try_on_nodes([](int) -> FileOpener {
    return [](const std::string&, OpenMode) -> Result<std::unique_ptr<File>> {
      return fail(Code::kPermission, "no");
    };
  });
  for (const auto& status : results) {
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Code::kUnsupported);
  }
}

}  // namespace bento
