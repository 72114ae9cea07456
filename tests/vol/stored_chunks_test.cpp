// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/stored_chunks.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "hdf5/base/memory_file.hpp"

namespace bento::vol {
namespace {

using Offset = std::vector<hsize_t>;

struct Shape {
  Offset extent;
  Offset limit;
  Offset chunk;
};

/// The offsets of all chunks within the extent.
std::vector<Offset> all_offsets(const Shape& shape) {
  std::vector<Offset> all{Offset()};
  for (std::size_t d = 0; d < shape.extent.size(); ++d) {
    std::vector<Offset> longer;
    for (const Offset& begun : all)
      for (hsize_t at = 0; at < shape.extent[d]; at += shape.chunk[d]) {
        longer.push_back(begun);
        longer.back().push_back(at);
      }
    all = std::move(longer);
  }
  return all;
}

DatasetHandle make(hid_t file, const Shape& shape, bool filtered) {
  const int rank = static_cast<int>(shape.extent.size());
  const SpaceHandle space(H5Screate_simple(rank, shape.extent.data(), shape.limit.data()));
  const PlistHandle list(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_chunk(list.get(), rank, shape.chunk.data());
  if (filtered) H5Pset_shuffle(list.get());
  return DatasetHandle(H5Dcreate_anon(file, H5T_NATIVE_INT, space.get(), list.get(), H5P_DEFAULT));
}

void write_chunk(hid_t dataset, const Shape& shape, const Offset& at, int value) {
  const int rank = static_cast<int>(shape.extent.size());
  const SpaceHandle space(H5Dget_space(dataset));
  const Offset one(shape.extent.size(), 1);
  const SpaceHandle memory(H5Screate_simple(rank, one.data(), nullptr));
  REQUIRE(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, at.data(), nullptr, one.data(),
                              nullptr) >= 0);
  REQUIRE(H5Dwrite(dataset, H5T_NATIVE_INT, memory.get(), space.get(), H5P_DEFAULT, &value) >= 0);
}

}  // namespace

TEST_CASE("stored chunks: each is where it was written, in whichever dimension the dataset grows",
          "[vol]") {
  constexpr hsize_t kNone = H5S_UNLIMITED;
  const std::vector<Shape> shapes{
      {{4, 12}, {4, kNone}, {2, 3}},
      {{4, 12}, {kNone, 12}, {2, 3}},
      {{4, 12}, {kNone, kNone}, {2, 3}},
      {{4, 12}, {4, 12}, {2, 3}},
      {{4, 100}, {4, kNone}, {1, 100}},
      {{5, 7, 11}, {9, kNone, 20}, {2, 3, 4}},
      {{5, 7, 11}, {5, 7, kNone}, {2, 3, 4}},
      {{1, 40}, {1, kNone}, {1, 1}},
      {{13}, {kNone}, {2}},
  };
  std::mt19937 random(3);  // NOLINT: the same each time
  for (const MemoryFormat format : {MemoryFormat::kUsual, MemoryFormat::kNewest})
    for (const Shape& shape : shapes)
      for (const std::size_t share : {1u, 2u, 3u, 100u})
        for (const bool filtered : {false, true}) {
          CAPTURE(format == MemoryFormat::kNewest, shape.limit, share, filtered);
          auto file = make_memory_file("a test", 1u << 16, format);
          REQUIRE(file);
          const DatasetHandle dataset = make(file->get(), shape, filtered);
          REQUIRE(dataset.valid());
          auto offsets = all_offsets(shape);
          std::ranges::shuffle(offsets, random);
          offsets.resize((offsets.size() + share - 1) / share);
          int value = 0;
          for (const Offset& at : offsets) write_chunk(dataset.get(), shape, at, ++value);
          REQUIRE(H5Fflush(file->get(), H5F_SCOPE_LOCAL) >= 0);
          const auto found = stored_chunks(dataset.get());
          REQUIRE(found);
          std::set<Offset> seen;
          for (const StoredChunk& chunk : *found) {
            CHECK(chunk.bytes > 0);
            seen.insert(chunk.offset);
          }
          CHECK(found->size() == offsets.size());
          CHECK(seen == std::set<Offset>(offsets.begin(), offsets.end()));
        }
}

}  // namespace bento::vol
