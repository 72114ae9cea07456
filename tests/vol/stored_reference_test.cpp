// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/stored_reference.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/bytes/byte_writer.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/base/quiet_errors.hpp"

using namespace bento;
using namespace bento::vol;

namespace {

using Kind = StoredReference::Kind;

SpaceHandle table() {
  const std::array<hsize_t, 2> size{20, 30};
  return SpaceHandle(H5Screate_simple(2, size.data(), nullptr));
}

/// One of each form.
std::vector<SpaceHandle> selections() {
  std::vector<SpaceHandle> all;
  for (int i = 0; i < 5; ++i) all.push_back(table());
  const std::array<hsize_t, 2> start{1, 2};
  const std::array<hsize_t, 2> stride{5, 6};
  const std::array<hsize_t, 2> count{3, 2};
  const std::array<hsize_t, 2> block{2, 3};
  const std::array<hsize_t, 2> apart{17, 20};
  const std::array<hsize_t, 6> points{4, 5, 0, 29, 4, 5};
  H5Sselect_none(all[0].get());
  H5Sselect_all(all[1].get());
  H5Sselect_elements(all[2].get(), H5S_SELECT_SET, 3, points.data());
  H5Sselect_hyperslab(all[3].get(), H5S_SELECT_SET, start.data(), stride.data(), count.data(),
                      block.data());
  H5Sselect_hyperslab(all[4].get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
  H5Sselect_hyperslab(all[4].get(), H5S_SELECT_OR, apart.data(), nullptr, count.data(), nullptr);
  return all;
}

std::vector<std::byte> stored(SpaceHandle region) {
  StoredReference reference;
  reference.kind = Kind::kRegion;
  reference.address = 800;
  reference.region = std::move(region);
  return encode_reference(reference).value();
}

/// The same elements, in the same order?
bool equal_selections(hid_t one, hid_t other) {
  if (H5Sget_select_type(one) != H5Sget_select_type(other) ||
      H5Sget_simple_extent_ndims(one) != H5Sget_simple_extent_ndims(other))
    return false;
  const SpaceHandle both = table();
  H5Sselect_copy(both.get(), other);
  if (H5Sget_select_npoints(one) != H5Sget_select_npoints(both.get())) return false;
  return H5Sselect_shape_same(one, both.get()) > 0;
}

}  // namespace

TEST_CASE("stored references: objects and attributes come back") {
  StoredReference reference;
  reference.address = 0x1234567890;
  auto found = decode_reference(encode_reference(reference).value());
  REQUIRE(found);
  CHECK(found->kind == Kind::kObject);
  CHECK(found->address == reference.address);
  reference.kind = Kind::kAttribute;
  reference.attribute = "a name";
  const auto bytes = encode_reference(reference).value();
  found = decode_reference(bytes);
  REQUIRE(found);
  CHECK(found->kind == Kind::kAttribute);
  CHECK(found->attribute == "a name");
  CHECK(bytes.size() == 1 + 8 + 6);
}

TEST_CASE("stored references: selections of each form come back, those that were cut off do not") {
  const QuietErrors quiet;
  for (auto& selection : selections()) {
    const hid_t was = selection.get();
    const SpaceHandle kept(H5Scopy(was));
    const auto bytes = stored(std::move(selection));
    const auto found = decode_reference(bytes);
    REQUIRE(found);
    CHECK(found->kind == Kind::kRegion);
    CHECK(found->address == 800);
    CHECK(equal_selections(kept.get(), found->region.get()));
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const auto cut = decode_reference(std::span(bytes).first(length));
      REQUIRE_FALSE(cut);
      CHECK(cut.error().code == Code::kCorrupt);
    }
    auto longer = bytes;
    longer.push_back(std::byte{0});
    CHECK_FALSE(decode_reference(longer));
  }
}

TEST_CASE("stored references: a region is one of a dataset with as many dimensions") {
  StoredReference reference;
  CHECK(fits_dimensions(reference, -1));
  reference.kind = Kind::kRegion;
  reference.region = table();
  CHECK(fits_dimensions(reference, 2));
  CHECK_FALSE(fits_dimensions(reference, 1));
  CHECK_FALSE(fits_dimensions(reference, -1));
}

TEST_CASE("stored references: a selection without end comes back") {
  const std::array<hsize_t, 1> size{10};
  const std::array<hsize_t, 1> most{H5S_UNLIMITED};
  SpaceHandle space(H5Screate_simple(1, size.data(), most.data()));
  const std::array<hsize_t, 1> start{1};
  const std::array<hsize_t, 1> stride{3};
  const std::array<hsize_t, 1> block{2};
  REQUIRE(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), stride.data(), most.data(),
                              block.data()) >= 0);
  const auto found = decode_reference(stored(std::move(space)));
  REQUIRE(found);
  std::array<hsize_t, 4> is{};
  REQUIRE(H5Sget_regular_hyperslab(found->region.get(), is.data(), &is[1], &is[2], &is[3]) >= 0);
  CHECK(is == std::array<hsize_t, 4>{1, 3, H5S_UNLIMITED, 2});
}

TEST_CASE("stored references: whatever the bytes are, there is an answer") {
  const QuietErrors quiet;
  for (auto& selection : selections()) {
    const auto bytes = stored(std::move(selection));
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (unsigned value = 0; value < 256; value += 5) {
        auto forged = bytes;
        forged[at] = static_cast<std::byte>(value);
        const auto found = decode_reference(forged);
        if (!found) CHECK(found.error().code == Code::kCorrupt);
      }
    }
  }
}

TEST_CASE("stored references: numbers that the bytes cannot hold take no memory") {
  std::vector<std::byte> bytes(9);
  bytes[0] = static_cast<std::byte>(Kind::kRegion);
  put_varint(bytes, 2);           // dimensions
  bytes.push_back(std::byte{2});  // points
  put_varint(bytes, ~std::uint64_t{0} / 2);
  const auto found = decode_reference(bytes);
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Code::kCorrupt);
}
