// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Ranks, as threads, on different nodes: what a read fetches, what a write puts, and what may come
/// between.
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "core/base/hash.hpp"
#include "core/board/node_table.hpp"
#include "core/board/remote_nodes.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/remote_ranks.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;

constexpr std::uint64_t kRow = 512;  // elements of 8 bytes
constexpr std::uint64_t kRowsThatFill = 40;
constexpr std::size_t kHeadBytes = 64;

Status barrier(Communicator& comm) {
  BENTO_ASSIGN(const auto all, comm.gather({}));
  BENTO_ASSIGN(const auto answer, comm.broadcast({}));
  return {};
}

ContainerOptions options_of(const MemoryFileSystem& disk, std::uint64_t buffer_bytes) {
  ContainerOptions options = small_options(disk.opener());
  options.chunk_bytes = 1u << 20;
  options.stream.buffer_bytes = buffer_bytes;
  options.share_uncommitted = true;
  options.must_share = true;
  return options;
}

Status write_row(Container& container, std::uint64_t at, std::uint64_t value) {
  const std::vector<std::uint64_t> values(kRow, value);
  const Box row{Dims{at, 0}, Dims{1, kRow}};
  return container.write(0, row, 8, bytes_of(values));
}

Result<std::uint64_t> read_row(Container& container, std::uint64_t at) {
  const Box row{Dims{at, 0}, Dims{1, kRow}};
  std::vector<std::uint64_t> values(kRow, 0);
  BENTO_ASSIGN(const RecordLookup lookup, container.find(0, row));
  for (const auto& piece : lookup.pieces)
    BENTO_TRY(container.read(lookup.records[piece.record], piece.part, 8, row,
                             reinterpret_cast<std::byte*>(values.data())));
  for (const std::uint64_t value : values)
    if (value != values[0]) return fail(Code::kInternal, "a row of several values");
  return values[0];
}

/// What one rank reads, and what the other one writes meanwhile: in order, as the test says when.
/// The table of nodes is in rank 0's memory, so that it matters which of the two that is.
struct Play {
  explicit Play(int reading_rank = 0) : reading(reading_rank) {}

  MemoryFileSystem disk;
  RemoteRanks remote{2};
  int reading;
  std::uint64_t buffer_bytes = 64u << 10;
  std::uint64_t declared = 1u << 20;  ///< little: all gathers in memory until a commit
  /// Nobody has made a call of all since the open: others cannot be behind with one.
  bool all_are_here = false;
  std::atomic<bool> watched{false};
  std::atomic<int> turn{0};

  void await(int number) const {
    while (turn.load() < number) std::this_thread::yield();
  }

  void run(const std::function<Status(Container&)>& reader,
           const std::function<Status(Container&)>& writer) {
    const auto results = run_ranks(2, [&](Communicator& threads) -> Status {
      const std::shared_ptr<Communicator> comm = remote.communicator(threads);
      BENTO_ASSIGN(auto container,
                   Container::create("box", false, options_of(disk, buffer_bytes), comm));
      if (!all_are_here) container->note_collective("create", {});
      (void)container->declare({}, 8, 2, 0);
      container->declared(declared);
      const bool reads = comm->rank() == reading;
      if (!reads) {
        BENTO_TRY(write_row(*container, 0, 5));
        BENTO_TRY(container->publish());
      }
      BENTO_TRY(barrier(*comm));
      Status played = reads ? reader(*container) : writer(*container);
      if (reads || !played) turn = 100;  // nobody waits for who has failed
      BENTO_TRY(std::move(played));
      BENTO_TRY(barrier(*comm));
      return container->close();
    });
    for (const auto& status : results)
      if (!status && status.error().code != Code::kPeer) require_ok(status);
    for (const auto& status : results) require_ok(status);
  }
};

