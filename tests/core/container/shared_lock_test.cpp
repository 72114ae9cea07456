// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/shared_lock.hpp"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "core/container/container.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using Catch::Matchers::ContainsSubstring;

/// Ranks of one process that believe to be on so many nodes.
class PretendNodes {
 public:
  explicit PretendNodes(int nodes) {
    ::setenv("H5BENTO_TEST_NODES", std::to_string(nodes).c_str(), 1);
  }
  ~PretendNodes() { ::unsetenv("H5BENTO_TEST_NODES"); }
  PretendNodes(const PretendNodes&) = delete;
  PretendNodes& operator=(const PretendNodes&) = delete;
};

std::unique_ptr<File> opened(const std::string& path) {
  auto file = open_posix_file(path, OpenMode::kReadWrite);
  REQUIRE(file);
  return std::move(*file);
}

/// What each rank of a group of 4 ends up with.
struct Ending {
  std::mutex mutex;
  std::map<int, std::unique_ptr<FileLock>> locks;
  std::string warning;
};

std::vector<Status> share(const std::function<std::string(int rank)>& path_of,
                          const std::function<Hash128(int rank)>& session_of, Ending& ending) {
  return test::run_ranks(4, [&](Communicator& comm) -> Status {
    BENTO_ASSIGN(const auto file, open_posix_file(path_of(comm.rank()), OpenMode::kReadWrite));
    std::unique_ptr<FileLock> lock;
    if (comm.rank() == 0) {
      BENTO_ASSIGN(lock, FileLock::take_alone(*file, Locking::kRequired));
    }
    LockSharing sharing;
    sharing.locking = Locking::kRequired;
    sharing.first = [&] { return Result<File*>(file.get()); };
    sharing.session = [&](File&) { return Result<Hash128>(session_of(comm.rank())); };
    const std::string node = comm.node();
    BENTO_ASSIGN(const OwnGroup own, find_own_group(comm, hash128(std::as_bytes(std::span(node)))));
    auto shared = share_lock(comm, own, {}, sharing, lock);
    const std::scoped_lock hold(ending.mutex);
    if (!shared) {
      CHECK_FALSE(lock);
      return fail(std::move(shared).error());
    }
    if (!shared->empty()) ending.warning += *shared;
    ending.locks[comm.rank()] = std::move(lock);
    return {};
  });
}

Hash128 same_session(int) {
  return Hash128{std::byte{1}};
}

TEST_CASE("shared lock: it lasts as long as the last of all ranks, on any number of nodes",
          "[core][container]") {
  const test::Scratch scratch;
  const std::string path = scratch / "a";
  REQUIRE(open_posix_file(path, OpenMode::kCreate));
  const auto other = opened(path);
  for (const int nodes : {1, 2, 3, 4}) {
    const PretendNodes pretend(nodes);
    for (int last = 0; last < 4; ++last) {
      Ending ending;
      for (const auto& status : share([&](int) { return path; }, same_session, ending))
        REQUIRE(status);
      REQUIRE(ending.locks.size() == 4);
      CHECK(ending.warning.empty());
      for (int rank = 0; rank < 4; ++rank)
        if (rank != last) ending.locks.erase(rank);
      CHECK(is_locked(*other));
      ending.locks.clear();
      CHECK_FALSE(is_locked(*other));
    }
  }
}

TEST_CASE("shared lock: a rank that finds another session's file stops all of them",
          "[core][container]") {
  const test::Scratch scratch;
  const std::string path = scratch / "a";
  REQUIRE(open_posix_file(path, OpenMode::kCreate));
  const PretendNodes pretend(2);
  Ending ending;
  const auto results = share([&](int) { return path; },
                             [](int rank) { return Hash128{std::byte{rank == 1}}; }, ending);
  for (const auto& status : results) {
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Code::kBusy);
    CHECK_THAT(status.error().text,
               ContainsSubstring("rank 1") && ContainsSubstring("not the one"));
  }
  CHECK_FALSE(is_locked(*opened(path)));
}

