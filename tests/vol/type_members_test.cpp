// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/type_members.hpp"

#include <catch2/catch_test_macros.hpp>

#include "hdf5/base/handle.hpp"
#include "tests/support/matchers.hpp"

namespace bento::vol {
namespace {

using test::must;
using test::require_error;

struct Member {
  const char* name;
  hid_t type;
};

/// A compound type with a byte between any two members.
TypeHandle compound(std::initializer_list<Member> members) {
  std::size_t bytes = 0;
  for (const auto& member : members) bytes += H5Tget_size(member.type) + 1;
  TypeHandle type(H5Tcreate(H5T_COMPOUND, bytes));
  std::size_t at = 0;
  for (const auto& member : members) {
    REQUIRE(H5Tinsert(type.get(), member.name, at, member.type) >= 0);
    at += H5Tget_size(member.type) + 1;
  }
  return type;
}

MemberSet bits(std::uint64_t word) {
  return MemberSet({word});
}

}  // namespace

TEST_CASE("type members: a write brings those that its type in memory has", "[vol]") {
  const TypeHandle file =
      compound({{"a", H5T_STD_I32LE}, {"b", H5T_IEEE_F64LE}, {"c", H5T_STD_I8LE}});
  const TypeMembers members(file.get());
  CHECK(members.all().members == bits(0b111));
  CHECK_FALSE(members.all().partial);

  // All of them in another order and other sizes, and one that the file does not have.
  const TypeHandle all = compound(
      {{"c", H5T_STD_I64BE}, {"x", H5T_STD_I8LE}, {"b", H5T_IEEE_F32BE}, {"a", H5T_STD_I16LE}});
  const auto whole = must(members.written_by(all.get()));
  CHECK(whole.members == bits(0b111));
  CHECK_FALSE(whole.partial);

  for (const hid_t type : {H5T_IEEE_F64LE, H5T_IEEE_F32BE}) {
    const TypeHandle some = compound({{"c", H5T_STD_I8LE}, {"b", type}});
    const auto part = must(members.written_by(some.get()));
    CHECK(part.members == bits(0b110));
    CHECK(part.partial);
  }
  const TypeHandle other = compound({{"x", H5T_STD_I8LE}});
  CHECK(must(members.written_by(other.get())).members.empty());
  const TypeHandle text(H5Tcreate(H5T_OPAQUE, 4));
  H5E_BEGIN_TRY {
    require_error(members.written_by(text.get()), Code::kInvalidArgument);
  }
  H5E_END_TRY
}

TEST_CASE("type members: members of members", "[vol]") {
  const TypeHandle inner = compound({{"x", H5T_STD_I32LE}, {"y", H5T_STD_I32LE}});
  const hsize_t three = 3;
  const TypeHandle plain(H5Tarray_create2(H5T_STD_I16LE, 1, &three));
  const TypeHandle several(H5Tarray_create2(inner.get(), 1, &three));
  const TypeHandle file =
      compound({{"in", inner.get()}, {"plain", plain.get()}, {"several", several.get()}});
  const TypeMembers members(file.get());
  CHECK(members.all().members == bits(0b11111));  // in.x, in.y, plain, several.x, several.y

  const TypeHandle only_y = compound({{"y", H5T_STD_I64LE}});
  const TypeHandle some = compound({{"in", only_y.get()}, {"several", several.get()}});
  CHECK(must(members.written_by(some.get())).members == bits(0b11010));
}

}  // namespace bento::vol