Status expect(Container& container, std::uint64_t at, std::uint64_t value) {
  BENTO_ASSIGN(const std::uint64_t found, read_row(container, at));
  return found == value ? Status{} : Status(fail(Code::kInternal, "another value"));
}

}  // namespace

// On rank 0's node the table is memory like any other.
TEST_CASE("board: a read with nothing new costs one fetch of 16 bytes a node", "[core][board]") {
  const int reading = GENERATE(0, 1);
  CAPTURE(reading);
  Play play(reading);
  std::vector<std::size_t> fetched;
  play.remote.before_fetch([&](int rank, std::span<const RemotePart> parts) -> Status {
    if (rank == reading && play.watched)
      for (const RemotePart& part : parts) fetched.push_back(part.into.size());
    return {};
  });
  play.run(
      [&](Container& container) -> Status {
        BENTO_TRY(expect(container, 0, 5));
        play.watched = true;
        Status found = expect(container, 7, 0);
        play.watched = false;
        return found;
      },
      [](Container&) -> Status { return {}; });
  std::vector<std::size_t> wanted;
  if (reading != 0) wanted.push_back(2 * sizeof(NodeEntry));
  CHECK(fetched == wanted);
}

// It must not be earlier than what it has heard of, whatever the clocks of nodes show; and be in
// the table before it returns.
TEST_CASE("board: a write costs two fetches of 16 bytes a node, and a put", "[core][board]") {
  const int reading = GENERATE(0, 1);
  CAPTURE(reading);
  Play play(reading);
  std::atomic<std::uint64_t> fetches{0};
  std::atomic<std::uint64_t> puts{0};
  play.remote.before_fetch([&](int rank, std::span<const RemotePart> parts) -> Status {
    if (rank != reading && play.watched)
      fetches += parts[0].into.size() == 2 * sizeof(NodeEntry) ? 1 : 1000;
    return {};
  });
  play.remote.before_put([&](int) -> Result<unsigned> {
    if (play.watched) ++puts;
    return 0U;
  });
  play.run([&](Container& container) -> Status { return expect(container, 0, 5); },
           [&](Container& container) -> Status {
             play.watched = true;
             for (std::uint64_t at = 1; at < kRowsThatFill; ++at) {
               BENTO_TRY(write_row(container, at, 6));
               BENTO_TRY(container.publish());
             }
             play.watched = false;
             return {};
           });
  const std::uint64_t writes = reading == 0 ? kRowsThatFill - 1 : 0;
  CHECK(fetches == 2 * writes);
  CHECK(puts == writes);
}

// A put that MPI calls done may still be on its way.
TEST_CASE("board: a write returns when others find it, however long the way is", "[core][board]") {
  Play play;
  play.remote.before_put([&](int) -> Result<unsigned> { return play.watched ? 200U : 0U; });
  play.run(
      [&](Container& container) -> Status {
        play.await(1);
        return expect(container, 1, 6);
      },
      [&](Container& container) -> Status {
        play.watched = true;
        BENTO_TRY(write_row(container, 1, 6));
        BENTO_TRY(container.publish());
        play.turn = 1;
        return {};
      });
}

TEST_CASE("board: a write that cannot be told to other nodes fails, and so do all later ones",
          "[core][board]") {
  Play play;
  int wrong = 0;
  play.remote.before_put([&](int) -> Result<unsigned> {
    if (play.watched.exchange(false)) return fail(Code::kPeer, "gone");
    return 0U;
  });
  play.run([&](Container& container) -> Status { return expect(container, 0, 5); },
           [&](Container& container) -> Status {
             play.watched = true;
             for (std::uint64_t at = 1; at < 3; ++at) {
               BENTO_TRY(write_row(container, at, 6));
               const Status told = container.publish();
               if (!told && told.error().code == Code::kPeer) ++wrong;
             }
             return {};
           });
  CHECK(wrong == 2);
}