TEST_CASE("shared lock: locks that are local to each node are noticed", "[core][container]") {
  const test::Scratch scratch;
  const std::string path = scratch / "a";
  REQUIRE(open_posix_file(path, OpenMode::kCreate));
  std::filesystem::copy_file(path, path + ".1");
  const PretendNodes pretend(2);
  Ending ending;
  const auto path_of = [&](int rank) { return rank % 2 == 0 ? path : path + ".1"; };
  for (const auto& status : share(path_of, same_session, ending)) CHECK(status);
  CHECK_THAT(ending.warning, ContainsSubstring("1 of 1 locks on other nodes") &&
                                 ContainsSubstring("local to each node"));
}

TEST_CASE("shared lock: containers of several ranks hold it until the last is gone",
          "[core][container]") {
  const test::Scratch scratch;
  const std::string path = scratch / "box";
  const auto second = [&] {
    const auto opened = Container::open(path, true, {}, make_self_communicator());
    return opened ? Code::kInternal : opened.error().code;
  };
  std::mutex mutex;
  std::map<int, std::unique_ptr<Container>> held;
  test::ThreadGroup group(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      auto made = Container::create(path, false, {}, group.communicator(rank));
      const bool well = made && (*made)->commit();
      const std::scoped_lock hold(mutex);
      if (well) held[rank] = std::move(*made);
    });
  for (auto& thread : threads) thread.join();
  REQUIRE(held.size() == 3);
  CHECK(second() == Code::kBusy);
  held.erase(0);
  CHECK(second() == Code::kBusy);
  held.erase(2);
  CHECK(second() == Code::kBusy);
  held.clear();
  CHECK(second() == Code::kInternal);  // let in
}

/// A rank that hears of everything later than rank 0.
class LateCommunicator final : public Communicator {
 public:
  explicit LateCommunicator(std::unique_ptr<Communicator> under) : under_(std::move(under)) {}
  [[nodiscard]] int rank() const override { return under_->rank(); }
  [[nodiscard]] int size() const override { return under_->size(); }
  Result<std::vector<Bytes>> gather(std::span<const std::byte> payload) override {
    return under_->gather(payload);
  }
  Result<Bytes> combine(std::span<const std::byte> payload, const Merge& merge) override {
    return under_->combine(payload, merge);
  }
  Result<Bytes> broadcast(std::span<const std::byte> payload) override {
    auto heard = under_->broadcast(payload);
    if (rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return heard;
  }
  Result<Bytes> shift(int distance, std::span<const std::byte> payload) override {
    return under_->shift(distance, payload);
  }

  int late = 0;

 private:
  std::unique_ptr<Communicator> under_;
};

TEST_CASE("shared lock: no rank holds it any more when one returns from the close",
          "[core][container]") {
  const test::Scratch scratch;
  const std::string path = scratch / "box";
  for (int late = 0; late < 3; ++late) {
    test::ThreadGroup group(3);
    std::vector<std::thread> threads;
    std::vector<Code> found(3, Code::kInternal);
    std::mutex mutex;
    for (int rank = 0; rank < 3; ++rank)
      threads.emplace_back([&, rank] {
        auto comm = std::make_shared<LateCommunicator>(group.communicator(rank));
        comm->late = late;
        auto made = Container::create(path, false, {}, comm);
        if (!made || !(*made)->close()) return;
        // One after the other: these would be in each other's way.
        const std::scoped_lock hold(mutex);
        auto alone = Container::open(path, true, {}, make_self_communicator());
        found[static_cast<std::size_t>(rank)] = alone ? Code::kNotFound : alone.error().code;
      });
    for (auto& thread : threads) thread.join();
    for (const Code code : found) CHECK(code == Code::kNotFound);  // let in
  }
}

}  // namespace
}  // namespace bento
