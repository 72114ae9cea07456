// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/run_head.hpp"

#include <algorithm>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/steps/record_run.hpp"
#include "core/steps/step_commit.hpp"
#include "tests/core/steps/step_support.hpp"

namespace bento {
namespace {

using namespace step_test;

using Bytes = std::vector<std::byte>;
using Rows = std::vector<std::vector<std::uint64_t>>;

RecordRun run_of(const Rows& rows) {
  RecordRun run(static_cast<unsigned>(rows.front().size()), rows.front());
  for (std::size_t i = 1; i < rows.size(); ++i) run.push(rows[i]);
  return run;
}

Bytes encoded(const RecordRun& run) {
  ByteWriter out;
  run.encode(out);
  return std::move(out).take();
}

Bytes encoded(const Rows& rows) {
  return encoded(run_of(rows));
}

/// `count` rows of `width` numbers, each some of `steps` further than the one before.
Rows some_rows(Random& random, unsigned width, std::size_t count) {
  Rows rows(1, std::vector<std::uint64_t>(width));
  for (auto& value : rows.front()) value = random() >> below(random, 64);
  while (rows.size() < count) {
    rows.push_back(rows.back());
    for (auto& value : rows.back()) value += below(random, 3) - 1;
  }
  return rows;
}

Rows moved(Rows rows, std::span<const std::uint64_t> by) {
  for (auto& row : rows)
    for (std::size_t f = 0; f < row.size(); ++f) row[f] += by[f];
  return rows;
}

}  // namespace

TEST_CASE("runs that are joined one pair after the other are those that are joined alone",
          "[core][index][step]") {
  Random random(7);
  RunJoiner joiner;
  std::size_t joins = 0;
  std::size_t apart = 0;
  unsigned width = 11;
  Rows left = some_rows(random, width, 1);
  Rows right = some_rows(random, width, 1);
  for (int i = 0; i < 3000; ++i) {
    switch (below(random, 8)) {
      case 0:  // another pair, at times of a width of its own
        width = static_cast<unsigned>(9 + 2 * below(random, 3));
        left = some_rows(random, width, 1 + below(random, 4));
        right = some_rows(random, width, 1 + below(random, 4));
        break;
      case 1:  // too long for one run
        left = some_rows(random, width, kMaxJoinedTokens);
        break;
      case 2:  // the right one elsewhere
        right = moved(right, some_rows(random, width, 1).front());
        break;
      case 3:
        right = some_rows(random, width, 1 + below(random, 4));
        break;
      default: {  // both elsewhere, at the same distance
        const auto by = some_rows(random, width, 1).front();
        left = moved(left, by);
        right = moved(right, by);
        break;
      }
    }
    RecordRun both = RecordRun::decode(encoded(left), width).value();
    const RecordRun next = RecordRun::decode(encoded(right), width).value();
    const bool joined_alone = both.tokens() + next.tokens() <= kMaxJoinedTokens;
    ByteWriter joined;
    joined.u8(0xAB);  // what was there stays
    const auto one = joiner.join(encoded(left), encoded(right), width, joined);
    REQUIRE(one);
    REQUIRE(*one == joined_alone);
    ++(*one ? joins : apart);
    if (joined_alone) both.append(next);
    const Bytes expected = joined_alone ? encoded(both) : Bytes();
    REQUIRE(std::ranges::equal(joined.view().subspan(1), expected));
  }
  CHECK(joins > 500);
  CHECK(apart > 100);
}

TEST_CASE("damaged runs are not joined, whatever was joined before", "[core][index][step]") {
  Random random(8);
  const unsigned width = 11;
  const Bytes left = encoded(some_rows(random, width, 2));
  const Bytes right = encoded(some_rows(random, width, 2));
  RunJoiner joiner;
  ByteWriter joined;
  REQUIRE(joiner.join(left, right, width, joined));
  for (std::size_t cut = 0; cut < left.size(); ++cut) {
    INFO("cut to " << cut << " of " << left.size() << " bytes");
    CHECK_FALSE(joiner.join(std::span(left).first(cut), right, width, joined));
    CHECK_FALSE(
        joiner.join(left, std::span(right).first(std::min(cut, right.size() - 1)), width, joined));
    REQUIRE(joiner.join(left, right, width, joined));
  }
  Bytes more = right;
  more.push_back(std::byte{0});
  CHECK_FALSE(joiner.join(left, more, width, joined));
}

TEST_CASE("two runs are alike if they were only written at another time to another place",
          "[core][index][step]") {
  Random random(9);
  const RowShape shape{1, 8};
  RunMemo memo;
  Rows last;
  std::size_t alike = 0;
  for (int i = 0; i < 1000; ++i) {
    Rows rows = last.empty() || below(random, 4) == 0 ? some_rows(random, shape.width(), 3) : last;
    const auto moves = [&](unsigned field) {
      return field == shape.field(kFieldPosition) || field == shape.field(kFieldDistance) ||
             field == shape.field(kFieldTime) || field == shape.field(kFieldCollective);
    };
    auto field = static_cast<unsigned>(below(random, shape.width()));
    while (below(random, 2) == 0 && !moves(field))
      field = static_cast<unsigned>(below(random, shape.width()));
    const std::uint64_t by = below(random, 3);
    for (auto& row : rows) row[field] += by;
    bool same = !last.empty();
    for (std::size_t r = 0; same && r < rows.size(); ++r)
      for (unsigned f = 0; f < shape.width(); ++f)
        same = same && (moves(f) ? rows[r][f] - rows[0][f] == last[r][f] - last[0][f]
                                 : rows[r][f] == last[r][f]);
    const auto found = memo.same_as_last(encoded(rows), shape);
    REQUIRE(found);
    REQUIRE(*found == same);
    alike += same ? 1 : 0;
    last = rows;
  }
  CHECK(alike > 300);
}

TEST_CASE("each dataset is asked for exact times for itself, alike or not", "[core][index][step]") {
  // Datasets 0, 3, 6, ... of two ranks apart, 1, 4, ... of two that overlap, 2, 5, ... of many
  // records without order.
  Random random(10);
  std::vector<Bytes> parts;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    ContributionBuilder builder;
    for (DatasetNumber dataset = 0; dataset < 30; ++dataset) {
      if (dataset % 3 == 2) {
        std::vector<std::uint64_t> starts(600);
        for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = 2 * i + rank;
        std::shuffle(starts.begin(), starts.end(), random);
        for (const auto start : starts)
          REQUIRE(
              builder.add(record_of(dataset, {Dims{start * 7}, Dims{1 + start % 3}}, rank, 3), 8));
        continue;
      }
      const std::uint64_t start = dataset % 3 == 0 ? 8 * rank : 4 * rank;
      Record record = record_of(dataset, {Dims{start}, Dims{8}}, rank, 3);
      record.where.offset += 64 * dataset;
      REQUIRE(builder.add(record, 8));
    }
    parts.push_back(builder.encode());
  }
  const auto merged = merge_contributions(parts[0], parts[1]);
  REQUIRE(merged);
  const auto asked = datasets_that_need_exact_times(*merged);
  REQUIRE(asked);
  std::vector<DatasetNumber> alone;
  const auto all = parse_contribution(*merged);
  REQUIRE(all);
  for (const auto& part : *all) {
    const std::vector<ContributionPart> only{part};
    const auto needed = datasets_that_need_exact_times(encode_contribution(only));
    REQUIRE(needed);
    alone.insert(alone.end(), needed->begin(), needed->end());
  }
  CHECK(*asked == alone);
  for (DatasetNumber dataset = 0; dataset < 30; ++dataset)
    if (dataset % 3 != 2) CHECK(std::ranges::count(*asked, dataset) == (dataset % 3 == 1 ? 1 : 0));
}

}  // namespace bento