// The record is in the writer's buffer when it is found, and in the file when it is fetched: its
// place in the buffer has other bytes then.
TEST_CASE("board: what leaves a buffer of another node while it is fetched is read from the file",
          "[core][board]") {
  const int reading = GENERATE(0, 1);
  CAPTURE(reading);
  Play play(reading);
  std::atomic<int> moved{0};
  play.remote.before_fetch([&](int rank, std::span<const RemotePart> parts) -> Status {
    if (rank != reading || !play.watched || parts[0].into.size() != kRow * 8) return {};
    play.watched = false;
    play.turn = 1;
    play.await(2);
    ++moved;
    return {};
  });
  play.run(
      [&](Container& container) -> Status {
        play.watched = true;
        return expect(container, 0, 5);
      },
      [&](Container& container) -> Status {
        play.await(1);
        for (std::uint64_t at = 1; at < kRowsThatFill; ++at) {
          BENTO_TRY(write_row(container, at, 6));
          BENTO_TRY(container.publish());
        }
        play.turn = 2;
        play.await(100);
        return {};
      });
  CHECK(moved == 1);
}

// What is exposed in several pieces is fetched in as many.
TEST_CASE("board: a record that is longer than a piece of memory comes from another node",
          "[core][board]") {
  Play play;
  play.buffer_bytes = 4u << 20;
  std::atomic<std::size_t> pieces{0};
  play.remote.before_fetch([&](int rank, std::span<const RemotePart> parts) -> Status {
    if (rank == 0) pieces = std::max(pieces.load(), parts.size());
    return {};
  });
  play.run(
      [&](Container& container) -> Status {
        play.await(1);
        for (const std::uint64_t at : {1U, 40U, 64U, 299U}) BENTO_TRY(expect(container, at, 6));
        return {};
      },
      [&](Container& container) -> Status {
        for (std::uint64_t at = 1; at < 300; ++at) BENTO_TRY(write_row(container, at, 6));
        BENTO_TRY(container.publish());
        play.turn = 1;
        return {};
      });
  CHECK(pieces == 3);  // 1.2 MiB, with borders at 256 KiB and 1 MiB
}

// Between the word that says that something is new and the log itself more is written.
TEST_CASE("board: what is published while a log of another node is fetched comes at the next read",
          "[core][board]") {
  Play play;
  std::atomic<int> between{0};
  play.remote.before_fetch([&](int rank, std::span<const RemotePart> parts) -> Status {
    if (rank != 0 || !play.watched || parts[0].into.size() != kHeadBytes) return {};
    play.watched = false;
    play.turn = 1;
    play.await(2);
    ++between;
    return {};
  });
  play.run(
      [&](Container& container) -> Status {
        play.watched = true;
        BENTO_TRY(expect(container, 0, 5));
        return expect(container, 3, 6);
      },
      [&](Container& container) -> Status {
        play.await(1);
        BENTO_TRY(write_row(container, 3, 6));
        BENTO_TRY(container.publish());
        play.turn = 2;
        play.await(100);
        return {};
      });
  CHECK(between == 1);
}

// What the writer has written over may go only when all have come to that call.
TEST_CASE("board: a rank of another node that is ahead takes nothing away", "[core][board]") {
  Play play;
  play.declared = 0;
  play.run(
      [&](Container& container) -> Status {
        play.await(1);
        BENTO_TRY(expect(container, 0, 5));
        container.note_collective("call", {});
        container.note_meeting();
        return expect(container, 0, 6);
      },
      [&](Container& container) -> Status {
        container.note_collective("call", {});
        container.note_meeting();
        for (std::uint64_t turn = 0; turn < 2 * kRowsThatFill; ++turn) {
          const std::vector<std::uint64_t> values(kRow - turn, 6);  // each a record of its own
          const Box part{Dims{0, 0}, Dims{1, kRow - turn}};
          BENTO_TRY(container.write(0, part, 8, bytes_of(values)));
          BENTO_TRY(container.publish());
        }
        play.turn = 1;
        return {};
      });
}

