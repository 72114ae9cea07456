// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/catalogue/catalogue_space.hpp"

#include <algorithm>
#include <ctime>
#include <random>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using namespace bento;

namespace {

constexpr std::uint64_t kChunk = 4096;

/// The same by a look at every hole, one after the other: what the places are defined by.
class Plain {
 public:
  Position take(std::uint64_t bytes) {
    for (std::size_t i = 0; i < holes_.size(); ++i)
      if (holes_[i].end - holes_[i].begin >= bytes) return cut(i, holes_[i].begin, bytes);
    end_ += bytes;
    return end_ - bytes;
  }
  Position take_in_chunk(std::uint64_t bytes) {
    const auto fit = [&](Position from) {
      const Position at = (from + 7) / 8 * 8;
      return at % kChunk + bytes > kChunk ? (at + kChunk - 1) / kChunk * kChunk : at;
    };
    for (std::size_t i = 0; i < holes_.size(); ++i)
      if (const Position at = fit(holes_[i].begin); at + bytes <= holes_[i].end)
        return cut(i, at, bytes);
    const Position at = fit(end_);
    end_ = at + bytes;
    return at;
  }
  void release(CatalogueRange range) {
    holes_.push_back(range);
    holes_ = joined(std::move(holes_));
    if (holes_.back().end != end_) return;
    end_ = holes_.back().begin;
    holes_.pop_back();
  }
  [[nodiscard]] Position end() const { return end_; }
  [[nodiscard]] std::uint64_t free_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& hole : holes_) bytes += hole.end - hole.begin;
    return bytes;
  }

 private:
  Position cut(std::size_t hole, Position at, std::uint64_t bytes) {
    const CatalogueRange whole = holes_[hole];
    holes_.erase(holes_.begin() + static_cast<std::ptrdiff_t>(hole));
    std::vector<CatalogueRange> left;
    if (at + bytes < whole.end) left.push_back({at + bytes, whole.end});
    if (whole.begin < at) left.push_back({whole.begin, at});
    for (const auto& part : left)
      holes_.insert(holes_.begin() + static_cast<std::ptrdiff_t>(hole), part);
    return at;
  }

  std::vector<CatalogueRange> holes_;
  Position end_ = 0;
};

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace

TEST_CASE("catalogue space: the first hole that is large enough is taken", "[core][container]") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint64_t count) { return random() % count; };
    CatalogueSpace space;
    Plain plain;
    std::vector<CatalogueRange> taken;
    for (int step = 0; step < 2000; ++step) {
      const std::uint64_t bytes = 1 + below(below(4) == 0 ? kChunk : 100);
      switch (below(5)) {
        case 0:
        case 1: {
          const Position at = space.take(bytes);
          REQUIRE(at == plain.take(bytes));
          taken.push_back({at, at + bytes});
          break;
        }
        case 2: {
          const Position at = space.take_in_chunk(bytes, kChunk);
          REQUIRE(at == plain.take_in_chunk(bytes));
          taken.push_back({at, at + bytes});
          break;
        }
        default: {
          if (taken.empty()) break;
          const auto which = taken.begin() + static_cast<std::ptrdiff_t>(below(taken.size()));
          const CatalogueRange range = *which;
          taken.erase(which);
          if (below(2) == 0)
            space.give_back(range);
          else
            space.release(std::span(&range, 1));
          plain.release(range);
        }
      }
      REQUIRE(space.end() == plain.end());
      REQUIRE(space.free_bytes() == plain.free_bytes());
    }
    // What is neither taken nor free was skipped by take_in_chunk.
    std::uint64_t used = 0;
    for (const auto& range : taken) used += range.end - range.begin;
    std::uint64_t skipped = 0;
    for (const auto& range : space.unused(taken)) skipped += range.end - range.begin;
    REQUIRE(used + skipped + space.free_bytes() == space.end());
  }
}

TEST_CASE("catalogue space: whole chunks are taken from holes", "[core][container]") {
  CatalogueSpace space;
  space.take(10 * kChunk + 100);
  const auto always = [](std::uint64_t) { return true; };
  const std::vector<CatalogueRange> free{{100, kChunk + 50}, {kChunk + 60, 5 * kChunk + 8}};
  space.release(free);
  REQUIRE(space.take_chunks(3, kChunk, always) == 2);
  REQUIRE(space.free_bytes() == kChunk - 50 + (kChunk - 60) + 8);
  REQUIRE(space.take_chunks(1, kChunk, always) == 11);
  REQUIRE(space.end() == 12 * kChunk);
  // What lies in front of them is free.
  for (const Position at : {Position{100}, kChunk + 60, 10 * kChunk + 100})
    REQUIRE(space.take(kChunk - 100) == at);
}

TEST_CASE("catalogue space: many holes that are too small cost nothing", "[core][container]") {
  constexpr std::uint64_t kHoles = 100'000;
  CatalogueSpace space;
  std::vector<CatalogueRange> small;
  for (std::uint64_t i = 0; i < kHoles; ++i) {
    const Position at = space.take(64);
    if (i % 2 == 0) small.push_back({at, at + 40});
  }
  space.release(small);
  const double begin = processor_seconds();
  for (std::uint64_t i = 0; i < kHoles; ++i) {
    space.take(48 + i % 8);
    space.take_in_chunk(56, kChunk);
    if (i % 4 == 0) space.give_back({i * 64 + 40, i * 64 + 48});
  }
  // One after the other: some 10^10 looks at a hole, ten seconds and more.
  REQUIRE(processor_seconds() - begin < 3);
}
