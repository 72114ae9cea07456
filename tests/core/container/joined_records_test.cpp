// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Pieces that are written in another order than they lie in, or to several datasets in turns:
/// their records are joined before they go to the file, and nothing that anybody reads is another
/// for it.
#include <algorithm>
#include <deque>
#include <random>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "core/catalogue/committed_index.hpp"
#include "core/geometry/joined_boxes.hpp"
#include "core/layout/root.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;
using Random = std::mt19937_64;

std::uint64_t below(Random& random, std::uint64_t limit) {
  return random() % limit;
}

std::vector<std::uint64_t> corners_of(const std::vector<Box>& boxes) {
  std::vector<std::uint64_t> corners;
  for (const Box& box : boxes) {
    for (const auto start : box.start.view()) corners.push_back(start);
    for (const auto count : box.count.view()) corners.push_back(count);
  }
  return corners;
}

std::optional<JoinedBoxes> join(const std::vector<Box>& boxes, std::uint64_t most = 1u << 20) {
  return join_boxes(corners_of(boxes), boxes.front().rank(), most);
}

JoinedBoxes must_join(const std::vector<Box>& boxes) {
  auto joined = join(boxes);
  REQUIRE(joined);
  return std::move(*joined);
}

/// The boxes of a grid, cut off at `extent`.
std::vector<Box> grid_of(const Dims& extent, const Dims& cell) {
  std::vector<Box> boxes{{Dims(extent.rank()), Dims(extent.rank())}};
  for (unsigned d = 0; d < extent.rank(); ++d) {
    std::vector<Box> more;
    for (Box box : boxes)
      for (std::uint64_t at = 0; at < extent[d]; at += cell[d]) {
        box.start[d] = at;
        box.count[d] = std::min(cell[d], extent[d] - at);
        more.push_back(box);
      }
    boxes = std::move(more);
  }
  return boxes;
}

/// One dataset, and what must be in it.
struct Model {
  DatasetNumber number = 0;
  Dims extent;
  std::vector<std::uint64_t> values;

  void fill(const Box& box, const std::vector<std::uint64_t>& with) {
    copy_box(box, box, reinterpret_cast<const std::byte*>(with.data()), Box::whole(extent),
             reinterpret_cast<std::byte*>(values.data()), 8);
  }
  void resize(const Dims& to) {
    std::vector<std::uint64_t> fresh(to.product(), 0);
    const Box kept = intersect(Box::whole(to), Box::whole(extent));
    if (!kept.empty())
      copy_box(kept, Box::whole(extent), reinterpret_cast<const std::byte*>(values.data()),
               Box::whole(to), reinterpret_cast<std::byte*>(fresh.data()), 8);
    extent = to;
    values = std::move(fresh);
  }
};

std::vector<std::uint64_t> values_in(Container& container, const Model& model) {
  return must(read_box(container, model.number, Box::whole(model.extent)));
}

std::size_t records_in(Container& container, const Model& model) {
  const RecordLookup found = must(container.find(model.number, Box::whole(model.extent)));
  std::set<std::size_t> seen;
  for (const Piece& piece : found.pieces) seen.insert(piece.record);
  return seen.size();
}

/// May a record of the newest step hold such a value?
bool holds_values(File& file, DatasetNumber dataset, const Box& selection,
                  const ValueRange& values) {
  const Root root = must(probe(file)).root;
  const auto plan = must(ContainerPlan::of(root.groups, root.fs_block));
  CommittedIndex index = must(CommittedIndex::open(file, plan.file(0), root.index));
  FindOptions options;
  options.values = values;
  return !must(index.steps().find(dataset, selection, options)).pieces.empty();
}