// Whoever was told of a write behind a call that lets each rank go on sees it before it makes that
// call, and writes later.
TEST_CASE("board: a rank of another node that is ahead may tell those behind it", "[core][board]") {
  Play play;
  play.declared = 0;
  play.run(
      [&](Container& container) -> Status {
        play.await(1);
        BENTO_TRY(expect(container, 0, 6));
        BENTO_TRY(write_row(container, 0, 7));
        BENTO_TRY(container.publish());
        play.turn = 2;
        container.note_collective("call", {});
        BENTO_TRY(container.commit());
        return expect(container, 0, 7);
      },
      [&](Container& container) -> Status {
        container.note_collective("call", {});
        BENTO_TRY(write_row(container, 0, 6));
        BENTO_TRY(container.publish());
        play.turn = 1;
        play.await(2);
        BENTO_TRY(expect(container, 0, 7));
        BENTO_TRY(container.commit());
        return expect(container, 0, 7);
      });
}

TEST_CASE("board: a log of another node that could not be fetched is not taken for read",
          "[core][board]") {
  Play play;
  int wrong = 0;
  int fetches = 0;  // what is new, the heads, the log
  play.remote.before_fetch([&](int rank, std::span<const RemotePart>) -> Status {
    if (rank != 0 || !play.watched || ++fetches < 3) return {};
    play.watched = false;
    return fail(Code::kPeer, "gone");
  });
  play.run(
      [&](Container& container) -> Status {
        play.watched = true;
        const auto failed = read_row(container, 0);
        if (!failed && failed.error().code == Code::kPeer) ++wrong;
        return expect(container, 0, 5);
      },
      [](Container&) -> Status { return {}; });
  CHECK(wrong == 1);
}

// Who comes out of a commit or an exchange first reads logs of the epoch before, and later ones
// that are as long.
TEST_CASE("board: what another node writes after a commit or an exchange is read",
          "[core][board]") {
  for (const bool commits : {true, false}) {
    CAPTURE(commits);
    Play play;
    play.declared = 0;
    const auto turns = [commits](Container& container, bool reads) -> Status {
      for (std::uint64_t turn = 1; turn < 6; ++turn) {
        BENTO_TRY(commits ? container.commit() : container.exchange());
        if (reads) BENTO_TRY(expect(container, 0, turn == 1 ? 5 : 10 + turn - 1));
        BENTO_TRY(barrier(container.comm()));
        if (!reads) {
          BENTO_TRY(write_row(container, 0, 10 + turn));
          BENTO_TRY(container.publish());
        }
        BENTO_TRY(barrier(container.comm()));
        if (reads) BENTO_TRY(expect(container, 0, 10 + turn));
        if (!reads && turn % 2 == 0) {
          BENTO_TRY(write_row(container, turn, 20 + turn));
          BENTO_TRY(container.publish());
        }
        BENTO_TRY(barrier(container.comm()));
        if (reads && turn % 2 == 0) BENTO_TRY(expect(container, turn, 20 + turn));
      }
      return {};
    };
    play.run([&](Container& container) { return turns(container, true); },
             [&](Container& container) { return turns(container, false); });
  }
}

