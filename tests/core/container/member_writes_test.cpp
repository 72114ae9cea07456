// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <catch2/catch_test_macros.hpp>

#include "tests/core/container/container_support.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;

const MemberSet kBoth = MemberSet::all(2);

WrittenMembers only(std::size_t member) {
  WrittenMembers written{kBoth, true};
  written.members.remove(1 - member);
  return written;
}

/// Counts the rounds of commits.
class CountingCommunicator : public Communicator {
 public:
  explicit CountingCommunicator(Communicator& comm) : comm_(comm) {}
  [[nodiscard]] int rank() const override { return comm_.rank(); }
  [[nodiscard]] int size() const override { return comm_.size(); }
  Result<std::vector<Bytes>> gather(std::span<const std::byte> payload) override {
    return comm_.gather(payload);
  }
  Result<Bytes> combine(std::span<const std::byte> payload, const Merge& merge) override {
    ++rounds;
    return comm_.combine(payload, merge);
  }
  Result<Bytes> broadcast(std::span<const std::byte> payload) override {
    return comm_.broadcast(payload);
  }
  Result<Bytes> shift(int distance, std::span<const std::byte> payload) override {
    return comm_.shift(distance, payload);
  }
  [[nodiscard]] std::string node() const override { return comm_.node(); }
  int rounds = 0;

 private:
  Communicator& comm_;
};

/// A container of two ranks with one dataset; `body` writes some of it on each.
Status with_container(
    const MemoryFileSystem& disk, Communicator& comm,
    const std::function<Status(Container&, const std::function<Status()>&)>& body) {
  BENTO_ASSIGN(auto container,
               Container::create("box", false, small_options(disk.opener()),
                                 std::shared_ptr<Communicator>(&comm, [](Communicator*) {})));
  container->declare({}, 8, 2, 0);
  const auto barrier = [&]() -> Status {
    BENTO_ASSIGN(const auto all, comm.gather({}));
    BENTO_ASSIGN(const auto answer, comm.broadcast({}));
    return {};
  };
  return body(*container, barrier);
}

Status write_rows(Container& container, std::uint64_t first, std::uint64_t rows,
                  const WrittenMembers& written, std::uint64_t step) {
  const Box box{Dims{first, 0}, Dims{rows, kColumns}};
  return container.write(0, box, 8, bytes_of(band_values(box, step)), ValueRange::everything(),
                         &written);
}

Status expect(bool condition, std::string_view what) {
  return condition ? Status{} : Status(fail(Code::kInternal, std::string(what)));
}

}  // namespace

TEST_CASE(
    "container: members that another rank could not see yet make commits fail until they "
    "are written whole",
    "[core][container]") {
  const MemoryFileSystem disk;
  const auto statuses = run_ranks(2, [&](Communicator& comm) {
    return with_container(disk, comm, [&](Container& container, const auto& barrier) -> Status {
      const bool second = comm.rank() == 1;
      BENTO_TRY(write_step(container, 0, 1));
      BENTO_TRY(container.commit());
      if (!second) BENTO_TRY(write_rows(container, 0, 4, only(0), 2));
      BENTO_TRY(barrier());
      if (second) BENTO_TRY(write_rows(container, 3, 4, only(1), 2));
      std::string text;
      for (int again = 0; again < 2; ++again) {
        const Status committed = container.commit();
        BENTO_TRY(expect(!committed, "the commit must fail"));
        BENTO_TRY(expect(again == 0 || text == committed.error().text, "the same error again"));
        text = committed.error().text;
        for (const auto* const word : {"'box': dataset 0", "rank 1 wrote some members of elements",
                                       "rank 0 had written", "[3, 0]", "H5Fflush"})
          BENTO_TRY(expect(text.find(word) != std::string::npos, text));
      }
      BENTO_TRY(expect(container.step().number() == 1, "step"));
      if (second) BENTO_TRY(write_rows(container, 3, 1, {kBoth, false}, 2));
      BENTO_TRY(container.commit());
      BENTO_TRY(expect(container.step().number() == 2, "step"));
      return container.close();
    });
  });
  for (const auto& status : statuses) require_ok(status);
}

