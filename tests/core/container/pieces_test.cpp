// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/pieces.hpp"

#include "core/records/index.hpp"

#include <map>
#include <random>

#include <catch2/catch_test_macros.hpp>

namespace bento {
namespace {

constexpr std::uint64_t kChunk = 1u << 20;
constexpr std::uint64_t kElement = 4;

struct Layout {
  Index index;
  ContainerPlan plan;
  std::uint64_t end = 96;
  std::uint64_t time = 0;

  explicit Layout(unsigned rank) {
    const FileGroup group{4, 2, kChunk};
    plan = *ContainerPlan::of({&group, 1}, 4096);
    index.declare({0, {}, kElement, rank, 0});
  }
  Record put(Dims start, Dims count, std::uint32_t writer = 0, std::uint64_t gap = 0) {
    Record record;
    record.box = {start, count};
    record.order = {1, ++time, writer};
    end += gap;
    record.where = {writer, end};
    record.stored_bytes = record.box.elements() * kElement;
    end += record.stored_bytes;
    REQUIRE(index.add(record));
    return record;
  }
  RecordLookup seen(const Dims& extent) const {
    const auto lookup = index.find(0, Box::whole(extent));
    REQUIRE(lookup);
    RecordLookup out;
    out.pieces = lookup->pieces;
    for (std::size_t i = 0; i < index.size(0); ++i) out.records.push_back(index.record(0, i));
    return out;
  }
  ViewPieces pieces(Dims extent) const {
    auto found = view_pieces(seen(extent), plan);
    REQUIRE(found);
    return *found;
  }
};

/// Where each element of the extent comes from: file and address.
using Places = std::map<std::uint64_t, std::pair<std::uint32_t, std::uint64_t>>;

Places expand(const ViewPieces& pieces, const Dims& extent) {
  Places places;
  const Box whole = Box::whole(extent);
  for (const auto& mapping : pieces.mappings) {
    const ViewSource& source = pieces.sources[mapping.source];
    REQUIRE(source.bytes == source.shape.product() * kElement);
    REQUIRE(mapping.from.elements() == mapping.to.elements() * mapping.repeat);
    // Both selections are walked in row-major order, as HDF5 does.
    std::vector<std::uint64_t> from;
    std::vector<std::uint64_t> to;
    const auto walk = [](const Box& in, const Box& box, std::vector<std::uint64_t>& out) {
      for (std::uint64_t i = 0; i < box.elements(); ++i) {
        Box one = box;
        std::uint64_t rest = i;
        for (unsigned d = box.rank(); d-- > 0;) {
          one.start[d] += rest % box.count[d];
          one.count[d] = 1;
          rest /= box.count[d];
        }
        out.push_back(row_major_offset(in, one));
      }
    };
    walk(Box::whole(source.shape), mapping.from, from);
    for (std::uint64_t r = 0; r < mapping.repeat; ++r) {
      Box box = mapping.to;
      box.start[mapping.dim] += r * mapping.stride;
      walk(whole, box, to);
    }
    std::sort(to.begin(), to.end());
    REQUIRE(from.size() == to.size());
    for (std::size_t i = 0; i < to.size(); ++i)
      REQUIRE(places.emplace(to[i], std::pair{source.file, source.address + from[i] * kElement})
                  .second);  // disjoint
  }
  return places;
}

TEST_CASE("view pieces: one record is one piece", "[core][view]") {
  Layout layout(2);
  const Record record = layout.put({0, 0}, {10, 20}, 1);
  const auto pieces = layout.pieces({10, 20});
  REQUIRE(pieces.sources.size() == 1);
  REQUIRE(pieces.mappings.size() == 1);
  CHECK(pieces.sources[0].address == layout.plan.file(0).address(1, record.where.offset));
  CHECK(pieces.sources[0].shape == Dims{10, 20});
}

TEST_CASE("view pieces: neighbours in dataset and file become one", "[core][view]") {
  Layout layout(2);
  layout.put({0, 0}, {10, 20});
  layout.put({10, 0}, {5, 20});
  CHECK(layout.pieces({15, 20}).sources.size() == 1);

  SECTION("not across a gap in the file") {
    layout.put({15, 0}, {5, 20}, 0, 64);
    CHECK(layout.pieces({20, 20}).sources.size() == 2);
  }
  SECTION("not from another writer") {
    layout.put({15, 0}, {5, 20}, 1);
    CHECK(layout.pieces({20, 20}).sources.size() == 2);
  }
}

TEST_CASE("view pieces: a regular stride is one mapping", "[core][view]") {
  Layout layout(1);
  for (std::uint64_t i = 0; i < 100; ++i) layout.put({i * 40}, {10});
  const auto pieces = layout.pieces({4000});
  REQUIRE(pieces.mappings.size() == 1);
  CHECK(pieces.mappings[0].repeat == 100);
  CHECK(pieces.mappings[0].stride == 40);
  CHECK(expand(pieces, {4000}).size() == 1000);
}

TEST_CASE("view pieces: a stride whose order is not the file's stays apart", "[core][view]") {
  Layout layout(2);
  for (std::uint64_t i = 0; i < 10; ++i) layout.put({0, i * 4}, {2, 2});  // two rows each
  const auto pieces = layout.pieces({2, 40});
  CHECK(pieces.mappings.size() == 10);
  CHECK(expand(pieces, {2, 40}).size() == 40);
}

TEST_CASE("view pieces: what a shrink cut off is not shown", "[core][view]") {
  Layout layout(1);
  layout.put({0}, {100});
  REQUIRE(layout.index.clip({0, 5, {60}}));
  CHECK(expand(layout.pieces({80}), {80}).size() == 60);
}

TEST_CASE("view pieces: random overlaps equal a painted array", "[core][view]") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Layout layout(2);
    const Dims extent{12, 15};
    Places expected;
    const int records = 1 + static_cast<int>(random() % 30);
    for (int i = 0; i < records; ++i) {
      const bool follow = random() % 2 == 0;  // rows below each other merge often
      Dims start(2);
      Dims count(2);
      for (unsigned d = 0; d < 2; ++d) {
        start[d] = random() % extent[d];
        count[d] = 1 + random() % (extent[d] - start[d]);
      }
      if (follow) {
        start[1] = 0;
        count[1] = extent[1];
        count[0] = 1;
      }
      const auto writer = static_cast<std::uint32_t>(random() % 4);
      const Record record = layout.put(start, count, writer, random() % 3 == 0 ? 64 : 0);
      const std::uint32_t file = layout.plan.file_of(writer);
      const std::uint64_t address =
          layout.plan.file(file).address(layout.plan.local_task(writer), record.where.offset);
      for (std::uint64_t row = 0; row < count[0]; ++row)
        for (std::uint64_t column = 0; column < count[1]; ++column)
          expected[(start[0] + row) * extent[1] + start[1] + column] = {
              file, address + (row * count[1] + column) * kElement};
    }
    CAPTURE(round);
    REQUIRE(expand(layout.pieces(extent), extent) == expected);
  }
}

TEST_CASE("view pieces: a record of a writer that is not there is refused", "[core][view]") {
  Layout layout(1);
  layout.put({0}, {10}, 9);
  CHECK_FALSE(view_pieces(layout.seen(Dims{10}), layout.plan));
}

}  // namespace
}  // namespace bento