// It makes its buffer smaller, and begins its log anew within the epoch: what was known of it is
// void.
TEST_CASE("board: a rank of another node that throws away what it has written over",
          "[core][board]") {
  Play play;
  play.declared = 0;
  play.all_are_here = true;
  std::atomic<int> known{0};
  play.run(
      [&](Container& container) -> Status {
        for (int turn = 1; turn < 60; turn += 2) {
          play.await(turn);
          const auto now = static_cast<std::uint64_t>(turn);
          BENTO_TRY(expect(container, 0, 5));
          BENTO_TRY(expect(container, 1, now));
          BENTO_TRY(expect(container, 2, now));
          ++known;
          play.turn = turn + 1;
        }
        BENTO_TRY(container.commit());
        BENTO_TRY(barrier(container.comm()));
        BENTO_TRY(expect(container, 4, 8));
        return expect(container, 5, 8);
      },
      [&](Container& container) -> Status {
        for (int turn = 1; turn < 60; turn += 2) {
          const auto now = static_cast<std::uint64_t>(turn);
          for (const std::uint64_t split : {now, kRow - now}) {  // other boxes each time
            for (const std::uint64_t row : {1U, 2U}) {
              const std::vector<std::uint64_t> values(kRow, now);
              const Box left{Dims{row, 0}, Dims{1, split}};
              const Box right{Dims{row, split}, Dims{1, kRow - split}};
              BENTO_TRY(container.write(0, right, 8, bytes_of(values).subspan(split * 8)));
              BENTO_TRY(container.write(0, left, 8, bytes_of(values).first(split * 8)));
            }
          }
          BENTO_TRY(container.publish());
          play.turn = turn;
          play.await(turn + 1);
        }
        BENTO_TRY(container.commit());
        for (const std::uint64_t row : {4U, 5U}) {  // one record, which grows
          BENTO_TRY(write_row(container, row, 8));
          BENTO_TRY(container.publish());
        }
        return barrier(container.comm());
      });
  CHECK(known == 30);
}

// The bytes of an area are gone, and where they are is not in the table yet: its owner is in the
// middle of a call.
TEST_CASE("board: a log is read when an area of another node has changed, whatever the table says",
          "[core][board]") {
  Play play;
  std::atomic<int> put{0};
  play.remote.before_put([&](int) -> Result<unsigned> {
    if (!play.watched) return 0U;
    ++put;
    return 1000U;
  });
  play.run(
      [&](Container& container) -> Status {
        BENTO_TRY(expect(container, 0, 5));  // its place in the area is known
        play.watched = true;
        play.turn = 1;
        while (put == 0) std::this_thread::yield();
        BENTO_TRY(expect(container, 0, 5));
        play.watched = false;
        return {};
      },
      [&](Container& container) -> Status {
        play.await(1);
        for (std::uint64_t at = 1; at < kRowsThatFill; ++at) BENTO_TRY(write_row(container, at, 6));
        return container.publish();
      });
  CHECK(put == 1);
}

TEST_CASE(
    "board: what was noted of ranks of another node holds in the next epoch but for those "
    "that came first",
    "[core][board]") {
  constexpr std::uint32_t kThere = 1;
  RemoteRanks remote(2);
  alignas(64) std::array<std::byte, 1024> memory{};
  alignas(64) std::array<std::byte, 1024> table{};
  REQUIRE(head_bytes(1, 0) <= memory.size());
  auto& head = *reinterpret_cast<RankHead*>(memory.data() + rank_heads_offset());
  auto& word = *reinterpret_cast<LogWord*>(memory.data() + words_offset(1));
  auto& own_node = *reinterpret_cast<NodeHead*>(table.data());
  auto* const entries = reinterpret_cast<NodeEntry*>(table.data() + table_offset(1));
  const auto publish = [&](LogHead log) {
    head.log = log.word();
    word = log.word();
    ++entries[kThere].count;
  };
  const auto results = run_ranks(2, [&](Communicator& threads) -> Status {
    const std::shared_ptr<Communicator> comm = remote.communicator(threads);
    const std::string node = comm->node();
    BENTO_ASSIGN(const RankGroups nodes,
                 RankGroups::make(*comm, hash128(std::as_bytes(std::span(node)))));
    BENTO_ASSIGN(const auto window, comm->open_remote_memory());
    if (comm->rank() == kThere) {
      BENTO_TRY(window->expose(memory.data(), memory.size()));
      BENTO_TRY(barrier(*comm));
      return barrier(*comm);
    }
    BENTO_TRY(barrier(*comm));
    std::vector<RemoteNodes::Addresses> addresses(2);
    addresses[kThere].heads = reinterpret_cast<std::uintptr_t>(memory.data());
    NodeTable::Place place;
    place.here = {entries, 2};
    place.nodes = 2;
    NodeTable all(*window, own_node, place);
    RemoteNodes others(*window, all, nodes, 0, std::move(addresses));
    std::vector<std::size_t> changed;
    const auto look = [&]() -> Status {
      BENTO_ASSIGN(const auto found, others.look());
      changed.push_back(found.size());
      for (const std::uint32_t rank : found) others.note(rank);
      return {};
    };
    BENTO_TRY(look());
    BENTO_TRY(look());
    publish({0, 20});
    BENTO_TRY(look());
    BENTO_TRY(look());
    others.next_epoch(1);
    BENTO_TRY(look());
    publish({2, 20});  // as long, and in an epoch that this rank is not in yet
    BENTO_TRY(look());
    BENTO_TRY(look());
    others.next_epoch(2);
    BENTO_TRY(look());
    BENTO_TRY(look());
    BENTO_TRY(barrier(*comm));
    const std::vector<std::size_t> wanted{0, 0, 1, 0, 0, 1, 0, 1, 0};
    return changed == wanted ? Status{} : Status(fail(Code::kInternal, "not as it was noted"));
  });
  for (const auto& status : results) require_ok(status);
}

