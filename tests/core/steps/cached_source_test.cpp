// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <vector>

#include "core/steps/blob_cache.hpp"

namespace bento {
namespace {

std::vector<std::byte> blob_of(std::size_t bytes, int value) {
  return std::vector<std::byte>(bytes, static_cast<std::byte>(value));
}

BlobRef stored(MemoryBlobs& blobs, std::size_t bytes, int value) {
  const auto ref = blobs.append(blob_of(bytes, value));
  REQUIRE(ref);
  return *ref;
}

/// Reads a blob of equal bytes; gives how often what is below was asked for it.
std::uint64_t asked_for(CachedSource& cache, const MemoryBlobs& blobs, const BlobRef& ref,
                        int value) {
  const std::uint64_t before = blobs.reads();
  const auto read = cache.read(ref);
  REQUIRE(read);
  CHECK(**read == blob_of(static_cast<std::size_t>(ref.bytes), value));
  return blobs.reads() - before;
}

}  // namespace

TEST_CASE("cached blobs: what was used last stays, within the limit", "[core][step]") {
  MemoryBlobs blobs;
  std::array<BlobRef, 4> refs;
  for (int i = 0; i < 4; ++i) refs[static_cast<std::size_t>(i)] = stored(blobs, 100, i);
  BlobCache kept(300);
  CachedSource cache(blobs, kept);
  for (int i = 0; i < 3; ++i)
    CHECK(asked_for(cache, blobs, refs[static_cast<std::size_t>(i)], i) == 1);
  CHECK(kept.held_bytes() == 300);
  CHECK(asked_for(cache, blobs, refs[0], 0) == 0);  // 1 is the oldest now
  CHECK(asked_for(cache, blobs, refs[3], 3) == 1);
  CHECK(kept.held_bytes() == 300);
  CHECK(asked_for(cache, blobs, refs[0], 0) == 0);
  CHECK(asked_for(cache, blobs, refs[2], 2) == 0);
  CHECK(asked_for(cache, blobs, refs[3], 3) == 0);
  CHECK(asked_for(cache, blobs, refs[1], 1) == 1);
  CHECK(asked_for(cache, blobs, refs[0], 0) == 1);
  CHECK(asked_for(cache, blobs, refs[3], 3) == 0);
}

TEST_CASE("cached blobs: a large one is not kept, and takes nobody's room", "[core][step]") {
  MemoryBlobs blobs;
  const BlobRef small = stored(blobs, 100, 1);
  const BlobRef large = stored(blobs, 301, 2);
  BlobCache kept(300);
  CachedSource cache(blobs, kept);
  CHECK(asked_for(cache, blobs, small, 1) == 1);
  CHECK(asked_for(cache, blobs, large, 2) == 1);
  CHECK(asked_for(cache, blobs, large, 2) == 1);
  CHECK(asked_for(cache, blobs, small, 1) == 0);
  CHECK(kept.held_bytes() == 100);
}

// A place in the catalogue is used again: who asks for what lies there now must not get the old
// bytes, nor the new ones who asks for the old.
TEST_CASE("cached blobs: another blob at the place of one that is known", "[core][step]") {
  MemoryBlobs blobs;
  const BlobRef old = stored(blobs, 100, 1);
  const BlobRef beside = stored(blobs, 100, 9);
  BlobCache kept(1000);
  CachedSource cache(blobs, kept);
  CHECK(asked_for(cache, blobs, old, 1) == 1);
  CHECK(asked_for(cache, blobs, beside, 9) == 1);
  const auto fresh = blob_of(100, 2);
  std::copy(fresh.begin(), fresh.end(), blobs.bytes().begin());
  const BlobRef now{old.position, 100, hash128(fresh)};
  CHECK(asked_for(cache, blobs, now, 2) == 1);
  CHECK(kept.held_bytes() == 200);
  CHECK(asked_for(cache, blobs, now, 2) == 0);
  CHECK_FALSE(cache.read(old));
  CHECK(asked_for(cache, blobs, now, 2) == 1);  // what cannot be read is not kept in its place
  CHECK(asked_for(cache, blobs, beside, 9) == 0);
  CHECK(kept.held_bytes() == 200);
}

TEST_CASE("cached blobs: what is stored is known, if it is small", "[core][step]") {
  MemoryBlobs blobs;
  BlobCache kept(1u << 20);
  CachingSink sink(blobs, kept);
  CachedSource cache(blobs, kept);
  const auto small = sink.append(blob_of(16u << 10, 1));
  const auto large = sink.append(blob_of((16u << 10) + 1, 2));
  REQUIRE(small);
  REQUIRE(large);
  CHECK(asked_for(cache, blobs, *small, 1) == 0);
  CHECK(asked_for(cache, blobs, *large, 2) == 1);
}

TEST_CASE("passing blobs: nothing is kept", "[core][step]") {
  MemoryBlobs blobs;
  const BlobRef blob = stored(blobs, 90, 2);
  PassingSource passing(blobs);
  const std::uint64_t before = blobs.reads();
  CHECK(**passing.read(blob) == blob_of(90, 2));
  CHECK(**passing.read(blob) == blob_of(90, 2));
  CHECK(blobs.reads() == before + 2);
}

TEST_CASE("passing blobs: one that somebody holds stays what it is", "[core][step]") {
  MemoryBlobs blobs;
  const BlobRef first = stored(blobs, 100, 1);
  const BlobRef second = stored(blobs, 120, 2);
  const BlobRef large = stored(blobs, 100000, 3);
  PassingSource passing(blobs);
  const auto held = passing.read(first);
  REQUIRE(held);
  CHECK(**passing.read(second) == blob_of(120, 2));
  CHECK(**passing.read(large) == blob_of(100000, 3));
  CHECK(**held == blob_of(100, 1));
  auto wrong = second;
  wrong.hash[0] ^= std::byte{1};
  CHECK_FALSE(passing.read(wrong));
  CHECK(**passing.read(second) == blob_of(120, 2));
}

}  // namespace bento
