// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/slice_cache.hpp"

#include <catch2/catch_test_macros.hpp>

namespace bento {
namespace {

constexpr std::uint64_t kLayers = 16;  // of a volume, in each record
constexpr std::uint64_t kSide = 192;
constexpr std::uint64_t kElementBytes = 4;

Record record_of(std::uint64_t number) {
  Record record;
  record.box = {Dims{number * kLayers, 0, 0}, Dims{kLayers, kSide, kSide}};
  record.where = {0, number << 30};
  return record;
}

/// Goes through the last dimension of `records` records in turn; gives how many bytes were read.
std::uint64_t go_through(SliceCache& cache, std::uint64_t records, bool verified) {
  std::uint64_t read = 0;
  for (std::uint64_t i = 0; i < kSide; ++i)
    for (std::uint64_t number = 0; number < records; ++number) {
      const Record record = record_of(number);
      Box part = record.box;
      part.start[2] = i;
      part.count[2] = 1;
      const auto* slab = cache.find(record, part, verified);
      const Box wide =
          slab != nullptr ? Box{} : cache.wider(record, part, kElementBytes).value_or(part);
      if (slab == nullptr) read += wide.count.bytes(kElementBytes);
      if (slab == nullptr && !(wide == part))
        slab = &cache.put(
            record, {wide, std::vector<std::byte>(wide.count.bytes(kElementBytes)), verified});
      if (slab != nullptr) CHECK(contains(slab->box, part));
      CHECK(contains(record.box, slab != nullptr ? slab->box : part));
      CHECK(cache.bytes() <= 16u << 20);
    }
  return read;
}

}  // namespace

TEST_CASE("slice cache: each slice is read once, of one record or of several in turn",
          "[core][stream]") {
  for (const std::uint64_t records : {1u, 2u, 12u, 100u, 300u}) {
    CAPTURE(records);
    SliceCache cache;
    CHECK(go_through(cache, records, false) ==
          records * record_of(0).box.count.bytes(kElementBytes));
  }
}

TEST_CASE("slice cache: who leaves out slices is given several at a time", "[core][stream]") {
  for (const std::uint64_t step : {2u, 4u, 24u}) {
    for (const std::uint64_t records : {1u, 3u}) {
      CAPTURE(step, records);
      SliceCache cache;
      std::uint64_t asked = 0;
      std::uint64_t read = 0;
      for (std::uint64_t i = step / 2; i < kSide; i += step)
        for (std::uint64_t number = 0; number < records; ++number) {
          const Record record = record_of(number);
          Box part = record.box;
          part.start[2] = i;
          part.count[2] = 1;
          const auto* slab = cache.find(record, part, false);
          if (slab == nullptr) {
            const Box wide = cache.wider(record, part, kElementBytes).value_or(part);
            ++asked;
            read += wide.count.bytes(kElementBytes);
            REQUIRE(contains(wide, part));
            REQUIRE(contains(record.box, wide));
            if (!(wide == part))
              slab = &cache.put(
                  record, {wide, std::vector<std::byte>(wide.count.bytes(kElementBytes)), false});
          }
          if (slab != nullptr) CHECK(contains(slab->box, part));
          CHECK(cache.bytes() <= 16u << 20);
        }
      // Two by themselves, until it is seen how many are left out.
      CHECK(asked <= records * (2 + (kSide / step + 7) / 8));
      CHECK(read <= records * record_of(0).box.count.bytes(kElementBytes));
    }
  }
}

TEST_CASE("slice cache: slices that lie far apart are not read together", "[core][stream]") {
  SliceCache cache;
  Record record = record_of(0);
  record.box.count[1] = 4;
  record.box.count[2] = 100000;
  Box part = record.box;
  part.count[2] = 1;
  for (std::uint64_t i = 0; i < 20; ++i) {
    part.start[2] = 2000 * i;
    CHECK(cache.find(record, part, false) == nullptr);
    CHECK_FALSE(cache.wider(record, part, kElementBytes));
  }
}

TEST_CASE("slice cache: what was not verified is not given to who wants it verified",
          "[core][stream]") {
  SliceCache cache;
  (void)go_through(cache, 1, false);
  Box part = record_of(0).box;
  part.start[2] = kSide - 1;
  part.count[2] = 1;
  CHECK(cache.find(record_of(0), part, false) != nullptr);
  CHECK(cache.find(record_of(0), part, true) == nullptr);
  cache.clear();
  CHECK(cache.find(record_of(0), part, false) == nullptr);
  CHECK(cache.bytes() == 0);
}

TEST_CASE("slice cache: who jumps about is given what was asked for alone", "[core][stream]") {
  SliceCache cache;
  Box part = record_of(0).box;
  part.count[2] = 1;
  for (const std::uint64_t at : {0u, 7u, 5u, 100u, 42u, 40u}) {
    part.start[2] = at;
    CHECK(cache.find(record_of(0), part, false) == nullptr);
    CHECK_FALSE(cache.wider(record_of(0), part, kElementBytes));
  }
  part.start[0] = 1;  // two coordinates at once
  part.start[2] = 41;
  part.count[0] = 2;
  (void)cache.find(record_of(0), part, false);
  CHECK_FALSE(cache.wider(record_of(0), part, kElementBytes));
}

}  // namespace bento