// A rank that has not found it out yet needs the others for it.
TEST_CASE("board: whether memory is read without its owner's help is tried once", "[core][board]") {
  const int forgetful = GENERATE(-1, 0, 1);
  CAPTURE(forgetful);
  const MemoryFileSystem disk;
  RemoteRanks remote(2);
  remote.remember();
  std::atomic<int> tried{0};
  remote.before_put([&](int) -> Result<unsigned> {  // nothing is written: only a trial puts
    ++tried;
    return 0U;
  });
  for (int turn = 0; turn < 3; ++turn) {
    const auto results = run_ranks(2, [&](Communicator& threads) -> Status {
      const std::shared_ptr<Communicator> comm = remote.communicator(threads);
      if (turn == 2 && comm->rank() == forgetful) comm->note_reaches_at_rest(Hash128{});
      BENTO_ASSIGN(auto container, Container::create(fmt::format("box{}", turn), false,
                                                     options_of(disk, 64u << 10), comm));
      return container->close();
    });
    for (const auto& status : results) require_ok(status);
    if (turn == 0) CHECK(tried > 0);
    if (turn == 0) tried = 0;
  }
  CHECK((tried > 0) == (forgetful >= 0));
}

// Such a fetch comes to its end when the owner of the memory makes its next call. It never sees
// that the owner rests, even if the test gets no processor for as long as that takes.
TEST_CASE("board: memory that is read only with its owner's help is not used", "[core][board]") {
  for (const int asleep : {0, 1}) {
    CAPTURE(asleep);
    const MemoryFileSystem disk;
    RemoteRanks remote(2);
    remote.read_again_while([&](std::span<const RemotePart> parts) {
      if (static_cast<int>(parts[0].rank) != asleep) return false;
      std::uint64_t rests = 0;
      std::memcpy(&rests, parts[0].into.data(), sizeof(rests));
      if (rests == 1) std::this_thread::yield();
      return rests == 1;
    });
    const auto results = run_ranks(2, [&](Communicator& threads) -> Status {
      const std::shared_ptr<Communicator> comm = remote.communicator(threads);
      BENTO_ASSIGN(auto container,
                   Container::create("box", false, options_of(disk, 64u << 10), comm));
      return container->close();
    });
    for (const auto& status : results) {
      REQUIRE_FALSE(status);
      CHECK(status.error().code == Code::kUnsupported);
      CHECK(status.error().text.find("while that makes no call") != std::string::npos);
    }
  }
}

}  // namespace bento