/// One rank that writes.
class Writer {
 public:
  explicit Writer(const std::function<void(ContainerOptions&)>& change = {}) {
    options_ = small_options(disk.opener());
    options_.chunk_bytes = 4u << 20;
    if (change) change(options_);
    container = must(Container::create("box", false, options_, make_self_communicator()));
  }
  Model& declare(const Dims& extent) {
    container->note_collective("create", {});
    Model model;
    model.number = container->declare({std::byte(models.size() + 1)}, 8, extent.rank(), 0);
    model.extent = extent;
    model.values.resize(extent.product());
    models.push_back(std::move(model));
    return models.back();
  }
  void write(Model& model, const Box& box) {
    std::vector<std::uint64_t> values(box.elements());
    for (auto& value : values) value = ++stamp_;
    model.fill(box, values);
    require_ok(container->write(model.number, box, 8, bytes_of(values)));
  }
  void commit() {
    container->skeleton().write(0, skeleton_bytes(++step_));
    require_ok(container->commit());
  }
  /// Between small records of it, unwritten elements may be stored.
  void take_gaps(const Model& model, std::uint64_t longest = 1000) {
    UnwrittenElements none;
    none.value.resize(8);
    none.most = Dims(model.extent.rank());
    for (unsigned d = 0; d < none.most.rank(); ++d) none.most[d] = longest;
    container->note_unwritten(model.number, none);
  }
  bool right() {
    return std::ranges::all_of(
        models, [&](const Model& model) { return values_in(*container, model) == model.values; });
  }
  bool right_for_another() {
    const auto other = must(Container::open("box", false, options_, make_self_communicator()));
    return std::ranges::all_of(
        models, [&](const Model& model) { return values_in(*other, model) == model.values; });
  }
  void close() { require_ok(container->close()); }
  void open() {
    container = must(Container::open("box", true, options_, make_self_communicator()));
  }

  MemoryFileSystem disk;
  std::unique_ptr<Container> container;
  std::deque<Model> models;

 private:
  ContainerOptions options_;
  std::uint64_t stamp_ = 0;
  std::uint64_t step_ = 0;
};

}  // namespace

TEST_CASE("joined boxes: boxes that fill one in any order are one", "[core][geometry]") {
  Random random(7);  // NOLINT: the same each time
  for (const auto& [extent, cell] : std::vector<std::pair<Dims, Dims>>{
           {Dims{1000}, Dims{1}},
           {Dims{1000}, Dims{7}},
           {Dims{40, 30}, Dims{1, 30}},
           {Dims{40, 30}, Dims{40, 1}},
           {Dims{40, 30}, Dims{1, 1}},
           {Dims{41, 31}, Dims{4, 3}},
           {Dims{9, 8, 7}, Dims{2, 3, 4}},
           {Dims{4, 3, 2, 5, 3}, Dims{1, 1, 1, 1, 1}},
       }) {
    std::vector<Box> boxes = grid_of(extent, cell);
    std::ranges::shuffle(boxes, random);
    const auto joined = join(boxes);
    REQUIRE(joined);
    CHECK(joined->boxes.size() == 1);
    CHECK(joined->boxes.front() == Box::whole(extent));
    CHECK(std::ranges::all_of(joined->box_of, [](std::size_t box) { return box == 0; }));
  }
}

TEST_CASE("joined boxes: what is joined has the same elements, and no more than allowed",
          "[core][geometry]") {
  Random random(8);  // NOLINT: the same each time
  for (int turn = 0; turn < 300; ++turn) {
    CAPTURE(turn);
    const auto rank = static_cast<unsigned>(1 + below(random, 3));
    Dims extent(rank);
    Dims cell(rank);
    for (unsigned d = 0; d < rank; ++d) {
      extent[d] = 1 + below(random, rank == 1 ? 300 : 14);
      cell[d] = 1 + below(random, 4);
    }
    std::vector<Box> boxes = grid_of(extent, cell);
    std::ranges::shuffle(boxes, random);
    if (boxes.size() < 2) continue;
    boxes.resize(2 + below(random, boxes.size() - 1));
    const std::uint64_t most = 1 + below(random, 200);
    const auto joined = join(boxes, most);
    REQUIRE(joined);
    std::vector<std::uint64_t> elements(joined->boxes.size());
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      CHECK(contains(joined->boxes[joined->box_of[i]], boxes[i]));
      elements[joined->box_of[i]] += boxes[i].elements();
    }
    for (std::size_t i = 0; i < joined->boxes.size(); ++i) {
      CHECK(joined->boxes[i].elements() == elements[i]);
      CHECK((elements[i] <= most || std::ranges::count(joined->box_of, i) == 1));
    }
  }
}

