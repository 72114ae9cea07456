// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/regions/region_heap.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <hdf5.h>

#include <catch2/catch_test_macros.hpp>

#include "core/bytes/byte_writer.hpp"
#include "hdf5/base/library_state.hpp"
#include "hdf5/regions/heap_object.hpp"

using namespace bento;
using namespace bento::vol;

namespace {

using Reference = std::array<std::byte, kRegionReferenceBytes>;

std::vector<std::byte> region(std::size_t bytes, int value) {
  std::vector<std::byte> made(bytes, static_cast<std::byte>(value));
  std::memcpy(made.data(), &bytes, sizeof bytes);
  return made;
}

}  // namespace

TEST_CASE("region heap: what was put is got, once for equal regions") {
  REQUIRE(H5open() >= 0);
  const LibraryState state;  // as in a call of the library
  RegionHeap heap(kPrivateAddresses);
  std::vector<Reference> references(500);
  for (int i = 0; i < 500; ++i)
    REQUIRE(heap.put(region(static_cast<std::size_t>(20 + i * 7 % 300), i),
                     references[static_cast<std::size_t>(i)].data()));
  for (int i = 0; i < 500; ++i) {
    const auto found = heap.get(references[static_cast<std::size_t>(i)].data());
    REQUIRE(found);
    CHECK(*found == region(static_cast<std::size_t>(20 + i * 7 % 300), i));
  }
  Reference again{};
  REQUIRE(heap.put(region(20, 0), again.data()));
  CHECK(again == references[0]);
  // Longer than a collection of the usual size.
  REQUIRE(heap.put(region(100000, 9), again.data()));
  CHECK(heap.get(again.data()).value() == region(100000, 9));
}

TEST_CASE("region heap: references of other heaps are an error") {
  REQUIRE(H5open() >= 0);
  const LibraryState state;  // as in a call of the library
  RegionHeap heap(kPrivateAddresses);
  RegionHeap other(kPrivateAddresses + (std::uint64_t{1} << 40));
  Reference reference{};
  REQUIRE(heap.put(region(30, 1), reference.data()));
  CHECK_FALSE(other.get(reference.data()));
  REQUIRE(other.put(region(30, 1), reference.data()));
  const auto refused = heap.get(reference.data());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kInvalidArgument);
  reference.fill(std::byte{0x11});
  CHECK_FALSE(heap.get(reference.data()));
}

TEST_CASE("heap object: hostile collections are an error") {
  ByteWriter out;
  const std::string magic("GCOL\1\0\0\0", 8);
  for (const char one : magic) out.u8(static_cast<std::uint8_t>(one));
  out.u64(4096);
  for (std::uint16_t index = 1; index < 20; ++index) {
    out.u16(index);
    out.u16(1);
    out.u32(0);
    out.u64(index);
    for (std::uint64_t i = 0; i < (index + 7u) / 8 * 8; ++i)
      out.u8(static_cast<std::uint8_t>(index));
  }
  auto bytes = std::move(out).take();
  bytes.resize(4096);
  const auto find = [](const std::vector<std::byte>& from, std::uint32_t index) {
    return heap_object(
        [&from](std::uint64_t at, std::span<std::byte> into) -> Status {
          std::ranges::fill(into, std::byte{0});
          if (at < from.size())
            std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at),
                        std::min<std::size_t>(into.size(), from.size() - at), into.begin());
          return {};
        },
        from.size(), 0, index);
  };
  for (std::uint32_t index = 1; index < 20; ++index)
    CHECK(find(bytes, index).value() ==
          std::vector<std::byte>(index, static_cast<std::byte>(index)));
  CHECK_FALSE(find(bytes, 0));
  CHECK_FALSE(find(bytes, 20));
  CHECK_FALSE(find(bytes, 0x10001));
  std::mt19937 chance(17);
  for (int round = 0; round < 20000; ++round) {
    auto changed = bytes;
    for (int i = 0; i < 3; ++i)
      changed[chance() % 600] = static_cast<std::byte>(chance() % 4 == 0 ? 0xffu : chance());
    const auto found = find(changed, static_cast<std::uint32_t>(chance() % 21));
    if (found) CHECK(found->size() < changed.size());
  }
}
