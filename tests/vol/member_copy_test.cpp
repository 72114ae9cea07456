// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/member_copy.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "hdf5/base/handle.hpp"

namespace bento::vol {
namespace {

struct Member {
  std::string name;
  hid_t type;
};

/// A compound of these members, in this order, with up to 3 bytes in front of each by chance.
TypeHandle compound(const std::vector<Member>& members, std::mt19937& chance) {
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
  for (const auto& member : members) {
    offsets.push_back(bytes += chance() % 4);
    bytes += H5Tget_size(member.type);
  }
  TypeHandle type(H5Tcreate(H5T_COMPOUND, bytes + chance() % 4 + 1));
  for (std::size_t i = 0; i < members.size(); ++i)
    REQUIRE(H5Tinsert(type.get(), members[i].name.c_str(), offsets[i], members[i].type) >= 0);
  return type;
}

std::vector<std::byte> bytes_by_chance(std::size_t bytes, std::mt19937& chance) {
  std::vector<std::byte> all(bytes);
  for (auto& one : all) one = static_cast<std::byte>(chance());
  return all;
}

/// What HDF5 makes of the elements, over a background.
std::vector<std::byte> converted(hid_t from, hid_t to, const std::vector<std::byte>& elements,
                                 std::vector<std::byte> background, std::size_t count) {
  std::vector<std::byte> room(count * std::max(H5Tget_size(from), H5Tget_size(to)));
  std::ranges::copy(elements, room.begin());
  REQUIRE(H5Tconvert(from, to, count, room.data(), background.data(), H5P_DEFAULT) >= 0);
  room.resize(count * H5Tget_size(to));
  return room;
}

/// Are the bytes of all members of `type` the same? Between members anything may lie.
bool same_members(hid_t type, const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  const std::size_t stride = H5Tget_size(type);
  for (int i = 0; i < H5Tget_nmembers(type); ++i) {
    const auto number = static_cast<unsigned>(i);
    const TypeHandle member(H5Tget_member_type(type, number));
    const std::size_t offset = H5Tget_member_offset(type, number);
    for (std::size_t at = offset; at < a.size(); at += stride)
      if (!std::equal(a.begin() + static_cast<std::ptrdiff_t>(at),
                      a.begin() + static_cast<std::ptrdiff_t>(at + H5Tget_size(member.get())),
                      b.begin() + static_cast<std::ptrdiff_t>(at)))
        return false;
  }
  return true;
}

}  // namespace

TEST_CASE("member copy: the same members as by HDF5's conversion", "[vol]") {
  const hsize_t three = 3;
  const TypeHandle array(H5Tarray_create2(H5T_STD_I16BE, 1, &three));
  const TypeHandle text(H5Tcopy(H5T_C_S1));
  REQUIRE(H5Tset_size(text.get(), 5) >= 0);
  const TypeHandle inner(H5Tcreate(H5T_COMPOUND, 16));
  REQUIRE(H5Tinsert(inner.get(), "x", 0, H5T_IEEE_F64LE) >= 0);
  REQUIRE(H5Tinsert(inner.get(), "y", 8, H5T_STD_U64LE) >= 0);
  const std::vector<Member> all{{"a", H5T_STD_I8LE},   {"b", H5T_STD_U16BE}, {"c", H5T_IEEE_F32LE},
                                {"d", H5T_IEEE_F64BE}, {"e", array.get()},   {"f", text.get()},
                                {"g", inner.get()},    {"h", H5T_STD_U64LE}};
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    std::mt19937 chance(seed);
    const auto some = [&] {
      auto members = all;
      std::ranges::shuffle(members, chance);
      members.resize(1 + chance() % members.size());
      return members;
    };
    const TypeHandle memory = compound(some(), chance);
    const TypeHandle file = compound(some(), chance);
    const auto copy = MemberCopy::between(memory.get(), file.get());
    REQUIRE(copy);
    const std::size_t count = 1 + chance() % 5;
    const auto in_memory = bytes_by_chance(count * H5Tget_size(memory.get()), chance);
    const auto in_file = bytes_by_chance(count * H5Tget_size(file.get()), chance);

    auto to_file = in_file;
    copy->to_file(count, in_memory.data(), to_file.data());
    CHECK(same_members(file.get(), to_file,
                       converted(memory.get(), file.get(), in_memory, in_file, count)));
    auto to_memory = in_memory;
    copy->to_memory(count, in_file.data(), to_memory.data());
    CHECK(same_members(memory.get(), to_memory,
                       converted(file.get(), memory.get(), in_file, in_memory, count)));
  }
}

TEST_CASE("member copy: not of members that are converted, nor of references", "[vol]") {
  for (const unsigned seed : {1u, 2u}) {
    std::mt19937 chance(seed);
    const TypeHandle little = compound({{"a", H5T_STD_I8LE}, {"b", H5T_STD_U32LE}}, chance);
    const TypeHandle big = compound({{"b", H5T_STD_U32BE}, {"a", H5T_STD_I8LE}}, chance);
    CHECK_FALSE(MemberCopy::between(little.get(), big.get()));
    CHECK_FALSE(MemberCopy::between(little.get(), H5T_STD_U32LE));
    CHECK_FALSE(MemberCopy::between(H5T_STD_U32LE, little.get()));
    const TypeHandle reference = compound({{"a", H5T_STD_REF_OBJ}}, chance);
    CHECK_FALSE(MemberCopy::between(reference.get(), reference.get()));
    // A member that only one of them has is no hindrance.
    const TypeHandle other = compound({{"z", H5T_STD_U32BE}, {"a", H5T_STD_I8LE}}, chance);
    CHECK(MemberCopy::between(little.get(), other.get()));
  }
}

namespace {

herr_t convert_otherwise(hid_t, hid_t, H5T_cdata_t* data, std::size_t, std::size_t, std::size_t,
                         void*, void*, hid_t) {
  data->need_bkg = H5T_BKG_YES;
  return 0;
}

}  // namespace

TEST_CASE("member copy: not where the program has a conversion of its own", "[vol]") {
  for (const unsigned seed : {3u, 4u}) {
    std::mt19937 chance(seed);
    const TypeHandle one = compound({{"a", H5T_STD_I32LE}}, chance);
    const TypeHandle two = compound({{"a", H5T_STD_I32LE}, {"b", H5T_STD_I32LE}}, chance);
    REQUIRE(MemberCopy::between(one.get(), two.get()));
    REQUIRE(H5Tregister(H5T_PERS_HARD, "own", two.get(), one.get(), convert_otherwise) >= 0);
    CHECK_FALSE(MemberCopy::between(one.get(), two.get()));
    CHECK_FALSE(MemberCopy::between(two.get(), one.get()));
    CHECK(H5Tunregister(H5T_PERS_HARD, "own", two.get(), one.get(), convert_otherwise) >= 0);
    CHECK(MemberCopy::between(one.get(), two.get()));
  }
}

}  // namespace bento::vol