TEST_CASE("joined boxes: where some may overlap, none is joined", "[core][geometry]") {
  const Box row{Dims{0, 0}, Dims{1, 10}};
  const Box below_it{Dims{1, 0}, Dims{1, 10}};
  CHECK(join({row, below_it}));
  CHECK_FALSE(join({row, below_it, row}));
  CHECK_FALSE(join({row, below_it, {Dims{0, 3}, Dims{10, 1}}}));
  CHECK_FALSE(join({row, below_it, {Dims{1, 5}, Dims{1, 10}}}));
  CHECK_FALSE(join({{Dims{0}, Dims{5}}, {Dims{5}, Dims{5}}, {Dims{9}, Dims{2}}}));
  // Of several lengths, one behind the other.
  const auto joined = join({{Dims{7}, Dims{5}}, {Dims{0}, Dims{3}}, {Dims{3}, Dims{4}}});
  REQUIRE(joined);
  CHECK(joined->boxes.size() == 1);
  CHECK(must_join({{Dims{0}, Dims{3}}, {Dims{4}, Dims{4}}}).boxes.size() == 2);
}

TEST_CASE("joined boxes: gaps become part of a box, as far as the limits go", "[core][geometry]") {
  const auto over_gaps = [](const std::vector<Box>& boxes, const GapLimits& limits,
                            std::vector<Box> refused = {}) {
    JoinedBoxes joined = must_join(boxes);
    join_over_gaps(joined, limits, [&](const Box& box, std::uint64_t elements) {
      std::uint64_t within = 0;
      for (const Box& one : boxes)
        if (contains(box, one)) within += one.elements();
      CHECK(elements == within);
      return std::ranges::find(refused, box) == refused.end();
    });
    for (std::size_t i = 0; i < boxes.size(); ++i)
      CHECK(contains(joined.boxes[joined.box_of[i]], boxes[i]));
    return joined.boxes;
  };
  const GapLimits wide{Dims{100, 100}, 1000, 100, 10000};
  std::vector<Box> rows;
  for (const std::uint64_t row : {6u, 0u, 2u, 4u, 8u}) rows.push_back({Dims{row, 3}, Dims{1, 10}});
  const Box around{Dims{0, 3}, Dims{9, 10}};
  CHECK(over_gaps(rows, wide) == std::vector<Box>{around});
  CHECK(over_gaps(rows, wide, {around}).size() == 5);
  CHECK(over_gaps(rows, {Dims{0, 100}, 1000, 100, 10000}).size() == 5);
  CHECK(over_gaps(rows, {Dims{100, 100}, 9, 100, 10000}).size() == 5);
  CHECK(over_gaps(rows, {Dims{100, 100}, 1000, 0, 10000}).size() == 5);
  CHECK(over_gaps(rows, {Dims{100, 100}, 1000, 100, 30}).size() == 3);
  // Every second element in both dimensions.
  std::vector<Box> points;
  for (std::uint64_t row = 0; row < 20; row += 2)
    for (std::uint64_t column = 1; column < 20; column += 2)
      points.push_back({Dims{row, column}, Dims{1, 1}});
  CHECK(over_gaps(points, wide) == std::vector<Box>{{Dims{0, 1}, Dims{19, 19}}});
  // What is far from them stays what it is.
  points.push_back({Dims{19, 99}, Dims{1, 1}});
  CHECK(over_gaps(points, {Dims{100, 100}, 20, 100, 10000}).size() == 2);
}

