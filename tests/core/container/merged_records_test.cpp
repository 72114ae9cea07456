// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Programs that add a little and commit, again and again: their records are merged now and then,
/// and nothing that they read is another for it.
#include <functional>
#include <random>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "tests/core/container/container_support.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;

constexpr const char* kName = "box";

std::uint64_t value_of(std::uint64_t row, std::uint64_t column) {
  return row << 20 | (column + 1);
}

/// One dataset of 8-byte elements, and what should be in it: 0 where nobody wrote.
class Grown {
 public:
  explicit Grown(std::uint64_t rows = 0, std::uint64_t columns = 0) : extent_{rows, columns} {}

  std::function<void(ContainerOptions&)> change = [](ContainerOptions&) {};

  void create() {
    auto made = Container::create(kName, false, options(), make_self_communicator());
    REQUIRE(made);
    box_ = std::move(*made);
    box_->note_collective("create", {});
    dataset_ = box_->declare({std::byte{1}}, 8, 2, 0);
    skeleton();
  }
  void open() {
    auto opened = Container::open(kName, true, options(), make_self_communicator());
    REQUIRE(opened);
    box_ = std::move(*opened);
  }
  void commit() {
    skeleton();
    REQUIRE(box_->commit());
  }
  void close() {
    REQUIRE(box_->close());
    box_.reset();
  }

  void extent(std::uint64_t rows, std::uint64_t columns) {
    std::vector<std::uint64_t> values(rows * columns, 0);
    for (std::uint64_t r = 0; r < std::min(rows, extent_[0]); ++r)
      for (std::uint64_t c = 0; c < std::min(columns, extent_[1]); ++c)
        values[r * columns + c] = values_[r * extent_[1] + c];
    extent_ = Dims{rows, columns};
    values_ = std::move(values);
    box_->note_collective("extent", {});
    REQUIRE(box_->set_extent(dataset_, extent_));
  }
  void write(const Box& box, std::uint64_t more = 0) {
    std::vector<std::uint64_t> values;
    for (std::uint64_t r = box.start[0]; r < box.start[0] + box.count[0]; ++r)
      for (std::uint64_t c = box.start[1]; c < box.start[1] + box.count[1]; ++c) {
        values.push_back(value_of(r, c) + more);
        values_[r * extent_[1] + c] = values.back();
      }
    REQUIRE(box_->write(dataset_, box, 8, bytes_of(values)));
  }
  void add_row() {
    extent(extent_[0] + 1, extent_[1]);
    write({Dims{extent_[0] - 1, 0}, Dims{1, extent_[1]}});
  }
  /// One after the other, each with a commit.
  void commit_rows(int count) {
    for (int row = 0; row < count; ++row) {
      add_row();
      commit();
    }
  }
  void add_column() {
    extent(extent_[0], extent_[1] + 1);
    write({Dims{0, extent_[1] - 1}, Dims{extent_[0], 1}});
  }

  /// Records of which something is seen.
  std::size_t records() { return records_of(*box_); }
  bool right() { return values_in(*box_) == values_; }
  bool readable() {
    std::vector<std::uint64_t> values(values_.size(), 0);
    const RecordLookup found = found_in(*box_);
    return std::ranges::all_of(found.pieces, [&](const Piece& piece) {
      return box_
          ->read(found.records[piece.record], piece.part, 8, Box::whole(extent_),
                 reinterpret_cast<std::byte*>(values.data()))
          .has_value();
    });
  }
  bool right_for_another() {
    auto other = Container::open(kName, false, options(), make_self_communicator());
    REQUIRE(other);
    return values_in(**other) == values_;
  }

  MemoryFileSystem disk;
  [[nodiscard]] const Dims& extent() const { return extent_; }

 private:
  ContainerOptions options() {
    ContainerOptions options = small_options(disk.opener());
    change(options);
    return options;
  }
  void skeleton() { box_->skeleton().write(0, skeleton_bytes(++step_)); }
  RecordLookup found_in(Container& box) {
    auto found = box.find(dataset_, Box::whole(extent_));
    REQUIRE(found);
    return *found;
  }
  std::size_t records_of(Container& box) {
    const RecordLookup found = found_in(box);
    std::set<std::size_t> seen;
    for (const Piece& piece : found.pieces) seen.insert(piece.record);
    return seen.size();
  }
  std::vector<std::uint64_t> values_in(Container& box) {
    std::vector<std::uint64_t> values(values_.size(), 0);
    const RecordLookup found = found_in(box);
    for (const Piece& piece : found.pieces)
      REQUIRE(box.read(found.records[piece.record], piece.part, 8, Box::whole(extent_),
                       reinterpret_cast<std::byte*>(values.data())));
    return values;
  }

  std::unique_ptr<Container> box_;
  DatasetNumber dataset_ = 0;
  Dims extent_;
  std::vector<std::uint64_t> values_;
  std::uint64_t step_ = 0;
};

TEST_CASE("merged records: a dataset that grows by a row with each commit has few",
          "[core][container]") {
  Grown grown(0, 3);
  grown.create();
  for (int row = 0; row < 200; ++row) {
    grown.add_row();
    grown.commit();
    REQUIRE(grown.records() <= 20);
    REQUIRE(grown.right());
  }
  CHECK(grown.right_for_another());
  grown.close();
  CHECK(grown.right_for_another());
}

