// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <array>
#include <limits>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "tests/support/matchers.hpp"

using namespace bento;
using namespace bento::test;

namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

std::vector<std::byte> bytes(std::initializer_list<unsigned> values) {
  std::vector<std::byte> result;
  for (const auto value : values) result.push_back(static_cast<std::byte>(value));
  return result;
}

void write_everything(ByteWriter& out) {
  out.u8(0xFE);
  out.u16(0xFEDC);
  out.u32(0xFEDCBA98);
  out.u64(0xFEDCBA9876543210);
  out.i32(-2);
  out.i64(-3);
  out.varint(kMax);
  out.array_u64(std::vector<std::uint64_t>{1, 1ull << 40});
  out.bytes(bytes({7, 8}));
  out.zeros(3);
}

Status read_everything(ByteReader& in) {
  BENTO_ASSIGN(const auto v8, in.u8());
  BENTO_ASSIGN(const auto v16, in.u16());
  BENTO_ASSIGN(const auto v32, in.u32());
  BENTO_ASSIGN(const auto v64, in.u64());
  BENTO_ASSIGN(const auto s32, in.i32());
  BENTO_ASSIGN(const auto s64, in.i64());
  BENTO_ASSIGN(const auto v, in.varint());
  BENTO_ASSIGN(const auto array, in.array_u64(2));
  BENTO_ASSIGN(const auto view, in.bytes(2));
  BENTO_TRY(in.skip(3));
  CHECK(v8 == 0xFE);
  CHECK(v16 == 0xFEDC);
  CHECK(v32 == 0xFEDCBA98);
  CHECK(v64 == 0xFEDCBA9876543210);
  CHECK(s32 == -2);
  CHECK(s64 == -3);
  CHECK(v == kMax);
  CHECK(array == std::vector<std::uint64_t>{1, 1ull << 40});
  CHECK(view[1] == std::byte{8});
  return {};
}

}  // namespace

TEST_CASE("bytes: what is written is read back in either order", "[core][bytes]") {
  for (const auto order : {std::endian::little, std::endian::big}) {
    ByteWriter out(order);
    write_everything(out);
    ByteReader in(out.view(), order);
    require_ok(read_everything(in));
    CHECK(in.remaining() == 0);
    CHECK(in.offset() == out.size());
  }
}

TEST_CASE("bytes: the orders are those they say", "[core][bytes]") {
  ByteWriter little(std::endian::little);
  little.u32(0x01020304);
  ByteWriter big(std::endian::big);
  big.u32(0x01020304);
  CHECK(std::move(little).take() == bytes({4, 3, 2, 1}));
  CHECK(std::move(big).take() == bytes({1, 2, 3, 4}));
}

TEST_CASE("bytes: every truncation is an error that says where", "[core][bytes]") {
  ByteWriter out;
  write_everything(out);
  for (std::size_t length = 0; length < out.size(); ++length) {
    // A copy of its own, so that the address sanitizer sees the first byte too many.
    const std::vector<std::byte> part(out.view().begin(),
                                      out.view().begin() + static_cast<std::ptrdiff_t>(length));
    ByteReader in(part, std::endian::little, "thing");
    require_error(read_everything(in), Code::kCorrupt, {"thing", "byte"});
    REQUIRE(in.offset() <= length);
  }
}

TEST_CASE("bytes: varints at their limits", "[core][bytes]") {
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, std::uint64_t{1} << 32,
        std::uint64_t{1} << 63, kMax - 1, kMax}) {
    ByteWriter out;
    out.varint(value);
    ByteReader in(out.view());
    CHECK(must(in.varint()) == value);
    CHECK(in.remaining() == 0);
  }
  SECTION("the largest has ten bytes") {
    const auto largest = bytes({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01});
    ByteReader in(largest);
    CHECK(must(in.varint()) == kMax);
  }
  SECTION("a 65th bit is an error") {
    const auto more = bytes({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02});
    ByteReader in(more);
    require_error(in.varint(), Code::kCorrupt, {"varint"});
  }
  SECTION("an eleventh byte is an error") {
    const auto more = bytes({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00});
    ByteReader in(more);
    require_error(in.varint(), Code::kCorrupt, {"varint"});
  }
  SECTION("an unfinished one is an error") {
    const auto part = bytes({0x80});
    ByteReader in(part);
    require_error(in.varint(), Code::kCorrupt);
  }
}