TEST_CASE("joined records: pieces in any order become few records", "[core][container]") {
  Random random(3);  // NOLINT: the same each time
  for (const auto& [extent, cell] : std::vector<std::pair<Dims, Dims>>{
           {Dims{3000}, Dims{1}},
           {Dims{500, 16}, Dims{1, 16}},
           {Dims{60, 50}, Dims{1, 1}},
           {Dims{16, 16, 16}, Dims{4, 4, 4}},
       }) {
    Writer writer;
    Model& model = writer.declare(extent);
    std::vector<Box> boxes = grid_of(extent, cell);
    std::ranges::shuffle(boxes, random);
    for (const Box& box : boxes) writer.write(model, box);
    CHECK(writer.right());
    writer.commit();
    CHECK(records_in(*writer.container, model) == 1);
    CHECK(writer.right());
    writer.close();
    CHECK(writer.right_for_another());
  }
}

TEST_CASE("joined records: rows of several datasets in turns become few records",
          "[core][container]") {
  for (const bool grow : {false, true}) {
    Writer writer;
    for (int i = 0; i < 4; ++i) writer.declare(Dims{grow ? 0u : 300u, 8});
    for (std::uint64_t row = 0; row < 300; ++row)
      for (Model& model : writer.models) {
        if (grow) {
          writer.container->note_collective("extent", {});
          model.resize(Dims{row + 1, 8});
          require_ok(writer.container->set_extent(model.number, model.extent));
        }
        writer.write(model, {Dims{row, 0}, Dims{1, 8}});
      }
    writer.commit();
    for (const Model& model : writer.models) CHECK(records_in(*writer.container, model) == 1);
    writer.close();
    CHECK(writer.right_for_another());
  }
}

TEST_CASE("joined records: what the buffer cannot hold is joined, too", "[core][container]") {
  Writer writer([](ContainerOptions& options) { options.stream.buffer_bytes = 16u << 10; });
  for (int i = 0; i < 2; ++i) writer.declare(Dims{2000, 8});
  writer.commit();
  for (std::uint64_t row = 0; row < 2000; ++row)
    for (Model& model : writer.models) writer.write(model, {Dims{row, 0}, Dims{1, 8}});
  CHECK(writer.right());
  writer.commit();
  for (const Model& model : writer.models) CHECK(records_in(*writer.container, model) <= 20);
  writer.close();
  CHECK(writer.right_for_another());
}

TEST_CASE("joined records: pieces with small gaps between them become one", "[core][container]") {
  Writer writer;
  Model& model = writer.declare(Dims{1000, 16});
  const auto every_second = [&](std::uint64_t first) {
    for (std::uint64_t row = first; row < 1000; row += 2)
      writer.write(model, {Dims{row, 0}, Dims{1, 16}});
  };
  CHECK_FALSE(writer.container->asks_unwritten(model.number));
  every_second(1);
  CHECK(writer.container->asks_unwritten(model.number));
  SECTION("as long as nobody has written there") {
    writer.take_gaps(model);
    CHECK_FALSE(writer.container->asks_unwritten(model.number));
    writer.commit();
    CHECK(records_in(*writer.container, model) == 1);
    CHECK(writer.right());
    every_second(0);  // what lies between is there now
    writer.commit();
    CHECK(records_in(*writer.container, model) == 501);
  }
  SECTION("unless another record of the session lies there") {
    writer.take_gaps(model);
    writer.container->note_collective("extent", {});
    writer.write(model, {Dims{600, 0}, Dims{1, 16}});
    writer.write(model, {Dims{600, 4}, Dims{1, 2}});  // so it is not plain that none overlap
    writer.commit();
    CHECK(records_in(*writer.container, model) == 502);
  }
  SECTION("unless an older step has something there") {
    writer.take_gaps(model);
    writer.commit();
    writer.write(model, {Dims{10, 0}, Dims{1, 16}});
    writer.commit();
    every_second(1);
    writer.commit();
    CHECK(records_in(*writer.container, model) == 502);
  }
  SECTION("not where a gap may be a chunk that nobody has touched") {
    writer.take_gaps(model, 0);
    writer.commit();
    CHECK(records_in(*writer.container, model) == 500);
  }
  SECTION("not where what readers get is not known") {
    writer.container->note_unwritten(model.number, {});
    CHECK_FALSE(writer.container->asks_unwritten(model.number));
    writer.commit();
    CHECK(records_in(*writer.container, model) == 500);
  }
  CHECK(writer.right());
  writer.close();
  CHECK(writer.right_for_another());
}

