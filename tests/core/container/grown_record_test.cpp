// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Small writes of one rank that become one record, with writes of another rank to the same
/// elements in between.
#include <catch2/catch_test_macros.hpp>

#include "core/records/write_times.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;

const MemberSet kBoth = MemberSet::all(2);

WrittenMembers whole() {
  return {kBoth, false};
}

WrittenMembers only_second() {
  WrittenMembers written{kBoth, true};
  written.members.remove(0);
  return written;
}

Status expect(bool condition, std::string_view what) {
  return condition ? Status{} : Status(fail(Code::kInternal, std::string(what)));
}

/// Two ranks that write in turns.
class Turns {
 public:
  Turns(Container& container, Communicator& comm) : container_(container), comm_(comm) {
    for (std::uint64_t row = 0; row < kRows; ++row) steps_.push_back(0);
  }

  Status write(int who, std::uint64_t row, const WrittenMembers* written = nullptr) {
    ++step_;
    steps_[row] = step_;
    const Box box{Dims{row, 0}, Dims{1, kColumns}};
    if (comm_.rank() == who)
      BENTO_TRY(container_.write(0, box, 8, bytes_of(band_values(box, step_)),
                                 ValueRange::everything(), written));
    BENTO_ASSIGN(const auto all, comm_.gather({}));
    BENTO_ASSIGN(const auto answer, comm_.broadcast({}));
    return {};
  }

  /// Does this rank see what was written last?
  Status check(std::string_view when) {
    BENTO_ASSIGN(const auto values, read_all(container_, 0));
    return expect(values == wanted(), when);
  }

  [[nodiscard]] std::vector<std::uint64_t> wanted() const {
    std::vector<std::uint64_t> values(kRows * kColumns, 0);
    for (std::uint64_t row = 0; row < kRows; ++row)
      for (std::uint64_t column = 0; column < kColumns && steps_[row] != 0; ++column)
        values[row * kColumns + column] = value_at(row, column, steps_[row]);
    return values;
  }

 private:
  Container& container_;
  Communicator& comm_;
  std::uint64_t step_ = 0;
  std::vector<std::uint64_t> steps_;
};

Status with_turns(const MemoryFileSystem& disk, Communicator& comm,
                  const std::function<Status(Container&, Turns&)>& body) {
  const std::shared_ptr<Communicator> shared(&comm, [](Communicator*) {});
  const auto options = small_options(disk.opener());
  BENTO_ASSIGN(auto container, Container::create("box", false, options, shared));
  container->declare({}, 8, 2, 0);
  Turns turns(*container, comm);
  BENTO_TRY(body(*container, turns));
  BENTO_TRY(container->close());
  BENTO_ASSIGN(container, Container::open("box", false, options, shared));
  BENTO_ASSIGN(const auto values, read_all(*container, 0));
  BENTO_TRY(expect(values == turns.wanted(), "after a new open"));
  return container->close();
}

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kPiece = 512;  // elements, 4 KiB

/// With room for all that is written in pieces, and datasets of one dimension.
Result<std::unique_ptr<Container>> container_for_pieces(const MemoryFileSystem& disk,
                                                        Communicator& comm, int datasets) {
  const std::shared_ptr<Communicator> shared(&comm, [](Communicator*) {});
  auto options = small_options(disk.opener());
  options.chunk_bytes = 8 * kMiB;
  BENTO_ASSIGN(auto container, Container::create("box", false, options, shared));
  for (int i = 0; i < datasets; ++i) container->declare({}, 8, 1, 0);
  return container;
}

Box box_of_pieces(std::uint64_t first, std::uint64_t count) {
  return {Dims{first * kPiece}, Dims{count * kPiece}};
}

Status write_piece(Container& container, DatasetNumber dataset, std::uint64_t i,
                   std::uint64_t value) {
  const std::vector<std::uint64_t> values(kPiece, value);
  return container.write(dataset, box_of_pieces(i, 1), 8, bytes_of(values));
}

/// The elements of `box`, as the records of `lookup` have them.
Result<std::vector<std::uint64_t>> elements_of(Container& container, const RecordLookup& lookup,
                                               const Box& box) {
  std::vector<std::uint64_t> values(box.elements());
  for (const auto& part : lookup.pieces)
    BENTO_TRY(container.read(lookup.records[part.record], part.part, 8, box,
                             reinterpret_cast<std::byte*>(values.data())));
  return values;
}

}  // namespace

TEST_CASE("container: each part of a record that grew is as late as it was written",
          "[core][container]") {
  enum class Between { kNothing, kExchange, kCommit };
  for (const Between between : {Between::kNothing, Between::kExchange, Between::kCommit}) {
    const MemoryFileSystem disk;
    const auto statuses = run_ranks(2, [&](Communicator& comm) {
      return with_turns(disk, comm, [&](Container& container, Turns& turns) -> Status {
        for (int round = 0; round < 3; ++round) {
          for (const std::uint64_t row : {0u, 1u, 2u, 3u, 4u, 5u}) {
            BENTO_TRY(turns.write(0, row));
            if (row == 1) BENTO_TRY(turns.write(1, 0));
            if (row == 3) BENTO_TRY(turns.write(1, 2));
            if (row == 4) BENTO_TRY(turns.write(1, 3));
            if (row == 4) BENTO_TRY(turns.write(1, 5));
          }
          if (between == Between::kNothing) continue;
          BENTO_TRY(between == Between::kCommit ? container.commit() : container.exchange());
          BENTO_TRY(turns.check(between == Between::kCommit ? "commit" : "exchange"));
        }
        return {};
      });
    });
    for (const auto& status : statuses) require_ok(status);
  }
}

