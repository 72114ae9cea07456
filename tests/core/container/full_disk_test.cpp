// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Writes and syncs that fail with ENOSPC or EIO, at each of them, on each subset of three ranks:
/// all ranks get the same error at once, and the program can repeat what failed and go on, or end.
#include <chrono>
#include <mutex>

#include <catch2/catch_test_macros.hpp>

#include "core/offline/recover.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/core/container/crash_support.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;

constexpr int kRanks = 3;
constexpr std::uint64_t kSteps = 3;

/// What the program does when a call has failed.
enum class Then {
  kGoOn,   ///< space is freed; it repeats the writes that failed, and commits
  kEnd,    ///< it ends, without another call
  kClose,  ///< it closes while the fault lasts
};

struct Trouble {
  FaultOn on = FaultOn::kWrite;
  std::uint64_t nth = 1;  ///< of each rank in `ranks`
  unsigned ranks = 1;     ///< a bit for each
  int os_errno = ENOSPC;  ///< ENOSPC lasts, EIO comes once
  Then then = Then::kGoOn;
  bool first = true;  ///< a first session, else one that appends to three steps
  Durability durability = Durability::kProcess;
};

/// What each rank got from the collective calls, in their order.
class Verdicts {
 public:
  void note(int rank, std::string call, const Status& status) {
    const std::scoped_lock lock(mutex_);
    calls_[static_cast<std::size_t>(rank)].push_back({std::move(call), status});
  }

  /// All ranks made the same calls with the same result. Returns whether one failed.
  bool same() const {
    bool any = false;
    for (int rank = 1; rank < kRanks; ++rank) {
      const auto& mine = calls_[static_cast<std::size_t>(rank)];
      REQUIRE(mine.size() == calls_[0].size());
      for (std::size_t i = 0; i < mine.size(); ++i) {
        const auto& [call, status] = mine[i];
        const Status& owners = calls_[0][i].second;
        INFO(call << " on rank " << rank << ": " << text(status)
                  << "; on rank 0: " << text(owners));
        REQUIRE(status.has_value() == owners.has_value());
        if (status) continue;
        any = true;
        REQUIRE(status.error().code == owners.error().code);
        REQUIRE(status.error().os_errno == owners.error().os_errno);
        const bool names_file = status.error().text.find("box") != std::string::npos;
        REQUIRE((names_file || status.error().text.find("'.'") != std::string::npos));
      }
    }
    return any;
  }

 private:
  static std::string text(const Status& status) { return status ? "fine" : status.error().text; }

  std::mutex mutex_;
  std::array<std::vector<std::pair<std::string, Status>>, kRanks> calls_;
};

ContainerOptions options_of(const Trouble& trouble, FileOpener opener) {
  ContainerOptions options = crash_options(std::move(opener));
  options.durability = trouble.durability;
  return options;
}

/// A later write of one rank's fill would hide the rows that others wrote over it; those are all
/// there, so it is not repeated.
std::vector<Op> to_repeat(const std::vector<Op>& failed) {
  std::vector<Op> ops;
  for (const auto& op : failed)
    if (op.variant == 0) ops.push_back(op);
  return ops;
}

Status require(bool condition, std::string_view what) {
  return condition ? Status{} : Status(fail(Code::kInternal, std::string(what)));
}

/// One rank's program. An error is one of the program's expectations that does not hold.
Status run_rank(Communicator& comm, const Trouble& trouble, const FaultFileSystem& faults,
                Life& life, Verdicts& verdicts) {
  const std::shared_ptr<Communicator> shared(&comm, [](Communicator*) {});
  const auto options = options_of(trouble, faults.opener());
  auto made = trouble.first ? Container::create("box", false, options, shared)
                            : Container::open("box", true, options, shared);
  verdicts.note(comm.rank(), "open", made ? Status{} : Status(fail(made.error())));
  if (!made) return {};
  Container& box = **made;
  const std::uint64_t from = box.step().number();
  for (std::uint64_t step = from + 1; step <= from + kSteps; ++step) {
    std::vector<Op> failed;
    carry_out_all(box, step, failed);
    life.attempted = step;
    const bool last = step == from + kSteps;
    Status done = last ? box.close() : box.commit();
    verdicts.note(comm.rank(), last ? "close" : "commit", done);
    if (done) {
      BENTO_TRY(require(failed.empty(), "a write that failed did not fail the commit"));
      life.committed = step;
      continue;
    }
    if (trouble.then == Then::kClose && !last)
      verdicts.note(comm.rank(), "close after an error", box.close());
    if (trouble.then != Then::kGoOn || last) {
      box.abandon();
      return {};
    }
    faults.clear_rules();
    std::vector<Op> again;
    carry_out_writes(box, step, to_repeat(failed), again);
    BENTO_TRY(require(again.empty(), "a write fails though nothing is wrong any more"));
    done = box.commit();
    verdicts.note(comm.rank(), "commit after an error", done);
    // What a failed sync should have kept may be lost: the session commits nothing more.
    if (trouble.on == FaultOn::kSync) {
      BENTO_TRY(require(!done, "a commit after a failed sync succeeded"));
      box.abandon();
      return {};
    }
    BENTO_TRY(std::move(done));
    life.committed = step;
  }
  return {};
}