TEST_CASE("merged records: one that grows by a column has few, too", "[core][container]") {
  Grown grown(5, 0);
  grown.create();
  for (int column = 0; column < 100; ++column) {
    grown.add_column();
    grown.commit();
    REQUIRE(grown.records() <= 20);
  }
  CHECK(grown.right());
  grown.close();
  CHECK(grown.right_for_another());
}

TEST_CASE("merged records: of sessions that add a row each", "[core][container]") {
  Grown grown(0, 2);
  grown.create();
  grown.close();
  for (int row = 0; row < 60; ++row) {
    grown.open();
    grown.add_row();
    grown.close();
  }
  CHECK(grown.right_for_another());
  grown.open();
  CHECK(grown.records() <= 18);
  grown.close();
}

TEST_CASE("merged records: larger ones stay as they are", "[core][container]") {
  Grown grown(0, 2000);  // 16,000 bytes a row: less than eight of them are one large record
  grown.create();
  grown.commit_rows(12);
  CHECK(grown.records() == 12);
  CHECK(grown.right());
}

TEST_CASE("merged records: not where steps, ranges or FTI need the old ones", "[core][container]") {
  for (int what = 0; what < 3; ++what) {
    CAPTURE(what);
    Grown grown(0, 3);
    grown.change = [what](ContainerOptions& options) {
      if (what == 0) options.keep = 3;
      if (what == 1) options.minmax = true;
      if (what == 2) options.stream.hash = fti::HashKind::kMd5;
    };
    grown.create();
    grown.commit_rows(30);
    CHECK(grown.records() == 30);
    CHECK(grown.right());
    grown.close();
  }
}

TEST_CASE("merged records: damage is not hidden by a new hash", "[core][container]") {
  Grown grown(0, 3);
  grown.create();
  grown.commit_rows(7);
  grown.close();
  auto bytes = grown.disk.content(kName);
  const std::vector<std::uint64_t> third{value_of(3, 0), value_of(3, 1), value_of(3, 2)};
  const auto at = std::ranges::search(bytes, bytes_of(third)).begin();
  REQUIRE(at != bytes.end());
  *at ^= std::byte{1};
  grown.disk.put(kName, bytes);

  grown.change = [](ContainerOptions& options) { options.verify = Verification::kNone; };
  grown.open();
  grown.commit_rows(20);
  grown.close();
  grown.change = [](ContainerOptions&) {};
  grown.open();
  CHECK_FALSE(grown.readable());
  grown.close();
}

TEST_CASE("merged records: none gets or loses a hash", "[core][container]") {
  const auto without = [](ContainerOptions& options) {
    options.stream.hash = fti::HashKind::kNone;
  };
  const auto with = [](ContainerOptions&) {};
  for (const bool hashed_first : {true, false}) {
    CAPTURE(hashed_first);
    Grown grown(0, 3);
    grown.change = hashed_first ? std::function<void(ContainerOptions&)>(with) : without;
    grown.create();
    grown.commit_rows(7);
    grown.close();
    grown.change = hashed_first ? std::function<void(ContainerOptions&)>(without) : with;
    grown.open();
    grown.commit_rows(7);
    CHECK(grown.records() == 14);
    grown.commit_rows(9);
    CHECK(grown.records() == 23);
    CHECK(grown.right());
    grown.close();
  }
  Grown grown(0, 3);
  grown.change = without;
  grown.create();
  grown.commit_rows(40);
  CHECK(grown.records() < 20);
  CHECK(grown.right());
  grown.close();
}

TEST_CASE("merged records: what changes meanwhile is seen as it was written", "[core][container]") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);  // NOLINT: the same each time
    const auto below = [&](std::uint64_t n) { return n == 0 ? 0 : random() % n; };
    Grown grown(0, 4);
    grown.create();
    std::uint64_t mark = 0;
    for (int turn = 0; turn < 150; ++turn) {
      const auto kind = below(20);
      const auto& extent = grown.extent();
      if (kind < 13) {
        grown.add_row();
        if (kind < 11) grown.commit();
      } else if (kind < 15 && extent[0] > 0) {
        const std::uint64_t row = below(extent[0]);
        const std::uint64_t column = below(4);
        grown.write({Dims{row, column}, Dims{1 + below(std::min<std::uint64_t>(extent[0] - row, 9)),
                                             1 + below(4 - column)}},
                    ++mark << 40);
      } else if (kind == 15) {
        grown.extent(extent[0] - below(std::min<std::uint64_t>(extent[0] + 1, 12)), 4);
      } else if (kind == 16) {
        grown.extent(extent[0] + below(3), 4);
      } else if (kind == 17) {
        grown.close();
        REQUIRE(grown.right_for_another());
        grown.open();
      } else {
        grown.commit();
      }
      REQUIRE(grown.right());
    }
    grown.close();
    REQUIRE(grown.right_for_another());
  }
}

}  // namespace
}  // namespace bento
