// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/segment_codec.hpp"

#include <random>

#include <catch2/catch_test_macros.hpp>

namespace bento {
namespace {

Segment sample() {
  Segment segment;
  segment.step = 1ull << 40;
  for (std::uint32_t i = 0; i < 3; ++i) {
    DatasetDeclaration dataset;
    dataset.number = i;
    dataset.token.fill(static_cast<std::byte>(i + 1));
    dataset.element_bytes = 8 + (std::uint64_t{i} << 33);
    dataset.rank = i;
    dataset.flags = 0xFFFFFFFFu;
    segment.datasets.push_back(dataset);
  }
  segment.deleted = {7, 0xFFFFFFFFu};
  segment.extents.push_back({2, 1ull << 50, Dims{5, 1ull << 35}});
  for (std::uint32_t i = 0; i < 20; ++i) {
    Record record;
    record.dataset = i % 3;
    record.box = {Dims(i % 3, (1ull << 34) + i), Dims(i % 3, i + 1)};
    record.order = {(1ull << 33) + i, (1ull << 60) - i, i};
    record.where = {i, (1ull << 41) + i};
    record.stored_bytes = 1ull << 36;
    record.hash.fill(static_cast<std::byte>(i));
    record.encoding = i % 2 == 0 ? Encoding::kPlain : Encoding::kFiltered;
    record.filter_mask = i;
    segment.records.push_back(record);
  }
  return segment;
}

TEST_CASE("entries: what was encoded comes back, values above 2^32 too", "[core][index]") {
  const Segment before = sample();
  const auto after = decode_entries(encode_entries(before));
  REQUIRE(after);
  REQUIRE(after->step == before.step);
  REQUIRE(after->deleted == before.deleted);
  REQUIRE(after->datasets.size() == before.datasets.size());
  for (std::size_t i = 0; i < before.datasets.size(); ++i) {
    REQUIRE(after->datasets[i].token == before.datasets[i].token);
    REQUIRE(after->datasets[i].element_bytes == before.datasets[i].element_bytes);
    REQUIRE(after->datasets[i].flags == before.datasets[i].flags);
  }
  REQUIRE(after->extents.at(0).extent == before.extents.at(0).extent);
  REQUIRE(after->records.size() == before.records.size());
  for (const auto& record : before.records) {  // grouped by dataset, in their order
    const auto same = std::find_if(after->records.begin(), after->records.end(),
                                   [&](const Record& r) { return r.order == record.order; });
    REQUIRE(same != after->records.end());
    REQUIRE(same->dataset == record.dataset);
    REQUIRE(same->box == record.box);
    REQUIRE(same->where == record.where);
    REQUIRE(same->stored_bytes == record.stored_bytes);
    REQUIRE(same->hash == record.hash);
    REQUIRE(same->encoding == record.encoding);
    REQUIRE(same->filter_mask == record.filter_mask);
  }
}

TEST_CASE("entries: every truncation is an error", "[core][index]") {
  const auto good = encode_entries(sample());
  for (std::size_t length = 0; length < good.size(); ++length)
    REQUIRE_FALSE(decode_entries(std::span(good).first(length)));
}

TEST_CASE("entries: hostile bytes end in an error or in a segment, never in a crash",
          "[core][index]") {
  const auto good = encode_entries(sample());
  std::mt19937_64 random(4);
  for (int round = 0; round < 20000; ++round) {
    auto bad = good;
    for (std::uint64_t i = 0; i < 1 + random() % 4; ++i)
      bad[random() % bad.size()] = static_cast<std::byte>(random());
    if (random() % 4 == 0) bad.resize(random() % bad.size());
    const auto decoded = decode_entries(bad);
    if (decoded) REQUIRE(decoded->records.size() <= bad.size());
  }
}

TEST_CASE("entries: equal slabs of many ranks cost a few bytes each besides their hash",
          "[core][index]") {
  constexpr std::uint32_t kRanks = 1000;
  constexpr std::uint32_t kDatasets = 8;
  Segment segment;
  std::mt19937_64 random(1);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    for (std::uint32_t dataset = 0; dataset < kDatasets; ++dataset) {
      Record record;
      record.dataset = dataset;
      record.box = {Dims{rank * 100000ull}, Dims{100000}};
      record.order = {17, 1'700'000'000'000'000'000ull + random() % 1'000'000, rank};
      record.where = {rank, 4096 + dataset * 800'000ull};
      record.stored_bytes = 800'000;
      segment.records.push_back(record);
    }
  const double each = static_cast<double>(encode_entries(segment).size()) / (kRanks * kDatasets);
  REQUIRE(each - 16 <= 8);
}

}  // namespace
}  // namespace bento