/// Returns whether any fault was met.
bool meet(const MemoryFileSystem& start, const Trouble& trouble) {
  const MemoryFileSystem disk = copy_of(start);
  std::vector<FaultFileSystem> faults;
  for (int rank = 0; rank < kRanks; ++rank) {
    faults.emplace_back(disk.opener());
    if ((trouble.ranks >> rank & 1u) != 0)
      faults.back().add({.on = trouble.on,
                         .nth = trouble.nth,
                         .forever = trouble.os_errno == ENOSPC,
                         .os_errno = trouble.os_errno});
  }
  Life life;
  const std::uint64_t before = trouble.first ? 0 : kSteps;
  life.committed = before;
  life.attempted = before;
  Verdicts verdicts;
  const auto began = std::chrono::steady_clock::now();
  const auto results = run_ranks(kRanks, [&](Communicator& comm) {
    return run_rank(comm, trouble, faults[static_cast<std::size_t>(comm.rank())], life, verdicts);
  });
  REQUIRE(std::chrono::steady_clock::now() - began < std::chrono::seconds(5));
  INFO((trouble.on == FaultOn::kSync ? "sync " : "write ")
       << trouble.nth << " of the ranks in mask " << trouble.ranks << ", errno " << trouble.os_errno
       << ", then " << static_cast<int>(trouble.then)
       << (trouble.first ? ", first session" : ", later session"));
  // A second slot that cannot be written is nobody's error.
  bool met = verdicts.same();
  for (const auto& fault : faults) met = met || fault.met();
  for (const auto& result : results) {
    INFO((result ? std::string() : result.error().text));
    REQUIRE(result);
  }

  auto box = Container::open("box", false, crash_options(disk.opener()), make_self_communicator());
  if (!box) {
    INFO(box.error().text);
    REQUIRE(trouble.first);
    REQUIRE(life.committed == 0);
    return met;
  }
  // What was reported as committed is there; what was not may have got as far as its root.
  const std::uint64_t found = (*box)->step().number();
  REQUIRE(found >= life.committed);
  REQUIRE(found <= life.attempted);
  if (trouble.then == Then::kGoOn && life.committed == before + kSteps)
    REQUIRE(found == before + kSteps);
  // A program that goes to its close although a write failed gets a step without that write.
  if (trouble.then != Then::kClose || found == life.committed)
    REQUIRE(difference(crash_options(disk.opener()), found) == "");

  // There is space again.
  Life later;
  const Status again =
      live({2, 1, true}, false, [&](int) { return options_of(trouble, disk.opener()); }, later);
  INFO((again ? std::string() : again.error().text));
  REQUIRE(again);
  require_whole(disk, found + 1);
  return met;
}

MemoryFileSystem after_first_session() {
  const MemoryFileSystem disk;
  Life life;
  REQUIRE(
      live({kRanks, kSteps, true}, true, [&](int) { return crash_options(disk.opener()); }, life));
  return disk;
}

void sweep(Trouble trouble, const std::vector<Then>& thens, const std::vector<unsigned>& masks) {
  const MemoryFileSystem disk = trouble.first ? MemoryFileSystem() : after_first_session();
  for (const unsigned mask : masks)
    for (const int os_errno : {ENOSPC, EIO})
      for (const Then then : thens) {
        trouble.ranks = mask;
        trouble.os_errno = os_errno;
        trouble.then = then;
        // One call after the other, until no rank makes so many any more.
        for (trouble.nth = 1; meet(disk, trouble); ++trouble.nth) REQUIRE(trouble.nth < 1000);
        REQUIRE(trouble.nth > (trouble.on == FaultOn::kWrite ? 8 : 3));
      }
}

TEST_CASE("full disk: the owner, another rank, all: the program goes on",
          "[core][container][fulldisk][full]") {
  sweep({}, {Then::kGoOn}, {1, 4, 7});
  sweep({.first = false}, {Then::kGoOn}, {1, 4, 7});
}

TEST_CASE("full disk: any subset of three ranks, the program goes on",
          "[core][container][fulldisk][long]") {
  for (const bool first : {true, false})
    sweep({.first = first}, {Then::kGoOn}, {1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("full disk: any subset of three ranks, the program ends or closes",
          "[core][container][fulldisk][long]") {
  for (const bool first : {true, false})
    sweep({.first = first}, {Then::kEnd, Then::kClose}, {1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("full disk: a sync that fails fails the commit", "[core][container][fulldisk][full]") {
  for (const bool first : {true, false})
    sweep({.on = FaultOn::kSync, .first = first, .durability = Durability::kPower},
          {Then::kGoOn, Then::kEnd, Then::kClose}, {1, 2, 3, 4, 5, 6, 7});
}

}  // namespace
}  // namespace bento