TEST_CASE("container: parts of records are written once, also if the commit fails",
          "[core][container]") {
  const MemoryFileSystem disk;
  const auto statuses = run_ranks(2, [&](Communicator& comm) {
    return with_turns(disk, comm, [&](Container& container, Turns& turns) -> Status {
      const WrittenMembers all = whole();
      const WrittenMembers second = only_second();
      BENTO_TRY(turns.write(0, 6, &all));
      BENTO_TRY(turns.write(1, 6, &second));
      for (const std::uint64_t row : {0u, 1u, 2u}) {
        BENTO_TRY(turns.write(0, row, &all));
        if (row == 1) BENTO_TRY(turns.write(1, 0, &all));
      }
      BENTO_TRY(expect(!container.commit(), "members are lost in row 6"));
      const std::uint64_t before = container.bytes_written();
      BENTO_TRY(expect(!container.commit(), "members are lost in row 6"));
      BENTO_TRY(expect(container.bytes_written() == before, "nothing is written again"));
      BENTO_TRY(turns.write(1, 1, &all));
      BENTO_TRY(turns.write(0, 3, &all));
      BENTO_TRY(turns.write(1, 2, &all));
      BENTO_TRY(turns.write(0, 6, &all));
      BENTO_TRY(container.exchange());
      BENTO_TRY(turns.check("exchange"));
      BENTO_TRY(container.commit());
      return turns.check("commit");
    });
  });
  for (const auto& status : statuses) require_ok(status);
}

TEST_CASE("container: lost members are found by the time of each part", "[core][container]") {
  for (const bool lost : {false, true}) {
    const MemoryFileSystem disk;
    const auto statuses = run_ranks(2, [&](Communicator& comm) {
      return with_turns(disk, comm, [&](Container& container, Turns& turns) -> Status {
        const WrittenMembers all = whole();
        const WrittenMembers second = only_second();
        // Were row 0 as late as row 1, nothing would be lost in it, or something would.
        BENTO_TRY(turns.write(0, 0, lost ? &all : &second));
        BENTO_TRY(turns.write(1, 0, lost ? &second : &all));
        BENTO_TRY(turns.write(0, 1, lost ? &all : &second));
        const Status committed = container.commit();
        BENTO_TRY(expect(lost == !committed, committed ? "committed" : committed.error().text));
        if (lost) BENTO_TRY(turns.write(1, 0, &all));
        return {};
      });
    });
    for (const auto& status : statuses) require_ok(status);
  }
}

TEST_CASE("container: ranks that do not overlap write no part again", "[core][container]") {
  const MemoryFileSystem disk;
  const auto statuses = run_ranks(2, [&](Communicator& comm) {
    return with_turns(disk, comm, [&](Container& container, Turns& turns) -> Status {
      for (std::uint64_t row = 0; row < 6; ++row) {
        BENTO_TRY(turns.write(0, row));
        BENTO_TRY(turns.write(1, 6 + row));
      }
      BENTO_TRY(container.commit());
      return expect(container.bytes_written() == 6 * kColumns * 8, "bytes");
    });
  });
  for (const auto& status : statuses) require_ok(status);
}

// Before the layout is fixed nothing can go out, and what did not grow may be replaced.
TEST_CASE("container: records that grew to a mebibyte make room for the next one",
          "[core][container]") {
  for (const bool fixed : {true, false}) {
    const MemoryFileSystem disk;
    const auto statuses = run_ranks(1, [&](Communicator& comm) -> Status {
      BENTO_ASSIGN(const auto container, container_for_pieces(disk, comm, 3));
      if (fixed) container->declared(8 * kMiB);
      const auto piece = [&](DatasetNumber dataset, std::uint64_t i, std::uint64_t value) {
        return write_piece(*container, dataset, i, value);
      };
      for (std::uint64_t i = 0; i < 256; ++i) BENTO_TRY(piece(0, i, i));
      BENTO_TRY(expect(container->bytes_written() == 0, "it is not cut for that"));
      BENTO_TRY(piece(0, 3, 3));
      const std::uint64_t out = fixed ? kMiB : 0;
      BENTO_TRY(expect(container->bytes_written() == out, "it went out before the next one"));
      for (std::uint64_t round = 0; round < 8; ++round)
        for (std::uint64_t i = 0; i < 400; i += 2) BENTO_TRY(piece(1, i, round));
      BENTO_TRY(expect(container->bytes_written() == out, "all else is replaced in memory"));
      for (std::uint64_t i = 0; i < 128; ++i) BENTO_TRY(piece(2, i, i));
      for (std::uint64_t i = 128; i < 256; ++i) BENTO_TRY(piece(1, i * 4, i));
      BENTO_TRY(expect(container->bytes_written() == out, "half a mebibyte is not enough"));
      for (std::uint64_t i = 0; i < 256; ++i) {
        const Box box = box_of_pieces(i, 1);
        BENTO_ASSIGN(const RecordLookup lookup, container->find(0, box));
        BENTO_ASSIGN(const auto values, elements_of(*container, lookup, box));
        BENTO_TRY(expect(values == std::vector<std::uint64_t>(kPiece, i), "values"));
      }
      return container->close();
    });
    for (const auto& status : statuses) require_ok(status);
  }
}

