// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Shuffle and deflate without HDF5's filter pipeline, against that pipeline itself: a dataset of
// one chunk in an ordinary file in memory.
#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>
#include <catch2/catch_test_macros.hpp>

#include "hdf5/base/library_state.hpp"
#include "hdf5/data/filter_scratch.hpp"
#include "tests/support/matchers.hpp"

namespace bento::vol {
namespace {

using test::must;
using test::require_error;
using test::require_ok;

using Bytes = std::vector<std::byte>;

/// The library may not have begun yet.
LibraryState as_in_a_call() {
  REQUIRE(H5open() >= 0);
  return LibraryState();
}

/// Elements as measurements give them: neighbours are alike; all bytes are random with `noise`.
Bytes elements_of(std::size_t bytes, std::size_t element_bytes, bool noise, unsigned seed) {
  std::mt19937 random(seed);
  Bytes made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    const bool low = i % element_bytes == 0;
    made[i] = static_cast<std::byte>(noise || low ? random() & 0xFF : i / element_bytes / 100);
  }
  return made;
}

struct Stored {
  Bytes bytes;
  std::uint32_t mask = 0;
};

/// A chunk of a dataset that HDF5 filters itself.
class Native {
 public:
  Native(const Dims& shape, hid_t type, hid_t dcpl) : type_(type) {
    const PlistHandle access(H5Pcreate(H5P_FILE_ACCESS));
    REQUIRE(H5Pset_fapl_core(access.get(), 1u << 16, false) >= 0);
    file_ = FileHandle(H5Fcreate("direct filters", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
    std::array<hsize_t, kMaxRank> dims{};
    std::copy_n(shape.view().begin(), shape.rank(), dims.begin());
    const auto rank = static_cast<int>(shape.rank());
    const PlistHandle list(H5Pcopy(dcpl));
    REQUIRE(H5Pset_chunk(list.get(), rank, dims.data()) >= 0);
    const SpaceHandle space(H5Screate_simple(rank, dims.data(), nullptr));
    dataset_ = DatasetHandle(
        H5Dcreate2(file_.get(), "x", type, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT));
    REQUIRE(dataset_.valid());
  }

  Stored filter(const Bytes& elements) {
    REQUIRE(H5Dwrite(dataset_.get(), type_, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data()) >= 0);
    REQUIRE(H5Dflush(dataset_.get()) >= 0);
    hsize_t bytes = 0;
    REQUIRE(H5Dget_chunk_storage_size(dataset_.get(), kOrigin.data(), &bytes) >= 0);
    Stored stored;
    stored.bytes.resize(bytes);
    REQUIRE(H5Dread_chunk(dataset_.get(), H5P_DEFAULT, kOrigin.data(), &stored.mask,
                          stored.bytes.data()) >= 0);
    return stored;
  }

  /// False if HDF5 refuses the bytes.
  bool unfilter(const Stored& stored, Bytes& elements) {
    REQUIRE(H5Dwrite_chunk(dataset_.get(), H5P_DEFAULT, stored.mask, kOrigin.data(),
                           stored.bytes.size(), stored.bytes.data()) >= 0);
    // What is open still has the mask that the chunk had before (docs/hdf5-traps.md).
    dataset_.reset();
    dataset_ = DatasetHandle(H5Dopen2(file_.get(), "x", H5P_DEFAULT));
    herr_t result = -1;
    H5E_BEGIN_TRY {
      result = H5Dread(dataset_.get(), type_, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data());
    }
    H5E_END_TRY
    return result >= 0;
  }

 private:
  static constexpr std::array<hsize_t, kMaxRank> kOrigin{};
  hid_t type_;
  FileHandle file_;
  DatasetHandle dataset_;
};

enum class Shuffle { kNo, kYes };

PlistHandle list_of(const Dims& shape, Shuffle shuffle, unsigned level,
                    unsigned flags = H5Z_FLAG_OPTIONAL) {
  PlistHandle list(H5Pcreate(H5P_DATASET_CREATE));
  std::array<hsize_t, kMaxRank> dims{};
  std::copy_n(shape.view().begin(), shape.rank(), dims.begin());
  REQUIRE(H5Pset_chunk(list.get(), static_cast<int>(shape.rank()), dims.data()) >= 0);
  if (shuffle == Shuffle::kYes) REQUIRE(H5Pset_shuffle(list.get()) >= 0);
  REQUIRE(H5Pset_filter(list.get(), H5Z_FILTER_DEFLATE, flags, 1, &level) >= 0);
  return list;
}

TypeHandle opaque(std::size_t bytes) {
  return TypeHandle(H5Tcreate(H5T_OPAQUE, bytes));
}

Dims shape_of(std::initializer_list<std::uint64_t> dims) {
  Dims shape(static_cast<unsigned>(dims.size()));
  std::copy(dims.begin(), dims.end(), &shape[0]);
  return shape;
}

/// Both ways in both directions, with every mask that leaves a filter.
void check_both_ways(const Dims& shape, hid_t type, Shuffle shuffle, unsigned level, bool noise,
                     unsigned seed) {
  const LibraryState state = as_in_a_call();
  const std::size_t size = H5Tget_size(type);
  INFO(fmt::format("{} bytes an element, {} elements, shuffle {}, level {}, noise {}", size,
                   shape.product(), shuffle == Shuffle::kYes, level, noise));
  const PlistHandle list = list_of(shape, shuffle, level);
  const auto filters = must(FilterScratch::make(list.get(), type));
  const Bytes elements = elements_of(shape.bytes(size), size, noise, seed);
  CHECK(filters->accepts(shape));

  Stored ours;
  require_ok(filters->filter(shape, elements, ours.bytes, ours.mask));
  const Stored theirs = Native(shape, type, list.get()).filter(elements);
  CHECK(ours.mask == theirs.mask);
  Bytes back(elements.size());
  REQUIRE(Native(shape, type, list.get()).unfilter(ours, back));
  CHECK((back == elements));
  std::fill(back.begin(), back.end(), std::byte{0x55});
  require_ok(filters->unfilter(shape, theirs.bytes, theirs.mask, back.data()));
  CHECK((back == elements));

  // What zlib makes of ours is what HDF5's shuffle leaves; as it is, it is a chunk without deflate.
  Stored shuffled{Bytes(elements.size()), shuffle == Shuffle::kYes ? 2u : 1u};
  uLongf bytes = shuffled.bytes.size();
  REQUIRE(uncompress(reinterpret_cast<Bytef*>(shuffled.bytes.data()), &bytes,
                     reinterpret_cast<const Bytef*>(ours.bytes.data()), ours.bytes.size()) == Z_OK);
  REQUIRE(bytes == elements.size());
  REQUIRE(Native(shape, type, list.get()).unfilter(shuffled, back));
  CHECK((back == elements));
  std::fill(back.begin(), back.end(), std::byte{0x55});
  require_ok(filters->unfilter(shape, shuffled.bytes, shuffled.mask, back.data()));
  CHECK((back == elements));
  if (shuffle == Shuffle::kYes) {
    // Without shuffle, the same bytes mean other elements.
    require_ok(filters->unfilter(shape, ours.bytes, 1, back.data()));
    CHECK((back == shuffled.bytes));
  }
  CHECK_FALSE(filters->used_library());
}

TEST_CASE("direct filters: random shapes and types, as HDF5 filters them", "[vol][filters]") {
  std::mt19937 random(7);  // NOLINT: the same every time
  for (const std::size_t size : {1u, 2u, 3u, 4u, 5u, 8u, 12u, 16u, 24u, 700u}) {
    const TypeHandle type = opaque(size);
    for (const unsigned elements : {1u, 2u, 15u, 16u, 17u, 31u, 33u, 255u, 1000u})
      for (const Shuffle shuffle : {Shuffle::kNo, Shuffle::kYes})
        check_both_ways(shape_of({elements}), type.get(), shuffle, 1 + elements % 9,
                        elements % 2 == 0, static_cast<unsigned>(random()));
    for (int i = 0; i < 4; ++i)
      check_both_ways(shape_of({1 + random() % 9, 1 + random() % 40, 1 + random() % 30}),
                      type.get(), Shuffle::kYes, static_cast<unsigned>(1 + random() % 9), i == 0,
                      static_cast<unsigned>(random()));
  }
}

TEST_CASE("direct filters: compound types, numbers, large chunks", "[vol][filters]") {
  const TypeHandle compound(H5Tcreate(H5T_COMPOUND, 19));  // with bytes that no member has
  REQUIRE(H5Tinsert(compound.get(), "a", 1, H5T_STD_I16BE) >= 0);
  REQUIRE(H5Tinsert(compound.get(), "b", 8, H5T_IEEE_F64LE) >= 0);
  for (const hid_t type : {compound.get(), H5T_IEEE_F32LE, H5T_IEEE_F64BE, H5T_STD_U16LE})
    for (const bool noise : {false, true})
      check_both_ways(shape_of({37, 513, 3}), type, Shuffle::kYes, 6, noise, 3);
  check_both_ways(shape_of({5, 1000001}), H5T_IEEE_F32LE, Shuffle::kYes, 1, true, 4);
}

TEST_CASE("direct filters: every level, of noise too", "[vol][filters]") {
  for (unsigned level = 0; level <= 9; ++level)
    for (const bool noise : {false, true})
      for (const Shuffle shuffle : {Shuffle::kNo, Shuffle::kYes})
        check_both_ways(shape_of({71, 1009}), H5T_IEEE_F64LE, shuffle, level, noise, level);
}

TEST_CASE("direct filters: a higher level packs more", "[vol][filters]") {
  const LibraryState state = as_in_a_call();
  const Dims shape = shape_of({100000});
  Bytes elements = elements_of(200000, 2, false, 2);
  std::vector<std::size_t> sizes;
  for (const unsigned level : {0u, 1u, 6u, 9u}) {
    const PlistHandle list = list_of(shape, Shuffle::kNo, level);
    Stored stored;
    require_ok(must(FilterScratch::make(list.get(), H5T_STD_I16LE))
                   ->filter(shape, elements, stored.bytes, stored.mask));
    sizes.push_back(stored.bytes.size());
  }
  CHECK(sizes[0] > elements.size());
  CHECK(sizes[1] < elements.size());
  CHECK(sizes[2] < sizes[1]);
  CHECK(sizes[3] <= sizes[2]);
}

TEST_CASE("direct filters: noise is stored by a mandatory deflate as by an optional one",
          "[vol][filters]") {
  const LibraryState state = as_in_a_call();
  const Dims shape = shape_of({50000});
  const Bytes noise = elements_of(200000, 4, true, 1);
  for (const unsigned flags : {unsigned{H5Z_FLAG_OPTIONAL}, unsigned{H5Z_FLAG_MANDATORY}}) {
    const PlistHandle list = list_of(shape, Shuffle::kYes, 4, flags);
    const auto filters = must(FilterScratch::make(list.get(), H5T_STD_I32LE));
    Stored ours;
    require_ok(filters->filter(shape, noise, ours.bytes, ours.mask));
    const Stored theirs = Native(shape, H5T_STD_I32LE, list.get()).filter(noise);
    CHECK(theirs.mask == 0);
    CHECK(ours.mask == 0);
    CHECK(ours.bytes.size() > noise.size());
    CHECK(ours.bytes.size() < noise.size() + noise.size() / 1000 + 12);
  }
}

TEST_CASE("direct filters: other pipelines take HDF5's", "[vol][filters]") {
  const LibraryState state = as_in_a_call();
  const Dims shape = shape_of({500});
  const Bytes elements = elements_of(2000, 4, false, 1);
  const auto uses_library = [&](const PlistHandle& list) {
    const auto filters = must(FilterScratch::make(list.get(), H5T_STD_I32LE));
    Stored stored;
    require_ok(filters->filter(shape, elements, stored.bytes, stored.mask));
    const bool used = filters->used_library();
    CHECK((stored.bytes == Native(shape, H5T_STD_I32LE, list.get()).filter(elements).bytes));
    Bytes back(elements.size());
    require_ok(filters->unfilter(shape, stored.bytes, stored.mask, back.data()));
    CHECK((back == elements));
    return used;
  };
  const PlistHandle empty(H5Pcreate(H5P_DATASET_CREATE));
  const hsize_t chunk = 500;
  REQUIRE(H5Pset_chunk(empty.get(), 1, &chunk) >= 0);

  PlistHandle list = list_of(shape, Shuffle::kYes, 6);
  REQUIRE(H5Pset_fletcher32(list.get()) >= 0);
  CHECK(uses_library(list));
  list = PlistHandle(H5Pcopy(empty.get()));
  REQUIRE(H5Pset_scaleoffset(list.get(), H5Z_SO_INT, 0) >= 0);
  REQUIRE(H5Pset_deflate(list.get(), 6) >= 0);
  CHECK(uses_library(list));
  list = PlistHandle(H5Pcopy(empty.get()));
  REQUIRE(H5Pset_shuffle(list.get()) >= 0);
  CHECK(uses_library(list));
  list = list_of(shape, Shuffle::kNo, 6);
  REQUIRE(H5Pset_shuffle(list.get()) >= 0);  // behind deflate
  CHECK(uses_library(list));
  list = list_of(shape, Shuffle::kNo, 6);
  REQUIRE(H5Pset_deflate(list.get(), 6) >= 0);  // twice
  CHECK(uses_library(list));
  list = PlistHandle(H5Pcopy(empty.get()));
  REQUIRE(H5Pset_shuffle(list.get()) >= 0);
  REQUIRE(H5Pset_shuffle(list.get()) >= 0);  // HDF5 gives its parameter to the first one only
  REQUIRE(H5Pset_deflate(list.get(), 6) >= 0);
  CHECK(uses_library(list));
  // HDF5 refuses the level, and skips an optional filter then.
  const unsigned level = 10;
  list = PlistHandle(H5Pcopy(empty.get()));
  REQUIRE(H5Pset_filter(list.get(), H5Z_FILTER_DEFLATE, H5Z_FLAG_OPTIONAL, 1, &level) >= 0);
  CHECK(uses_library(list));
}

/// Stored bytes that HDF5 takes or refuses: so do we.
void check_like_native(const Dims& shape, const PlistHandle& list, const Stored& stored,
                       const char* what, bool accepted) {
  INFO(what);
  const hid_t type = H5T_STD_I32LE;
  const auto filters = must(FilterScratch::make(list.get(), type));
  Bytes ours(shape.bytes(4));
  const auto unfilter = [&] {
    Status status;
    H5E_BEGIN_TRY {
      status = filters->unfilter(shape, stored.bytes, stored.mask, ours.data());
    }
    H5E_END_TRY
    return status;
  };
  if (!accepted) {
    require_error(unfilter(), Code::kCorrupt, {"do not pass the dataset's filters"});
    return;
  }
  require_ok(unfilter());
  Bytes theirs(shape.bytes(4));
  REQUIRE(Native(shape, type, list.get()).unfilter(stored, theirs));
  CHECK((ours == theirs));
}

Bytes compressed(const Bytes& plain) {
  uLongf bytes = compressBound(plain.size());
  Bytes made(bytes);
  REQUIRE(compress(reinterpret_cast<Bytef*>(made.data()), &bytes,
                   reinterpret_cast<const Bytef*>(plain.data()), plain.size()) == Z_OK);
  made.resize(bytes);
  return made;
}

TEST_CASE("direct filters: stored bytes that are not those of one chunk", "[vol][filters]") {
  const LibraryState state = as_in_a_call();
  const Dims shape = shape_of({1000});
  const Bytes elements = elements_of(4000, 4, false, 5);
  const Bytes sound = compressed(elements);
  for (const Shuffle shuffle : {Shuffle::kNo, Shuffle::kYes}) {
    const PlistHandle list = list_of(shape, shuffle, 6);
    const auto check = [&](Bytes bytes, std::uint32_t mask, const char* what, bool accepted) {
      check_like_native(shape, list, {std::move(bytes), mask}, what, accepted);
    };
    check(sound, 0, "sound", true);
    for (const std::size_t more : {1u, 4u, 400u, 40000u}) {
      const Bytes longer = elements_of(4000 + more, 4, false, 5);
      check(compressed(longer), 0, "decodes to more", true);
      if (shuffle == Shuffle::kYes) check(longer, 2, "more without deflate", true);
    }
    for (const std::size_t less : {1u, 4u, 3999u}) {
      const Bytes shorter(elements.begin(), elements.end() - static_cast<std::ptrdiff_t>(less));
      check(compressed(shorter), 0, "decodes to less", false);
      if (shuffle == Shuffle::kYes) check(shorter, 2, "less without deflate", false);
    }
    Bytes trailing = sound;
    trailing.resize(sound.size() + 100, std::byte{7});
    check(trailing, 0, "bytes behind the end", true);
    for (const std::size_t left : {std::size_t{1}, std::size_t{2}, std::size_t{5}, sound.size() / 2,
                                   sound.size() - 4, sound.size() - 1})
      check(Bytes(sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(left)), 0, "cut off",
            false);
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{1}, sound.size() / 2, sound.size() - 1}) {
      Bytes wrong = sound;
      wrong[at] ^= std::byte{0x41};
      check(wrong, 0, "changed", false);
    }
    check(Bytes(300, std::byte{0xFF}), 0, "no zlib stream", false);
  }
}

TEST_CASE("direct filters: what they accept of changed bytes, zlib accepts too", "[vol][filters]") {
  REQUIRE(H5open() >= 0);
  std::mt19937 random(11);  // NOLINT: the same every time
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random()) % end; };
  const PlistHandle list = list_of(shape_of({1}), Shuffle::kNo, 6);
  const auto filters = DirectFilters::of(list.get(), 1);
  REQUIRE(filters);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    const Bytes plain = elements_of(1 + below(600), 1 + below(9), below(3) == 0, random() & 0xFFFF);
    Bytes stored = compressed(plain);
    stored.resize(stored.size() + below(3));
    for (std::size_t edits = below(3); edits-- > 0;) {
      const std::size_t at = below(stored.size());
      if (below(4) == 0)
        stored.resize(at + 1);
      else
        stored[at] ^= static_cast<std::byte>(1u << below(8));
    }
    stored.shrink_to_fit();  // the address sanitizer sees what is read behind the end
    Bytes ours(plain.size() + (below(8) == 0 ? 1 : 0));
    if (!filters->unfilter(stored, 0, ours)) continue;
    ++accepted;
    Bytes theirs(ours.size() + 1);
    uLongf bytes = theirs.size();
    REQUIRE(uncompress(reinterpret_cast<Bytef*>(theirs.data()), &bytes,
                       reinterpret_cast<const Bytef*>(stored.data()), stored.size()) == Z_OK);
    theirs.resize(bytes);
    REQUIRE((ours == theirs));
  }
  CHECK(accepted > 1000);
  CHECK(accepted < 19000);
}

}  // namespace
}  // namespace bento::vol
