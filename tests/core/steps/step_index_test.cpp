// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/step_index.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <type_traits>

#include <catch2/catch_test_macros.hpp>

#include "core/steps/blob_cache.hpp"
#include "core/steps/step_commit.hpp"
#include "tests/core/steps/step_support.hpp"

namespace bento {
namespace {

using namespace step_test;

static_assert(!std::is_convertible_v<AbsoluteStep, RelativeStep>);
static_assert(!std::is_convertible_v<RelativeStep, AbsoluteStep>);
static_assert(!std::is_convertible_v<std::uint64_t, AbsoluteStep>);
static_assert(!std::is_constructible_v<AbsoluteStep, RelativeStep>);

DatasetDeclaration declare(DatasetNumber number, unsigned rank) {
  DatasetDeclaration dataset;
  dataset.number = number;
  dataset.rank = rank;
  dataset.element_bytes = 8;
  dataset.token.fill(static_cast<std::byte>(number));
  return dataset;
}

/// Ranks, and what they have written since the last commit.
struct Session {
  std::map<std::uint32_t, std::vector<Record>> ranks;
  bool exact_asked = false;

  std::vector<std::byte> collect(Random& random, std::set<DatasetNumber> exact = {}) {
    std::vector<std::vector<std::byte>> parts;
    for (const auto& [rank, records] : ranks) {
      ContributionBuilder::Options options;
      options.exact_times = exact;
      ContributionBuilder builder(options);
      for (const auto& record : records) REQUIRE(builder.add(record, 8));
      parts.push_back(builder.encode());
    }
    if (parts.empty()) return ContributionBuilder().encode();
    auto merged = merge_all(std::move(parts), &random);
    REQUIRE(merged);
    return std::move(*merged);
  }
  std::vector<std::byte> commit(Random& random) {
    auto merged = collect(random);
    const auto asked = datasets_that_need_exact_times(merged);
    REQUIRE(asked);
    if (!asked->empty()) {
      exact_asked = true;
      merged = collect(random, {asked->begin(), asked->end()});
      REQUIRE(datasets_that_need_exact_times(merged)->empty());
    }
    ranks.clear();
    return merged;
  }
};

/// The truth, element by element: which record (rank, position, step) is seen.
struct Seen {
  std::uint64_t step = 0;  ///< 0: nothing
  std::uint32_t rank = 0;
  std::uint64_t position = 0;
  bool operator==(const Seen&) const = default;
};
struct Truth {
  struct Written {
    std::uint64_t step;
    Record record;
  };
  std::vector<Written> records;
  std::vector<std::pair<std::uint64_t, ExtentEvent>> events;