TEST_CASE("container: no record grows to more than two mebibytes", "[core][container]") {
  const MemoryFileSystem disk;
  const auto statuses = run_ranks(1, [&](Communicator& comm) -> Status {
    BENTO_ASSIGN(const auto container, container_for_pieces(disk, comm, 1));
    container->declared(8 * kMiB);
    constexpr std::uint64_t kPieces = 5 * kMiB / 4096;
    for (std::uint64_t i = 0; i < kPieces; ++i) {
      BENTO_TRY(write_piece(*container, 0, i, i));
      const std::uint64_t whole = i / 512 * 2 * kMiB;
      BENTO_TRY(expect(container->bytes_written() == whole, "it goes out when it is full"));
    }
    BENTO_TRY(container->commit());
    const Box all = box_of_pieces(0, kPieces);
    BENTO_ASSIGN(const RecordLookup lookup, container->find(0, all));
    BENTO_TRY(expect(lookup.records.size() == 3 && lookup.uncovered.empty(), "three records"));
    BENTO_ASSIGN(const auto values, elements_of(*container, lookup, all));
    for (std::uint64_t i = 0; i < values.size(); ++i)
      BENTO_TRY(expect(values[i] == i / kPiece, "values"));
    return container->close();
  });
  for (const auto& status : statuses) require_ok(status);
}

TEST_CASE("container: a record that grew is replaced by a write of all of it",
          "[core][container]") {
  const MemoryFileSystem disk;
  const auto statuses = run_ranks(1, [&](Communicator& comm) -> Status {
    const std::shared_ptr<Communicator> shared(&comm, [](Communicator*) {});
    const auto options = small_options(disk.opener());
    BENTO_ASSIGN(const auto container, Container::create("box", false, options, shared));
    container->declare({}, 8, 1, 0);
    const auto write = [&](std::uint64_t at, std::uint64_t count) {
      const std::vector<std::uint64_t> values(count, at + count);
      return container->write(0, {Dims{at}, Dims{count}}, 8, bytes_of(values));
    };
    for (std::uint64_t i = 0; i < 4; ++i) BENTO_TRY(write(10 + i, 1));
    BENTO_TRY(write(10, 4));  // the last record
    BENTO_TRY(write(30, 1));
    BENTO_TRY(write(10, 4));  // and not the last one
    BENTO_TRY(container->commit());
    BENTO_TRY(expect(container->bytes_written() == 5 * 8, "each element once"));
    return container->close();
  });
  for (const auto& status : statuses) require_ok(status);
}

TEST_CASE("index: times of the parts of a record", "[core][index]") {
  const Box whole{Dims{2, 0, 5}, Dims{3, 2, 4}};
  // All runs of a box, put together again.
  for (std::uint64_t begin = 0; begin <= whole.elements(); ++begin)
    for (std::uint64_t end = begin; end <= whole.elements(); ++end) {
      std::uint64_t at = begin;
      for (const Box& box : boxes_of_run(whole, begin, end)) {
        REQUIRE(contains(whole, box));
        REQUIRE(is_contiguous_in(whole, box));
        REQUIRE(row_major_offset(whole, box) == at);
        at += box.elements();
      }
      REQUIRE(at == end);
    }
  WriteTimes times;
  times.add(4, 1000);
  times.add(4, 1001);
  times.add(16, 5000);
  ByteWriter out;
  times.encode(out);
  CHECK(out.size() == 9);
  ByteReader in(out.view(), std::endian::little, "times");
  const auto decoded = must(WriteTimes::decode(in));
  REQUIRE(decoded.parts().size() == 3);
  CHECK(decoded.parts()[2].begin == 8);
  CHECK(decoded.parts()[2].time_ns == 5000);
  const auto slice = decoded.slice(6, 9);
  REQUIRE(slice.parts().size() == 2);
  CHECK(slice.first_time() == 1001);
  CHECK(slice.parts()[0].end == 2);
  // The first row of the first plane is gone, and so is the first part.
  const auto within = decoded.within(whole, Box{Dims{2, 1, 6}, Dims{2, 1, 2}});
  REQUIRE(within.parts().size() == 2);
  CHECK(within.first_time() == 1001);
  CHECK(within.parts()[1].end == 4);
}

}  // namespace bento
