// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/index.hpp"

#include <map>
#include <random>

#include <catch2/catch_test_macros.hpp>

namespace bento {
namespace {

using Random = std::mt19937_64;

std::uint64_t below(Random& random, std::uint64_t limit) {
  return random() % limit;
}

Box random_box(Random& random, const Dims& extent) {
  Box box{Dims(extent.rank()), Dims(extent.rank())};
  for (unsigned d = 0; d < extent.rank(); ++d) {
    box.start[d] = below(random, extent[d]);
    box.count[d] = 1 + below(random, extent[d] - box.start[d]);
  }
  return box;
}

/// Calls visit(row-major position in `extent`, coordinates) for each element of `box`.
template <class Visit>
void for_each_element(const Dims& extent, const Box& box, const Visit& visit) {
  for (std::uint64_t i = 0; i < box.elements(); ++i) {
    Box element{Dims(box.rank()), Dims(box.rank(), 1)};
    std::uint64_t rest = i;
    for (unsigned d = box.rank(); d-- > 0;) {
      element.start[d] = box.start[d] + rest % box.count[d];
      rest /= box.count[d];
    }
    visit(row_major_offset(Box::whole(extent), element), element);
  }
}

/// The truth by brute force: which record an element shows, -1 for none.
struct Painting {
  Dims extent;
  std::vector<std::pair<Record, std::size_t>> records;
  std::vector<ExtentEvent> clips;

  [[nodiscard]] std::int64_t at(const Box& element) const {
    std::int64_t best = -1;
    Order best_order;
    for (const auto& [record, number] : records) {
      bool shown = contains(record.box, element);
      for (const auto& clip : clips)
        if (record.order.collective < clip.collective)
          shown = shown && contains(Box::whole(clip.extent), element);
      if (shown && (best < 0 || record.order > best_order)) {
        best = static_cast<std::int64_t>(number);
        best_order = record.order;
      }
    }
    return best;
  }
};

/// With one dataset, number 0.
Index index_of(unsigned rank) {
  Index index;
  DatasetDeclaration declaration;
  declaration.rank = rank;
  index.declare(declaration);
  return index;
}

/// Any box, collective count and rank, written at `time`.
void add_random(Random& random, std::uint64_t time, Index& index, Painting& truth) {
  Record record;
  record.box = random_box(random, truth.extent);
  record.order = {below(random, 6), time, static_cast<std::uint32_t>(below(random, 3))};
  const auto position = index.add(record);
  REQUIRE(position);
  truth.records.emplace_back(record, *position);
}

void check_against(const Painting& truth, const Index& index, const Box& selection,
                   const Result<Lookup>& lookup) {
  REQUIRE(lookup);
  std::map<std::uint64_t, std::int64_t> found;
  for (const auto& piece : lookup->pieces) {
    REQUIRE(contains(selection, piece.part));
    REQUIRE(contains(index.record(0, piece.record).box, piece.part));
    for_each_element(truth.extent, piece.part, [&](std::uint64_t at, const Box&) {
      REQUIRE(found.emplace(at, static_cast<std::int64_t>(piece.record)).second);  // disjoint
    });
  }
  for (const auto& hole : lookup->uncovered)
    for_each_element(truth.extent, hole,
                     [&](std::uint64_t at, const Box&) { REQUIRE(found.emplace(at, -1).second); });
  REQUIRE(found.size() == selection.elements());
  for_each_element(truth.extent, selection, [&](std::uint64_t at, const Box& element) {
    REQUIRE(found[at] == truth.at(element));
  });
}

void check_against(const Painting& truth, const Index& index, const Box& selection) {
  check_against(truth, index, selection, index.find(0, selection));
}

TEST_CASE("index: finds what painting finds, for any boxes, orders and clips", "[core][index]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    Painting truth;
    const auto rank = static_cast<unsigned>(below(random, 4));
    truth.extent = Dims(rank);
    for (unsigned d = 0; d < rank; ++d) truth.extent[d] = 1 + below(random, 12);
    Index index = index_of(rank);
    const std::uint64_t steps = 1 + below(random, 120);
    for (std::uint64_t i = 0; i < steps; ++i) {
      if (rank > 0 && below(random, 10) == 0) {
        ExtentEvent event{0, below(random, 6), Dims(rank)};
        for (unsigned d = 0; d < rank; ++d) event.extent[d] = below(random, truth.extent[d] + 1);
        REQUIRE(index.clip(event));
        truth.clips.push_back(event);
        continue;
      }
      add_random(random, i, index, truth);
      if (below(random, 8) == 0) check_against(truth, index, random_box(random, truth.extent));
    }
    check_against(truth, index, Box::whole(truth.extent));
  }
}

TEST_CASE("index: hidden records are those of which nothing is ever seen", "[core][index]") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    Painting truth;
    const auto rank = static_cast<unsigned>(1 + below(random, 3));
    truth.extent = Dims(rank);
    for (unsigned d = 0; d < rank; ++d) truth.extent[d] = 1 + below(random, 8);
    Index index = index_of(rank);
    for (std::uint64_t i = 0; i < 400; ++i) {
      const std::uint64_t what = below(random, 60);
      if (what == 0) {
        ExtentEvent event{0, below(random, 6), Dims(rank)};
        for (unsigned d = 0; d < rank; ++d)
          event.extent[d] = truth.extent[d] - below(random, truth.extent[d] / 2 + 1);
        REQUIRE(index.clip(event));
        truth.clips.push_back(event);
      } else if (what < 10 && !truth.records.empty()) {  // written again, as late as can be
        auto& [record, position] = truth.records[below(random, truth.records.size())];
        record.order = {5, 1000 + i, 0};
        index.replace(0, position, record);
      } else if (what < 15) {
        const Box selection =
            what < 13 ? Box::whole(truth.extent) : random_box(random, truth.extent);
        check_against(truth, index, selection, index.find_and_hide(0, selection));
      } else {
        add_random(random, i, index, truth);
      }
    }
    check_against(truth, index, Box::whole(truth.extent));
  }
}