TEST_CASE("joined records: a piece in the gap between two others is not written over",
          "[core][container]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Writer writer([&](ContainerOptions& options) {
      if (seed % 3 == 0) options.stream.buffer_bytes = 8u << 10;
    });
    const Dims extent = seed % 2 == 0 ? Dims{4000} : Dims{60, 60};
    Model& model = writer.declare(extent);
    writer.take_gaps(model, 1 + below(random, 40));
    // Cells of one grid, some of them not whole.
    Dims cell(extent.rank());
    for (unsigned d = 0; d < cell.rank(); ++d) cell[d] = 1 + below(random, 4);
    for (int session = 0; session < 2; ++session) {
      for (int step = 0; step < 3; ++step) {
        for (int turn = 0; turn < 300; ++turn) {
          Box box{cell, cell};
          for (unsigned d = 0; d < cell.rank(); ++d) {
            box.start[d] = below(random, extent[d] / cell[d]) * cell[d];
            if (below(random, 8) == 0) box.count[d] = 1 + below(random, cell[d]);
          }
          if (below(random, 100) == 0) {
            writer.container->note_collective("extent", {});
            const Dims before = model.extent;
            Dims smaller = before;
            smaller[0] = below(random, before[0]);
            for (const Dims& to : {smaller, before}) {
              model.resize(to);
              require_ok(writer.container->set_extent(model.number, to));
            }
          }
          writer.write(model, box);
        }
        REQUIRE(writer.right());
        writer.commit();
        REQUIRE(writer.right());
      }
      writer.close();
      REQUIRE(writer.right_for_another());
      writer.open();
      writer.take_gaps(model, 40);
    }
    writer.close();
  }
}

TEST_CASE("joined records: a large record that was written in between stays in between",
          "[core][container]") {
  Writer writer;
  Model& model = writer.declare(Dims{100, 1000});
  writer.commit();
  const auto rows = [&](std::uint64_t first) {
    for (std::uint64_t row = first; row < 40; row += 2) {
      writer.write(model, {Dims{row, 0}, Dims{1, 1000}});
      writer.write(model, {Dims{row, 0}, Dims{1, 1}});  // so that they do not grow
    }
  };
  const auto pieces = [&](std::uint64_t column) {
    for (std::uint64_t row = 0; row < 20; ++row)
      writer.write(model, {Dims{19 - row, column}, Dims{1, 10}});
  };
  SECTION("written once") {
    pieces(0);
    writer.write(model, {Dims{0, 0}, Dims{50, 500}});
    pieces(10);
    pieces(500);
  }
  SECTION("written anew in its place") {
    writer.write(model, {Dims{0, 0}, Dims{50, 500}});
    pieces(0);
    writer.write(model, {Dims{0, 0}, Dims{50, 500}});
    pieces(10);
  }
  SECTION("rows over each other") {
    rows(0);
    writer.write(model, {Dims{0, 0}, Dims{50, 500}});
    rows(1);
  }
  CHECK(writer.right());
  writer.commit();
  CHECK(writer.right());
  writer.close();
  CHECK(writer.right_for_another());
}