TEST_CASE("bytes: counts are held against what is there before anything is allocated",
          "[core][bytes]") {
  const std::vector<std::byte> data(64);
  ByteReader in(data);
  require_ok(in.fits(8, 8));
  require_error(in.fits(9, 8), Code::kCorrupt);
  require_error(in.fits(kMax, 8), Code::kCorrupt);
  require_error(in.fits(kMax / 8 + 2, 8), Code::kCorrupt);  // the product would wrap to 8
  require_error(in.array_u64(kMax / 8 + 2), Code::kCorrupt);
  require_error(in.bytes(kMax), Code::kCorrupt);
  require_error(in.skip(65), Code::kCorrupt);
  CHECK(in.offset() == 0);
}

TEST_CASE("reader: numbers that are not looked at one by one are the same", "[core][bytes]") {
  for (unsigned shift = 0; shift < 64; ++shift)
    for (const std::uint64_t value : {std::uint64_t{1} << shift, kMax >> shift}) {
      ByteWriter out;
      out.varint(value);
      out.u8(0xAB);
      out.bytes(bytes({1, 2, 3}));
      ByteReader in(out.view());
      std::array<std::byte, 3> rest{};
      CHECK(in.next_varint() == value);
      CHECK(in.next_u8() == 0xAB);
      in.next_bytes(rest);
      CHECK(rest[2] == std::byte{3});
      CHECK(in.is_settled());
      CHECK(in.settled());
      CHECK(in.remaining() == 0);
    }
}

TEST_CASE("reader: what is missing among them is 0, and said as if it had been looked at",
          "[core][bytes]") {
  ByteWriter out;
  out.u8(5);
  out.varint(1u << 20);
  out.bytes(bytes({9, 9, 9, 9}));
  const auto whole = out.view();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    ByteReader in(whole.first(length), std::endian::little, "some fields");
    std::array<std::byte, 4> four;
    four.fill(std::byte{1});
    const std::uint8_t first = in.next_u8();
    const std::uint64_t second = in.next_varint();
    in.next_bytes(four);
    CHECK(first == (length > 0 ? 5 : 0));
    CHECK(second == (length > 3 ? 1u << 20 : 0));
    CHECK(four[0] == std::byte{0});
    CHECK(in.remaining() == 0);
    CHECK(in.next_u8() == 0);
    CHECK(in.next_varint() == 0);
    CHECK_FALSE(in.is_settled());
    ByteReader other(whole.first(length), std::endian::little, "some fields");
    const auto looked_at = [&]() -> Status {
      BENTO_TRY(other.u8());
      BENTO_TRY(other.varint());
      BENTO_TRY(other.bytes(4));
      return {};
    };
    const Status settled = in.settled();
    const Status same = looked_at();
    REQUIRE_FALSE(settled);
    REQUIRE_FALSE(same);
    CHECK(settled.error().code == Code::kCorrupt);
    CHECK(settled.error().text == same.error().text);
  }
}

TEST_CASE("reader: a number of more than 64 bits is none", "[core][bytes]") {
  for (const auto& wrong :
       {bytes({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2}),
        bytes({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0})}) {
    ByteReader in(wrong);
    CHECK(in.next_varint() == 0);
    CHECK_FALSE(in.settled());
    CHECK(in.remaining() == 0);
    ByteReader other(wrong);
    CHECK_FALSE(other.varint());
  }
}