  [[nodiscard]] Seen at(const Box& element, std::uint64_t as_of) const {
    Seen seen;
    Order best;
    for (const auto& [step, record] : records) {
      bool shown = step <= as_of && contains(record.box, element);
      for (const auto& [when, event] : events)
        if (when <= as_of && record.order.collective < event.collective)
          shown = shown && contains(Box::whole(event.extent), element);
      if (!shown || (seen.step != 0 && record.order < best)) continue;
      best = record.order;
      seen = {step, record.order.rank, record.where.offset};
    }
    return seen;
  }
};

template <class Visit>
void for_each_element(const Box& box, const Visit& visit) {
  for (std::uint64_t i = 0; i < box.elements(); ++i) {
    Box element{Dims(box.rank()), Dims(box.rank(), 1)};
    std::uint64_t rest = i;
    for (unsigned d = box.rank(); d-- > 0;) {
      element.start[d] = box.start[d] + rest % box.count[d];
      rest /= box.count[d];
    }
    visit(element);
  }
}

Box random_box(Random& random, const Dims& extent) {
  Box box{Dims(extent.rank()), Dims(extent.rank())};
  for (unsigned d = 0; d < extent.rank(); ++d) {
    box.start[d] = below(random, extent[d]);
    box.count[d] = 1 + below(random, extent[d] - box.start[d]);
  }
  return box;
}

void compare(const StepIndex& index, DatasetNumber dataset, const Truth& truth,
             const Box& selection) {
  const auto found = index.find(dataset, selection);
  REQUIRE(found);
  std::uint64_t elements = 0;
  for (const auto& piece : found->pieces) {
    const auto& record = found->records[piece.record];
    elements += piece.part.elements();
    for_each_element(piece.part, [&](const Box& element) {
      const Seen want = truth.at(element, index.as_of().number());
      const Seen have{record.step.number(), record.record.order.rank, record.record.where.offset};
      if (!(want == have)) {
        CAPTURE(index.as_of().number(), want.step, want.rank, want.position, have.step, have.rank,
                have.position, record.record.order.time_ns);
        REQUIRE(want == have);
      }
    });
  }
  for (const auto& box : found->uncovered) {
    elements += box.elements();
    for_each_element(box, [&](const Box& element) {
      if (truth.at(element, index.as_of().number()).step != 0) REQUIRE(false);
    });
  }
  REQUIRE(elements == selection.elements());
}

/// How many records of each dataset are seen, and how many there are in it.
struct RecordsSeen {
  std::size_t seen = 0;
  std::uint64_t all = 0;
};
std::map<DatasetNumber, RecordsSeen> records_seen(SegmentSource& blobs, const BlobRef& root,
                                                  AbsoluteStep step) {
  const auto index = StepIndex::open(blobs, root, step);
  REQUIRE(index);
  const auto datasets = index->datasets();
  REQUIRE(datasets);
  std::map<DatasetNumber, RecordsSeen> seen;
  for (const auto& dataset : *datasets) {
    const Box whole{Dims(dataset.rank), Dims(dataset.rank, 11)};
    seen[dataset.number] = {index->find(dataset.number, whole)->records.size(),
                            index->extent_of(dataset.number)->records};
  }
  return seen;
}

/// A step after which fewer records are seen than before it, with its own, says so. Returns how
/// often one wrote records and did not say it.
std::size_t check_hidden(const std::vector<DatasetNumber>& said,
                         const std::map<DatasetNumber, RecordsSeen>& before,
                         const std::map<DatasetNumber, RecordsSeen>& after) {
  std::size_t unsaid = 0;
  for (const auto& [number, now] : after) {
    if (std::ranges::find(said, number) != said.end()) continue;
    const auto found = before.find(number);
    const RecordsSeen old = found == before.end() ? RecordsSeen{} : found->second;
    REQUIRE(now.all >= old.all);
    REQUIRE(now.seen == old.seen + (now.all - old.all));
    if (now.all != old.all) ++unsaid;
  }
  return unsaid;
}

TEST_CASE("step index: random programs, every kept step, against the truth",
          "[core][index][step]") {
  bool exact_asked = false;
  bool dropped = false;
  bool clipped = false;
  std::size_t nothing_hidden = 0;
  for (unsigned seed = 0; seed < 24; ++seed) {
    Random random(seed);
    MemoryBlobs blobs;
    BlobRef root;
    const std::uint64_t keep = below(random, 3) == 0 ? 1 + below(random, 4) : 0;
    std::map<DatasetNumber, Dims> extents;
    std::map<DatasetNumber, Truth> truths;
    std::map<DatasetNumber, std::vector<std::uint64_t>> written;
    std::map<DatasetNumber, RecordsSeen> seen;
    std::uint64_t collective = 0;
    std::uint64_t clock = 1000;
    std::uint64_t position = 96;
    std::uint64_t step = 0;
    for (int round = 0; round < 14; ++round) {
      StepCommit commit;
      Session session;
      std::map<DatasetNumber, bool> touched;
      const auto ranks = static_cast<std::uint32_t>(1 + below(random, 9));  // of this session
      if (extents.size() < 3) {
        const auto number = static_cast<DatasetNumber>(extents.size() * 5);
        const auto rank = static_cast<unsigned>(below(random, 4));
        Dims extent(rank);
        for (unsigned d = 0; d < rank; ++d) extent[d] = 4 + below(random, 6);
        extents[number] = extent;
        commit.declared.push_back(declare(number, rank));
        ++collective;
      }
      for (std::uint64_t act = 1 + below(random, 4); act > 0; --act) {
        auto at = extents.begin();
        std::advance(at, static_cast<std::ptrdiff_t>(below(random, extents.size())));
        auto& [number, extent] = *at;
        const unsigned rank = extent.rank();
        const auto write = [&, dataset = number](std::uint32_t by, const Box& box) {
          if (box.empty()) return;
          Record record = record_of(dataset, box, by, collective, clock += 1 + below(random, 50));
          record.where.offset = position += 512;
          session.ranks[by].push_back(record);
          truths[dataset].records.push_back({step + 1, record});
          touched[dataset] = true;
        };
        const std::uint64_t what = below(random, 8);
        if (what == 0 && rank != 0) {
          for (unsigned d = 0; d < rank; ++d) extent[d] = 1 + below(random, 10);
          const ExtentEvent event{number, ++collective, extent};
          commit.extents.push_back(event);
          truths[number].events.emplace_back(step + 1, event);
          touched[number] = true;
          clipped = true;
        } else if (what < 5 && rank != 0) {  // every rank its slab
          Dims grid(rank, 1);
          grid[static_cast<unsigned>(below(random, rank))] = ranks;
          const auto cut = static_cast<Cut>(below(random, 3));
          for (std::uint32_t r = 0; r < ranks; ++r) write(r, grid_box(cut, extent, grid, r));
          if (below(random, 2) == 0) ++collective;
        } else {  // anybody anything, overlaps included
          for (std::uint64_t n = below(random, 5); n > 0; --n)
            write(static_cast<std::uint32_t>(below(random, ranks)), random_box(random, extent));
        }
      }
      ++collective;  // the flush
      const auto contribution = session.commit(random);
      exact_asked = exact_asked || session.exact_asked;
      commit.step = AbsoluteStep(++step);
      commit.contribution = contribution;
      commit.keep = keep;
      const std::array<std::byte, 2> payload{static_cast<std::byte>(step), std::byte{7}};
      commit.payload = payload;
      const auto done = commit_step(blobs, blobs, root, commit);
      REQUIRE(done);
      root = done->root;
      for (const auto& [number, yes] : touched) written[number].push_back(step);
      auto now_seen = records_seen(blobs, root, AbsoluteStep(step));
      nothing_hidden += check_hidden(done->hidden, seen, now_seen);
      seen = std::move(now_seen);
    }

    BlobCache kept(1u << 16);
    CachedSource cache(blobs, kept);
    const std::uint64_t oldest = keep == 0 ? 1 : step - keep + 1;
    for (std::uint64_t k = 0; k <= step + 1; ++k) {
      auto index = StepIndex::open(cache, root, AbsoluteStep(k));
      REQUIRE(index.has_value() == (k >= oldest && k <= step));
      if (!index) {
        REQUIRE(index.error().code == Code::kNotFound);
        continue;
      }
      const auto info = index->step(AbsoluteStep(k));
      REQUIRE(info);
      REQUIRE(info->payload.at(0) == static_cast<std::byte>(k));
      for (const auto& [number, extent] : extents) {
        const auto there = index->dataset(number);
        REQUIRE(there);
        if (!*there) continue;
        for (int n = 0; n < 4; ++n)
          compare(*index, number, truths[number],
                  n == 0 ? Box{Dims(extent.rank()), Dims(extent.rank(), 11)}
                         : random_box(random, Dims(extent.rank(), 11)));
        // Relative steps: their count, and both ways between the kept ones and absolute steps.
        std::vector<std::uint64_t> want;
        for (const auto at : written[number])
          if (at <= k) want.push_back(at);
        REQUIRE(*index->steps_of(number) == want.size());
        const auto list = index->list_steps(number);
        REQUIRE(list);
        REQUIRE(list->first.number() + list->steps.size() == want.size());
        dropped = dropped || list->first.number() != 0;
        for (std::size_t i = 0; i < want.size(); ++i) {
          const auto absolute = index->absolute(number, RelativeStep(i));
          REQUIRE(absolute.has_value() == (i >= list->first.number()));
          if (!absolute) continue;
          REQUIRE(absolute->number() == want[i]);
          REQUIRE(list->steps[i - list->first.number()].number() == want[i]);
          const auto segment = index->segment(number, *absolute);
          REQUIRE((segment && *segment));
          REQUIRE((*segment)->step() == *absolute);
        }
        REQUIRE_FALSE(index->absolute(number, RelativeStep(want.size())));
      }
    }
  }
  REQUIRE(exact_asked);
  REQUIRE(dropped);
  REQUIRE(clipped);
  REQUIRE(nothing_hidden > 20);
}

TEST_CASE("step index: a step says which datasets it may have hidden records of",
          "[core][index][step]") {
  using Boxes = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // start, count, by rank
  const auto hides = [](const Boxes& first, const Boxes& second, std::uint64_t shrink = 0) {
    MemoryBlobs blobs;
    BlobRef root;
    std::vector<DatasetNumber> hidden;
    std::uint64_t number = 0;
    for (const Boxes* const boxes : {&first, &second}) {
      StepCommit commit;
      commit.step = AbsoluteStep(++number);
      if (number == 1) commit.declared.push_back(declare(7, 1));
      if (number == 2 && shrink != 0) commit.extents.push_back({7, 9, Dims{shrink}});
      ContributionBuilder builder;
      std::uint32_t rank = 0;
      for (const auto& [start, count] : *boxes)
        REQUIRE(builder.add(record_of(7, Box{Dims{start}, Dims{count}}, rank++, 10 * number), 8));
      const auto contribution = builder.encode();
      commit.contribution = contribution;
      const auto done = commit_step(blobs, blobs, root, commit);
      REQUIRE(done);
      root = done->root;
      hidden = done->hidden;
    }
    return hidden == std::vector<DatasetNumber>{7};
  };
  REQUIRE_FALSE(hides({{0, 10}}, {}));
  REQUIRE_FALSE(hides({{0, 10}}, {{10, 5}}));
  REQUIRE_FALSE(hides({{0, 10}, {10, 10}}, {{20, 5}, {30, 1}, {25, 3}}));
  REQUIRE(hides({{0, 10}}, {{9, 5}}));
  REQUIRE(hides({{0, 10}}, {{0, 10}}));
  REQUIRE(hides({}, {{0, 10}, {2, 3}}));
  REQUIRE(hides({}, {{0, 10}, {20, 10}, {20, 10}}));
  REQUIRE(hides({{0, 10}}, {}, 5));
}

TEST_CASE("step index: datasets that were written alike are each found as they were written",
          "[core][index][step]") {
  Random random(11);
  constexpr std::uint32_t kRanks = 8;
  MemoryBlobs blobs;
  BlobRef root;
  Session session;
  std::map<DatasetNumber, Truth> truths;
  StepCommit commit;
  std::vector<DatasetDeclaration> declared;
  std::uint64_t collective = 0;
  std::map<std::uint32_t, std::uint64_t> position;
  // A kind is how the ranks share the dataset; neighbours are mostly of one kind.
  std::uint64_t kind = 0;
  for (DatasetNumber dataset = 0; dataset < 120; ++dataset) {
    declared.push_back(declare(dataset, 1));
    if (below(random, 4) == 0) kind = below(random, 5);
    ++collective;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      if (kind == 3 && rank == 5) continue;          // one rank has nothing
      const std::uint64_t size = kind == 1 ? 3 : 4;  // smaller ones
      const std::uint64_t start = kind == 2 ? (kRanks - 1 - rank) * 4 : rank * 4;  // backwards
      Record record =
          record_of(dataset, {Dims{start}, Dims{size}}, rank, collective, 1000 * collective + rank);
      if (kind == 4 && rank % 2 == 1) record.box.start[0] -= 2;  // over the one before
      record.where.offset = position[rank] += 64;
      record.header_distance = 200 + dataset % 7;
      session.ranks[rank].push_back(record);
      truths[dataset].records.push_back({1, record});
    }
  }
  const auto contribution = session.commit(random);
  CHECK(session.exact_asked);
  commit.step = AbsoluteStep(1);
  commit.declared = declared;
  commit.contribution = contribution;
  const auto committed = commit_step(blobs, blobs, root, commit);
  REQUIRE(committed);
  CHECK(committed->regular_records > 200);  // runs are what is stored again
  const auto index = StepIndex::open(blobs, committed->root);
  REQUIRE(index);
  for (const auto& [dataset, truth] : truths) {
    INFO("dataset " << dataset);
    compare(*index, dataset, truth, {Dims{0}, Dims{4 * kRanks}});
    CHECK(index->extent_of(dataset)->records == truth.records.size());
    const auto segment = index->segment(dataset, AbsoluteStep(1));
    REQUIRE(segment);
    RecordDigest digest;
    for (const auto& written : truth.records) digest.add(written.record);
    CHECK((*segment)->digest().sum == digest.sum);
  }
}

TEST_CASE("step index: a checkpoint that is overwritten keeps its size", "[core][index][step]") {
  // keep=1: pages of old steps go, so that the newest root reaches no more of them.
  Random random(4);
  MemoryBlobs blobs;
  BlobRef root;
  for (std::uint64_t step = 1; step <= 300; ++step) {
    Session session;
    for (std::uint32_t r = 0; r < 8; ++r)
      session.ranks[r].push_back(
          record_of(0, grid_box(Cut::kFirstLarger, Dims{83}, Dims{8}, r), r, step, step * 100 + r));
    const auto contribution = session.commit(random);
    StepCommit commit;
    commit.step = AbsoluteStep(step);
    if (step == 1) commit.declared.push_back(declare(0, 1));
    commit.contribution = contribution;
    commit.keep = 1;
    const std::size_t before = blobs.bytes().size();
    const auto done = commit_step(blobs, blobs, root, commit);
    REQUIRE(done);
    REQUIRE(done->regular_records == 8);
    root = done->root;
    REQUIRE(blobs.bytes().size() - before < 1000);
  }
  const auto index = StepIndex::open(blobs, root);
  REQUIRE(index);
  const auto list = index->list_steps(0);
  REQUIRE(list);
  REQUIRE(list->steps == std::vector{AbsoluteStep(300)});
  REQUIRE(list->first == RelativeStep(299));
}

TEST_CASE("step index: a row a step, or an element, thousands of steps", "[core][index][step]") {
  // What a question costs grows with the records, not with their square; each fifth write is one of
  // two elements that others write again.
  constexpr std::uint64_t kSteps = 4000;
  constexpr std::uint64_t kSide = 50;
  MemoryBlobs blobs;
  BlobRef root;
  Random random(11);
  std::map<std::uint64_t, std::uint64_t> truth;  // of dataset 1: which step is seen
  for (std::uint64_t step = 1; step <= kSteps; ++step) {
    ContributionBuilder builder;
    REQUIRE(builder.add(record_of(0, {Dims{step, 0}, Dims{1, 100}}, 0, 1), 8));
    const std::uint64_t at = below(random, kSide * kSide);
    const std::uint64_t wide = 1 + (step % 5 == 0 && at % kSide + 1 < kSide ? 1 : 0);
    for (std::uint64_t i = 0; i < wide; ++i) truth[at + i] = step;
    REQUIRE(builder.add(record_of(1, {Dims{at / kSide, at % kSide}, Dims{1, wide}}, 0, 2), 8));
    const auto bytes = builder.encode();
    StepCommit commit;
    commit.step = AbsoluteStep(step);
    if (step == 1) commit.declared = {declare(0, 2), declare(1, 2)};
    commit.contribution = bytes;
    const auto done = commit_step(blobs, blobs, root, commit);
    REQUIRE(done);
    root = done->root;
  }
  const auto index = StepIndex::open(blobs, root);
  REQUIRE(index);
  FindOptions options;
  options.budget.visits = 1u << 20;
  const Box all{Dims{0, 0}, Dims{kMostElements, kMostElements}};
  const auto rows = index->find(0, all, options);
  REQUIRE(rows);
  CHECK(rows->pieces.size() == kSteps);
  const auto elements = index->find(1, all, options);
  REQUIRE(elements);
  std::map<std::uint64_t, std::uint64_t> seen;
  for (const auto& piece : elements->pieces)
    for (std::uint64_t i = 0; i < piece.part.count[1]; ++i)
      REQUIRE(seen.emplace(piece.part.start[0] * kSide + piece.part.start[1] + i,
                           elements->records[piece.record].step.number())
                  .second);
  CHECK(seen == truth);
}

TEST_CASE("step index: value ranges skip records and still hide older ones",
          "[core][index][step]") {
  Random random(5);
  MemoryBlobs blobs;
  BlobRef root;
  for (std::uint64_t step = 1; step <= 2; ++step) {
    std::vector<std::vector<std::byte>> parts;
    for (std::uint32_t r = 0; r < 1500; ++r) {
      ContributionBuilder::Options options;
      options.ranges = true;
      ContributionBuilder builder(options);
      const double low = step == 1 ? r : -5.0 - r;
      Record record =
          record_of(0, grid_box(Cut::kFirstLarger, Dims{15001}, Dims{1500}, r), r, step);
      if (r % 3 == 0) record.where.offset += random() % 1000 * 512;  // some runs, some not
      // Rank 7 does not know: it must always be found.
      const ValueRange range{sortable(low), sortable(low + 0.5)};
      REQUIRE(builder.add(record, 8, r == 7 ? ValueRange::everything() : range));
      parts.push_back(builder.encode());
    }
    const auto merged = merge_all(std::move(parts));
    REQUIRE(merged);
    StepCommit commit;
    commit.step = AbsoluteStep(step);
    if (step == 1) commit.declared.push_back(declare(0, 1));
    commit.contribution = *merged;
    const auto done = commit_step(blobs, blobs, root, commit);
    REQUIRE(done);
    root = done->root;
  }
  const auto ranks_with = [&](std::uint64_t step, double low, double high) {
    const auto index = StepIndex::open(blobs, root, AbsoluteStep(step));
    REQUIRE(index);
    FindOptions options;
    options.values = ValueRange{sortable(low), sortable(high)};
    const auto found = index->find(0, Box::whole(Dims{15001}), options);
    REQUIRE(found);
    REQUIRE(found->uncovered.empty());
    std::set<std::uint32_t> ranks;
    for (const auto& piece : found->pieces)
      ranks.insert(found->records[piece.record].record.order.rank);
    return ranks;
  };
  REQUIRE(ranks_with(1, 1000.25, 1002.0) == std::set<std::uint32_t>{7, 1000, 1001, 1002});
  REQUIRE(ranks_with(1, -3.0, -1.0) == std::set<std::uint32_t>{7});
  REQUIRE(ranks_with(2, 1000.25, 1002.0) == std::set<std::uint32_t>{7});
  REQUIRE(ranks_with(2, -105.0, -104.0) == std::set<std::uint32_t>{7, 99, 100});
}

TEST_CASE("step index: deleted datasets, unknown ones, steps out of order", "[core][index][step]") {
  Random random(6);
  MemoryBlobs blobs;
  Session session;
  session.ranks[0].push_back(record_of(3, {Dims{0}, Dims{10}}, 0, 1));
  const auto contribution = session.commit(random);
  StepCommit commit;
  commit.step = AbsoluteStep(5);
  commit.contribution = contribution;
  REQUIRE(commit_step(blobs, blobs, {}, commit).error().code == Code::kInvalidArgument);
  commit.declared.push_back(declare(3, 2));
  REQUIRE(commit_step(blobs, blobs, {}, commit).error().code == Code::kInvalidArgument);
  commit.declared = {declare(3, 1)};
  const auto first = commit_step(blobs, blobs, {}, commit);
  REQUIRE(first);
  REQUIRE(commit_step(blobs, blobs, first->root, commit).error().code == Code::kInvalidArgument);

  StepCommit remove;
  remove.step = AbsoluteStep(6);
  remove.deleted = {3, 4};
  const auto second = commit_step(blobs, blobs, first->root, remove);
  REQUIRE(second);
  const auto now = StepIndex::open(blobs, second->root);
  REQUIRE(now);
  REQUIRE(now->datasets()->empty());
  REQUIRE(now->find(3, {Dims{0}, Dims{1}}).error().code == Code::kNotFound);
  const auto then = StepIndex::open(blobs, second->root, AbsoluteStep(5));
  REQUIRE(then);
  REQUIRE(then->datasets()->size() == 1);
  REQUIRE(then->find(3, {Dims{0}, Dims{1}})->pieces.size() == 1);
  REQUIRE(then->find(3, {Dims{0, 0}, Dims{1, 1}}).error().code == Code::kInvalidArgument);
  REQUIRE(then->find(3, {Dims{1ull << 63}, Dims{1}}).error().code == Code::kInvalidArgument);
}

TEST_CASE("step index: of a deleted dataset that no kept step has only the entry stays",
          "[core][index][step]") {
  for (const std::uint64_t keep : {0u, 1u, 2u}) {
    MemoryBlobs blobs;
    BlobRef root;
    const auto in_use = [&] { return blobs_of(blobs, root); };
    const auto commit = [&](std::uint64_t step, bool writes, std::vector<DatasetNumber> deleted) {
      StepCommit next;
      next.step = AbsoluteStep(step);
      next.keep = keep;
      next.deleted = std::move(deleted);
      std::vector<std::byte> bytes;
      if (step == 1) next.declared = {declare(0, 1), declare(1, 1)};
      if (writes) {
        ContributionBuilder builder;
        for (const DatasetNumber dataset : {0u, 1u})
          REQUIRE(builder.add(record_of(dataset, {Dims{step}, Dims{1}}, 0, step), 8));
        bytes = builder.encode();
        next.contribution = bytes;
      }
      const auto done = commit_step(blobs, blobs, root, next);
      REQUIRE(done);
      root = done->root;
    };
    commit(1, true, {});
    commit(2, true, {});
    commit(3, false, {});
    const std::uint64_t before = in_use();
    commit(4, false, {1});
    // The step itself; and of the dataset an array of two steps with a segment each.
    const std::uint64_t added = keep == 0 ? 1 : 0;
    REQUIRE(in_use() == before + added - (keep == 1 ? 3 : 0));
    commit(5, false, {});
    const auto now = StepIndex::open(blobs, root);
    REQUIRE(now);
    REQUIRE(now->datasets()->size() == 1);
    REQUIRE(now->find(0, {Dims{1}, Dims{1}})->pieces.size() == 1);
    REQUIRE(now->find(1, {Dims{1}, Dims{1}}).error().code == Code::kNotFound);
    if (keep != 0) continue;
    const auto then = StepIndex::open(blobs, root, AbsoluteStep(3));
    REQUIRE(then);
    REQUIRE(then->find(1, {Dims{2}, Dims{1}})->pieces.size() == 1);
  }
}

TEST_CASE("step index: a dataset first written in a late step", "[core][index][step]") {
  MemoryBlobs store;
  BlobRef root;
  for (std::uint64_t number = 1; number <= 300; ++number) {
    StepCommit commit;
    commit.step = AbsoluteStep(number);
    if (number == 1)
      for (const DatasetNumber dataset : {0u, 1u, 2u})
        commit.declared.push_back({dataset, {}, 8, 1, 0});
    std::vector<std::byte> bytes;
    // One digit, two, three; and again in a step of more digits.
    const auto dataset = static_cast<DatasetNumber>(number == 3 ? 0 : number < 280 ? 1 : 2);
    if (number == 3 || number == 17 || number == 290 || number == 299) {
      ContributionBuilder builder;
      REQUIRE(builder.add(record_of(dataset, {Dims{number}, Dims{1}}, 0, number), 8));
      bytes = builder.encode();
      commit.contribution = bytes;
    }
    const auto done = commit_step(store, store, root, commit);
    REQUIRE(done);
    root = done->root;
  }
  const auto index = StepIndex::open(store, root);
  REQUIRE(index);
  for (const auto& [dataset, pieces] : {std::pair{0u, 1u}, {1u, 1u}, {2u, 2u}}) {
    const auto found = index->find(dataset, {Dims{0}, Dims{1000}});
    REQUIRE(found);
    CHECK(found->pieces.size() == pieces);
    CHECK(index->list_steps(dataset)->steps.size() == pieces);
    CHECK(index->extent_of(dataset)->records == pieces);
  }
  std::size_t blobs = 0;
  REQUIRE(StepIndex::visit_blobs(store, root,
                                 {[&](const BlobRef& ref) -> Status {
                                    CHECK(ref.bytes != 0);
                                    ++blobs;
                                    return {};
                                  },
                                  [](std::span<const std::byte>) { return Status{}; }}));
  CHECK(blobs > 300);
}

TEST_CASE("step index: writes of two ranks to one place ask for exact times",
          "[core][index][step]") {
  Random random(7);
  const auto asked = [&](std::vector<Record> records) {
    Session session;
    for (const auto& record : records) session.ranks[record.order.rank].push_back(record);
    const auto found = datasets_that_need_exact_times(session.collect(random));
    REQUIRE(found);
    return !found->empty();
  };
  const Box left{Dims{0}, Dims{10}};
  const Box right{Dims{9}, Dims{10}};
  const Box apart{Dims{10}, Dims{10}};
  REQUIRE(asked({record_of(0, left, 0, 1), record_of(0, right, 1, 1)}));
  REQUIRE_FALSE(asked({record_of(0, left, 0, 1), record_of(0, apart, 1, 1)}));
  REQUIRE_FALSE(asked({record_of(0, left, 0, 1), record_of(0, right, 1, 2)}));
  REQUIRE_FALSE(asked({record_of(0, left, 0, 1), record_of(0, right, 0, 1, 2)}));
  // A fill by rank 0, then everybody's slabs, with and without a collective call between.
  for (const std::uint64_t fill : {1u, 2u}) {
    std::vector<Record> records{record_of(0, Box::whole(Dims{1000}), 0, fill)};
    for (std::uint32_t r = 0; r < 100; ++r)
      records.push_back(record_of(0, grid_box(Cut::kFloor, Dims{1000}, Dims{100}, r), r, 2, 2));
    REQUIRE(asked(records) == (fill == 2));
  }
}

TEST_CASE("contribution: any tree of merges holds the same records", "[core][index][step]") {
  Random random(8);
  for (int round = 0; round < 16; ++round) {
    const bool regular = below(random, 2) == 0;
    const auto ranks = static_cast<std::uint32_t>(1 + below(random, 150));
    std::vector<std::vector<std::byte>> parts;
    RecordDigest digest;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      ContributionBuilder builder;
      for (DatasetNumber dataset = 0; dataset < 3; ++dataset) {
        if (dataset == 1 && below(random, 2) == 0) continue;
        for (std::uint64_t n = regular ? 1 : below(random, 4); n > 0; --n) {
          const Box box = regular ? grid_box(Cut::kFirstLarger, Dims{1000}, Dims{ranks}, r)
                                  : random_box(random, Dims{1000});
          const Record record = record_of(dataset, box, r, 1, 100 - n);
          digest.add(record);
          REQUIRE(builder.add(record, 8));
        }
      }
      parts.push_back(builder.encode());
    }
    const auto rows_of = [](std::span<const std::byte> bytes) {
      std::map<DatasetNumber, std::vector<std::vector<std::uint64_t>>> all;
      const auto parsed = parse_contribution(bytes);
      REQUIRE(parsed);
      for (const auto& part : *parsed) {
        const auto runs = decode_runs(part);
        REQUIRE(runs);
        for (const auto& run : *runs)
          run.for_each([&](std::span<const std::uint64_t> row) {
            all[part.dataset].emplace_back(row.begin(), row.end());
          });
      }
      return all;
    };
    const auto one = merge_all(parts);
    REQUIRE(one);
    RecordDigest sum;
    const auto parsed = parse_contribution(*one);
    REQUIRE(parsed);
    for (const auto& part : *parsed) sum.add(part.digest);
    REQUIRE(sum == digest);
    for (int n = 0; n < 3; ++n) {
      const auto other = merge_all(parts, &random);
      REQUIRE(other);
      REQUIRE(rows_of(*one) == rows_of(*other));
    }
    std::vector<std::byte> chain = parts.front();
    for (std::size_t i = 1; i < parts.size(); ++i) {
      auto merged = merge_contributions(chain, parts[i]);
      REQUIRE(merged);
      chain = std::move(*merged);
    }
    REQUIRE(rows_of(*one) == rows_of(chain));
    if (regular) REQUIRE(one->size() < 500);
  }
}

}  // namespace
}  // namespace bento