TEST_CASE("index: a record that was replaced or grew shows its new box", "[core][index]") {
  Index index = index_of(1);
  Record record;
  record.box = {Dims{0}, Dims{4}};
  for (std::uint64_t i = 0; i < 200; ++i) {
    record.box.start[0] = 10 * i;
    REQUIRE(index.add(record));
  }
  REQUIRE(index.find(0, {Dims{0}, Dims{10}})->pieces.size() == 1);  // builds the tree
  record.box = {Dims{5000}, Dims{8}};
  index.replace(0, 3, record);
  REQUIRE(index.find(0, {Dims{30}, Dims{4}})->pieces.empty());
  REQUIRE(index.find(0, {Dims{5000}, Dims{8}})->pieces.size() == 1);
  record.box = {Dims{44}, Dims{8000}};
  REQUIRE(index.joins(4, record) == 0);
  index.grow(4, record, 0, 0);
  REQUIRE(index.find(0, {Dims{7000}, Dims{8}})->pieces.size() == 1);
}

// Over the tree, behind it, and where changes of extent hide parts.
TEST_CASE("index: a record that grows is what the longer one in its place would be",
          "[core][index]") {
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    const auto rank = static_cast<unsigned>(1 + below(random, 3));
    const Dims extent(rank, 6);
    Index grown = index_of(rank);
    Index replaced = index_of(rank);
    std::vector<Record> records;
    const auto add = [&](const Record& record) {
      REQUIRE(grown.add(record));
      REQUIRE(replaced.add(record));
      records.push_back(record);
    };
    const auto same = [&] {
      const auto one = grown.find(0, Box::whole(extent));
      const auto other = replaced.find(0, Box::whole(extent));
      REQUIRE(one->pieces.size() == other->pieces.size());
      for (std::size_t i = 0; i < one->pieces.size(); ++i) {
        REQUIRE(one->pieces[i].record == other->pieces[i].record);
        REQUIRE(one->pieces[i].part == other->pieces[i].part);
      }
    };
    const std::uint64_t count = below(random, 4) == 0 ? 100 : 3;
    for (std::uint64_t i = 0; i < count; ++i) {
      Record record;
      record.box = random_box(random, extent);
      record.order = {below(random, 3), i, 0};
      record.encoding = below(random, 8) == 0 ? Encoding::kFiltered : Encoding::kPlain;
      record.stored_bytes = 8 * record.box.elements();
      add(record);
    }
    for (std::uint64_t step = 0; step < 6; ++step) {
      if (below(random, 4) == 0) {
        const ExtentEvent event{0, below(random, 3), Dims(rank, 2 + below(random, 5))};
        REQUIRE(grown.clip(event));
        REQUIRE(replaced.clip(event));
      }
      if (below(random, 2) == 0) same();  // may build a tree
      const std::size_t at = below(random, records.size());
      Record& record = records[at];
      Record by;
      by.box = random_box(random, extent);
      for (unsigned d = 0; d < rank; ++d)
        if (below(random, 4) != 0) by.box.start[d] = record.box.start[d];
      const auto along = static_cast<unsigned>(below(random, rank));
      by.box.start[along] = record.box.start[along] + record.box.count[along];
      by.order = {below(random, 4) == 0 ? 1 : record.order.collective, 1000 + step, 0};
      Box longer = record.box;
      const bool wanted = record.encoding == Encoding::kPlain &&
                          by.order.collective == record.order.collective &&
                          append_row_major(longer, by.box);
      const auto dimension = grown.joins(at, by);
      REQUIRE(dimension.has_value() == wanted);
      if (wanted) {
        grown.grow(at, by, *dimension, 8 * by.box.elements());
        CHECK(longer.count[*dimension] == record.box.count[*dimension] + by.box.count[*dimension]);
        record.box = longer;
        record.stored_bytes += 8 * by.box.elements();
        replaced.replace(0, at, record);
      }
      const Record now = grown.record(0, at);
      REQUIRE(now.box == record.box);
      REQUIRE(now.stored_bytes == record.stored_bytes);
      REQUIRE(now.order == record.order);
      same();
    }
  }
}

TEST_CASE("index: refuses records of unknown datasets and of other rank", "[core][index]") {
  Index index;
  Record record;
  record.box = {Dims{0}, Dims{1}};
  REQUIRE(index.add(record).error().code == Code::kCorrupt);
  DatasetDeclaration declaration;
  declaration.rank = 2;
  index.declare(declaration);
  REQUIRE(index.add(record).error().code == Code::kCorrupt);
}

TEST_CASE("index: many disjoint records, few hits, and a selection of all of them",
          "[core][index]") {
  Index index = index_of(2);
  constexpr std::uint64_t kSide = 200;
  for (std::uint64_t i = 0; i < kSide * kSide; ++i) {
    Record record;
    record.box = {Dims{i / kSide * 4, i % kSide * 4}, Dims{4, 4}};
    record.order.time_ns = i;
    REQUIRE(index.add(record));
  }
  REQUIRE(index.find(0, {Dims{8, 8}, Dims{8, 4}})->pieces.size() == 2);
  const auto all = index.find(0, {Dims{0, 0}, Dims{kSide * 4, kSide * 4}});
  REQUIRE(all->uncovered.empty());
  std::uint64_t elements = 0;
  for (const auto& piece : all->pieces) elements += piece.part.elements();
  REQUIRE(elements == 16 * kSide * kSide);
}

}  // namespace
}  // namespace bento