TEST_CASE("container: members that were seen, or are of other elements, commit",
          "[core][container]") {
  const MemoryFileSystem disk;
  const auto statuses = run_ranks(2, [&](Communicator& comm) {
    return with_container(disk, comm, [&](Container& container, const auto& barrier) -> Status {
      const bool second = comm.rank() == 1;
      const auto me = static_cast<std::uint64_t>(comm.rank());
      // Every other row, one member after the other.
      for (const std::size_t member : {std::size_t{0}, std::size_t{1}})
        for (std::uint64_t row = me; row < kRows; row += 2)
          BENTO_TRY(write_rows(container, row, 1, only(member), 1));
      BENTO_TRY(container.commit());
      // An exchange or a commit in between.
      for (const bool commit : {false, true}) {
        if (!second) BENTO_TRY(write_rows(container, 0, kRows, only(0), 2));
        BENTO_TRY(commit ? container.commit() : container.exchange());
        if (second) BENTO_TRY(write_rows(container, 0, kRows, only(1), 2));
        BENTO_TRY(container.commit());
      }
      // A whole write after one of a member.
      if (!second) BENTO_TRY(write_rows(container, 0, kRows, only(0), 3));
      BENTO_TRY(barrier());
      if (second) BENTO_TRY(write_rows(container, 0, kRows, {kBoth, false}, 3));
      BENTO_TRY(container.commit());
      // Lost, but then the elements are cut off, or the dataset is deleted.
      const auto lose = [&]() -> Status {
        if (!second) BENTO_TRY(write_rows(container, 6, 6, only(0), 4));
        BENTO_TRY(barrier());
        if (second) BENTO_TRY(write_rows(container, 6, 6, only(1), 4));
        return {};
      };
      BENTO_TRY(lose());
      container.note_collective("set_extent", {});
      BENTO_TRY(container.set_extent(0, Dims{6, kColumns}));
      BENTO_TRY(container.commit());
      BENTO_TRY(lose());
      BENTO_TRY(expect(!container.commit(), "the commit must fail"));
      container.note_collective("delete", {});
      container.remove(0);
      BENTO_TRY(container.commit());
      return container.close();
    });
  });
  for (const auto& status : statuses) require_ok(status);
}

TEST_CASE("container: members of elements of each rank's own cost no further round",
          "[core][container]") {
  const MemoryFileSystem disk;
  const auto statuses = run_ranks(3, [&](Communicator& plain) {
    CountingCommunicator comm(plain);
    return with_container(disk, comm, [&](Container& container, const auto&) -> Status {
      const auto me = static_cast<std::uint64_t>(comm.rank());
      for (const bool interleaved : {false, true}) {
        for (const std::size_t member : {std::size_t{0}, std::size_t{1}}) {
          container.note_collective("write", {});
          for (std::uint64_t i = 0; i < 4; ++i)
            BENTO_TRY(
                write_rows(container, interleaved ? 3 * i + me : 4 * me + i, 1, only(member), 1));
        }
        const int before = comm.rounds;
        BENTO_TRY(container.commit());
        BENTO_TRY(expect(comm.rounds == before + 1, "one round"));
      }
      return container.close();
    });
  });
  for (const auto& status : statuses) require_ok(status);
}

TEST_CASE("container: what is written after an exchange is later, whatever the clocks say",
          "[core][container]") {
  const MemoryFileSystem disk;
  const auto statuses = run_ranks(2, [&](Communicator& comm) {
    return with_container(disk, comm, [&](Container& container, const auto&) -> Status {
      const Box box{Dims{0, 0}, Dims{1, kColumns}};
      std::uint64_t before = 0;
      for (int round = 0; round < 3; ++round) {
        BENTO_TRY(write_rows(container, 0, 1, {kBoth, false}, 1));
        BENTO_ASSIGN(const RecordLookup found, container.find(0, box));
        const std::uint64_t collective = found.records.front().order.collective;
        BENTO_TRY(expect(round == 0 || collective > before, "the order of an exchange"));
        before = collective;
        BENTO_TRY(container.exchange());
      }
      return container.close();
    });
  });
  for (const auto& status : statuses) require_ok(status);
}

}  // namespace bento