TEST_CASE("joined records: what an extent has cut stays cut", "[core][container]") {
  Writer writer;
  Model& model = writer.declare(Dims{40, 4});
  for (std::uint64_t row = 40; row-- > 0;) writer.write(model, {Dims{row, 0}, Dims{1, 4}});
  for (const std::uint64_t rows : {20u, 40u}) {
    writer.container->note_collective("extent", {});
    model.resize(Dims{rows, 4});
    require_ok(writer.container->set_extent(model.number, model.extent));
  }
  for (std::uint64_t row = 40; row-- > 30;) writer.write(model, {Dims{row, 0}, Dims{1, 4}});
  writer.commit();
  CHECK(writer.right());
  writer.close();
  CHECK(writer.right_for_another());
}

TEST_CASE("joined records: those of several datasets grow side by side", "[core][container]") {
  constexpr std::uint64_t kElements = 3000;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Writer writer([&](ContainerOptions& options) {
      if (seed % 3 == 0) options.stream.buffer_bytes = 8u << 10;
      if (seed % 3 == 1) options.stream.buffer_bytes = 64u << 10;
    });
    for (int i = 0; i < 4; ++i) writer.declare(Dims{kElements});
    if (seed % 2 == 0) writer.commit();  // from now on the buffer may go out
    std::vector<std::uint64_t> ends(writer.models.size(), 0);
    for (int turn = 0; turn < 600; ++turn) {
      CAPTURE(turn);
      const std::size_t which = below(random, ends.size());
      Model& model = writer.models[which];
      std::uint64_t& end = ends[which];
      const std::uint64_t count = std::min(1 + below(random, 30), kElements - end);
      const std::uint64_t kind = below(random, 60);
      if (kind == 0) {
        writer.commit();
      } else if (kind < 4 && end > 0) {  // over something that is there
        const std::uint64_t start = below(random, end);
        writer.write(model, {Dims{start}, Dims{1 + below(random, end - start)}});
      } else if (kind == 4) {
        end = below(random, end + 1);
      } else if (kind == 5) {
        REQUIRE(writer.right());
      } else if (count > 0) {
        writer.write(model, {Dims{end}, Dims{count}});
        end += count;
      }
    }
    REQUIRE(writer.right());
    writer.close();
    REQUIRE(writer.right_for_another());
  }
}

TEST_CASE("joined records: rows of several datasets in turns are a record each at once",
          "[core][container]") {
  Writer writer;
  for (int i = 0; i < 4; ++i) writer.declare(Dims{500, 16});
  for (std::uint64_t row = 0; row < 500; ++row)
    for (Model& model : writer.models) writer.write(model, {Dims{row, 0}, Dims{1, 16}});
  for (const Model& model : writer.models) CHECK(records_in(*writer.container, model) == 1);
  CHECK(writer.right());
  writer.commit();
  for (const Model& model : writer.models) CHECK(records_in(*writer.container, model) == 1);
  writer.close();
  CHECK(writer.right_for_another());
}

TEST_CASE("joined records: a record grows while calls make its dataset longer, not if one cut it",
          "[core][container]") {
  Writer writer;
  Model& model = writer.declare(Dims{0, 4});
  Model& other = writer.declare(Dims{9, 4});
  const auto set_extent = [&](Model& of, std::uint64_t rows) {
    const bool shrinks = rows < of.extent[0];
    writer.container->note_collective("extent", {});
    of.resize(Dims{rows, 4});
    if (shrinks) require_ok(writer.container->set_extent(of.number, of.extent));
  };
  const auto append = [&](std::uint64_t rows) {
    for (std::uint64_t row = model.extent[0]; row < rows; ++row) {
      set_extent(model, row + 1);
      writer.write(model, {Dims{row, 0}, Dims{1, 4}});
    }
  };
  append(5);
  set_extent(other, 3);
  append(7);
  CHECK(records_in(*writer.container, model) == 1);
  set_extent(model, 4);
  set_extent(model, 7);  // of what comes back nothing was written
  CHECK(writer.right());
  append(9);
  CHECK(records_in(*writer.container, model) == 2);
  CHECK(writer.right());
  writer.commit();
  CHECK(writer.right());
  writer.close();
  CHECK(writer.right_for_another());
}

TEST_CASE("joined records: smallest and largest values are those of all parts",
          "[core][container]") {
  Writer writer([](ContainerOptions& options) { options.minmax = true; });
  Model& model = writer.declare(Dims{64});
  for (std::uint64_t i = 64; i-- > 0;) {
    const std::vector<std::uint64_t> values{i};
    model.fill({Dims{i}, Dims{1}}, values);
    require_ok(writer.container->write(model.number, {Dims{i}, Dims{1}}, 8, bytes_of(values),
                                       ValueRange{i, i}));
  }
  writer.commit();
  CHECK(records_in(*writer.container, model) == 1);
  writer.close();
  const auto file = must(writer.disk.open("box", OpenMode::kRead));
  const auto may_hold = [&](const ValueRange& values) {
    return holds_values(*file, model.number, Box::whole(model.extent), values);
  };
  CHECK(may_hold({0, 0}));
  CHECK(may_hold({63, 63}));
  CHECK_FALSE(may_hold({64, 70}));
}

TEST_CASE("joined records: random programs read what they wrote", "[core][container]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Writer writer([&](ContainerOptions& options) {
      if (seed % 3 == 0) options.stream.buffer_bytes = 8u << 10;
      if (seed % 4 == 0) options.stream.hash = fti::HashKind::kNone;
      if (seed % 5 == 0) options.keep = 0;
    });
    for (const Dims& extent : {Dims{200}, Dims{30, 20}, Dims{8, 6, 10}}) writer.declare(extent);
    for (int turn = 0; turn < 60; ++turn) {
      CAPTURE(turn);
      Model& model = writer.models[below(random, writer.models.size())];
      const unsigned rank = model.extent.rank();
      const std::uint64_t kind = below(random, 20);
      if (kind < 12) {  // cells of a grid: all, or some, over what is there already
        Dims cell(rank);
        for (unsigned d = 0; d < rank; ++d)
          cell[d] = random() % 3 == 0 ? model.extent[d] : 1 + below(random, 4);
        std::vector<Box> boxes = grid_of(model.extent, cell);
        if (random() % 2 == 0) std::ranges::shuffle(boxes, random);
        if (random() % 2 == 0) boxes.resize(1 + below(random, boxes.size()));
        Model& other = writer.models[below(random, writer.models.size())];
        for (const Box& box : boxes) {
          writer.write(model, box);
          if (kind < 4) writer.write(other, {Dims(other.extent.rank()), other.extent});
        }
      } else if (kind < 15) {
        Box box{Dims(rank), Dims(rank)};
        for (unsigned d = 0; d < rank; ++d) {
          box.start[d] = below(random, model.extent[d]);
          box.count[d] = 1 + below(random, model.extent[d] - box.start[d]);
        }
        writer.write(model, box);
      } else if (kind < 17) {
        Dims extent = model.extent;
        extent[0] = 1 + below(random, 2 * extent[0] + 3);
        writer.container->note_collective("extent", {});
        model.resize(extent);
        require_ok(writer.container->set_extent(model.number, extent));
      } else if (kind == 17) {
        writer.close();
        writer.open();
      } else {
        writer.commit();
      }
      REQUIRE(writer.right());
    }
    writer.close();
    REQUIRE(writer.right_for_another());
  }
}

TEST_CASE("joined records: ranks that write rows of several datasets in turns have few records",
          "[core][container]") {
  constexpr std::uint64_t kRowsEach = 200;
  for (const bool visible : {false, true}) {
    const MemoryFileSystem disk;
    const auto results = run_ranks(3, [&](Communicator& comm) -> Status {
      const std::shared_ptr<Communicator> shared(&comm, [](Communicator*) {});
      ContainerOptions options = small_options(disk.opener());
      options.chunk_bytes = 1u << 20;
      options.share_uncommitted = visible;
      BENTO_ASSIGN(const auto container, Container::create("box", false, options, shared));
      for (int i = 0; i < 3; ++i) container->declare({}, 8, 2, 0);
      const auto column = static_cast<std::uint64_t>(comm.rank()) * 4;
      const auto part = [&](std::uint64_t row) { return Box{Dims{row, column}, Dims{1, 4}}; };
      for (std::uint64_t row = 0; row < kRowsEach; ++row)
        for (DatasetNumber number = 0; number < 3; ++number)
          BENTO_TRY(
              container->write(number, part(row), 8, bytes_of(band_values(part(row), number))));
      container->note_collective("step", {});
      container->skeleton().write(0, skeleton_bytes(1));
      BENTO_TRY(container->commit());
      const Box all{Dims{0, 0}, Dims{kRowsEach, 12}};
      for (DatasetNumber number = 0; number < 3; ++number) {
        BENTO_ASSIGN(const RecordLookup found, container->find(number, all));
        if (found.pieces.size() != 3)
          return fail(Code::kInternal, std::to_string(found.pieces.size()) + " pieces");
        BENTO_ASSIGN(const auto values, read_box(*container, number, all));
        if (values != band_values(all, number)) return fail(Code::kInternal, "wrong values");
      }
      return container->close();
    });
    for (const auto& status : results) require_ok(status);
  }
}

// A rank's rows of two datasets in turns, then a box over some of them, then those rows once more,
// which take the places of the first ones.
TEST_CASE("joined records: of ranks that see each other, one that was replaced stays the latest",
          "[core][container]") {
  const Box all{Dims{0, 0}, Dims{16, 8}};
  const Box over{Dims{9, 2}, Dims{3, 4}};
  const MemoryFileSystem disk;
  const auto results = run_ranks(2, [&](Communicator& comm) -> Status {
    const std::shared_ptr<Communicator> shared(&comm, [](Communicator*) {});
    ContainerOptions options = small_options(disk.opener());
    options.share_uncommitted = true;
    BENTO_ASSIGN(const auto container, Container::create("box", false, options, shared));
    for (int i = 0; i < 2; ++i) container->declare({}, 8, 2, 0);
    const auto write = [&](const Box& box, std::uint64_t step) -> Status {
      for (DatasetNumber number = 0; comm.rank() == 1 && number < 2; ++number)
        BENTO_TRY(container->write(number, box, 8, bytes_of(band_values(box, step))));
      return {};
    };
    for (std::uint64_t row = 0; row < 16; ++row) BENTO_TRY(write({Dims{row, 0}, Dims{1, 8}}, 1));
    BENTO_TRY(write(over, 2));
    for (std::uint64_t row = 8; row < 16; ++row) BENTO_TRY(write({Dims{row, 0}, Dims{1, 8}}, 3));
    container->note_collective("step", {});
    container->skeleton().write(0, skeleton_bytes(1));
    BENTO_TRY(container->commit());
    for (DatasetNumber number = 0; number < 2; ++number) {
      BENTO_ASSIGN(const auto values, read_box(*container, number, all));
      auto wanted = band_values(all, 1);
      const Box again{Dims{8, 0}, Dims{8, 8}};
      const auto later = band_values(again, 3);
      copy_box(again, again, reinterpret_cast<const std::byte*>(later.data()), all,
               reinterpret_cast<std::byte*>(wanted.data()), 8);
      if (values != wanted) return fail(Code::kInternal, "wrong values");
    }
    return container->close();
  });
  for (const auto& status : results) require_ok(status);
}

}  // namespace bento
