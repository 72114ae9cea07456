// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/sion/dump.hpp"
#include "core/sion/meta1.hpp"
#include "tests/support/matchers.hpp"

using namespace bento;
using namespace bento::test;

namespace {

constexpr std::uint64_t kHugeFile = 1ull << 62;

/// A field of every kind above 2^32 where the format has room for it.
Meta1 large_meta1() {
  Meta1 meta;
  meta.fsblksize = 1u << 30;
  meta.files = 7;
  meta.file_number = 3;
  meta.prefix = "some/where/x.sion";
  meta.global_ranks = {5, -1, (1ll << 40) + 3};
  meta.chunk_bytes = {(1ull << 33) + 1, 0, 1ull << 50};
  meta.max_blocks = 70000;
  meta.meta2_address = (1ull << 61) + 12345;
  return meta;
}

std::vector<std::byte> encoded(const Meta1& meta) {
  return must(encode_meta1(meta, true));
}

void put32(std::vector<std::byte>& bytes, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i)
    bytes[at + i] = static_cast<std::byte>(value >> (8 * i) & 0xFFu);
}

/// Format 2 has neither filenumber nor flags.
std::vector<std::byte> without_new_fields(std::vector<std::byte> bytes) {
  bytes.erase(bytes.begin() + 32, bytes.begin() + 52);
  put32(bytes, 16, 2);
  return bytes;
}

}  // namespace

TEST_CASE("meta1: what is encoded is decoded, in both byte orders", "[core][sion]") {
  for (const auto order : {std::endian::little, std::endian::big}) {
    Meta1 meta = large_meta1();
    meta.order = order;
    meta.data_order = order == std::endian::little ? std::endian::big : std::endian::little;
    const auto bytes = encoded(meta);
    CHECK(bytes.size() == 1088 + 16 * 3);
    CHECK(must(decode_meta1(bytes, kHugeFile)) == meta);
    CHECK(meta.tail_address() == 1076 + 16 * 3);
    CHECK(meta.closed());
    CHECK_FALSE(meta.is_master());
  }
}

TEST_CASE("meta1: a file that was not closed is decoded, and says so", "[core][sion]") {
  Meta1 meta = large_meta1();
  meta.max_blocks = 0;
  meta.meta2_address = 0;
  SECTION("killed before any data: the file ends early") {
    const auto bytes = must(encode_meta1(meta, false));
    CHECK(must(decode_meta1(bytes, bytes.size())) == meta);
  }
  SECTION("killed later: zeros") {
    CHECK(must(decode_meta1(encoded(meta), kHugeFile)) == meta);
  }
  CHECK_FALSE(meta.closed());
}

TEST_CASE("meta1: the endianness word has four values", "[core][sion]") {
  const auto good = encoded(large_meta1());
  int accepted = 0;
  for (unsigned word = 0; word < 16; ++word) {
    auto bytes = good;
    for (std::size_t i = 0; i < 4; ++i) bytes[4 + i] = static_cast<std::byte>(word >> i & 1u);
    const auto meta = decode_meta1(bytes, kHugeFile);
    if (meta) ++accepted;
    // In the other order the numbers make no sense, but the word does.
    if (word != 0 && word != 6 && word != 9 && word != 15)
      require_error(meta, Code::kCorrupt, {"endianness word"});
  }
  CHECK(accepted == 2);
  auto bytes = good;
  bytes[4] = bytes[7] = std::byte{2};
  require_error(decode_meta1(bytes, kHugeFile), Code::kCorrupt, {"endianness word", "02 00 00 02"});
}

TEST_CASE("meta1: each field is checked, and the error names it", "[core][sion]") {
  auto bytes = encoded(large_meta1());
  const auto refused = [&](std::size_t at, std::uint32_t value, Code code, std::string_view field) {
    auto bad = bytes;
    put32(bad, at, value);
    INFO(field << " = " << value);
    require_error(decode_meta1(bad, kHugeFile), code, {field});
  };
  refused(0, 0x4E4F4953, Code::kCorrupt, "sion");  // "SION"
  refused(16, 1, Code::kUnsupported, "file format version 1, this code reads 2 to 5");
  refused(16, 6, Code::kUnsupported, "file format version 6, this code reads 2 to 5");
  refused(16, 0xFFFFFFFF, Code::kUnsupported, "file format version -1");
  refused(20, 0, Code::kCorrupt, "fsblksize at byte 20: 0");
  refused(20, 0x80000000, Code::kCorrupt, "fsblksize");
  refused(24, 0xFFFFFFFF, Code::kCorrupt, "ntasks at byte 24: -1");
  refused(24, 1u << 30, Code::kCorrupt, "ntasks");
  refused(24, 1u << 20, Code::kCorrupt,
          "1048576 elements");  // as many as are allowed, but not there
  refused(28, 0, Code::kCorrupt, "nfiles");
  refused(32, 7, Code::kCorrupt, "filenumber at byte 32: 7, want 0..6");
  refused(36, 1, Code::kCorrupt, "flag1");
  refused(40, 49, Code::kCorrupt, "flag1");
  refused(40, 55, Code::kCorrupt, "flag1");
  refused(44, 1, Code::kCorrupt, "flag2");
  refused(48, 1, Code::kCorrupt, "flag2");
  refused(1076 + 24 + 4, 0x80000000, Code::kCorrupt, "chunksize");
  refused(1076 + 48, 0xFFFFFFFF, Code::kCorrupt, "maxchunks");
  refused(1076 + 56, 0x80000000, Code::kCorrupt, "start_of_varheader");
  refused(1076 + 56, 0x7FFFFFFF, Code::kCorrupt, "start_of_varheader");
  std::fill(bytes.begin() + 52, bytes.begin() + 1076, std::byte{'x'});
  require_error(decode_meta1(bytes, kHugeFile), Code::kCorrupt, {"prefix at byte 52"});
}

TEST_CASE("meta1: META2 inside META1 or behind the file", "[core][sion]") {
  Meta1 meta = large_meta1();
  for (const std::uint64_t address : {std::uint64_t{1}, std::uint64_t{1088 + 47}, kHugeFile + 1}) {
    meta.meta2_address = address;
    require_error(decode_meta1(encoded(meta), kHugeFile), Code::kCorrupt, {"start_of_varheader"});
  }
  meta.meta2_address = 1088 + 48;
  require_ok(decode_meta1(encoded(meta), kHugeFile));
  meta.meta2_address = kHugeFile;
  require_ok(decode_meta1(encoded(meta), kHugeFile));
}

TEST_CASE("meta1: chunks beyond the largest file offset", "[core][sion]") {
  Meta1 meta = large_meta1();
  meta.chunk_bytes = {1ull << 62, 1ull << 62, 1};
  require_error(encode_meta1(meta, true), Code::kCorrupt, {"task 1"});
}

TEST_CASE("meta1: every truncation of its bytes is an error", "[core][sion]") {
  const auto bytes = encoded(large_meta1());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::vector<std::byte> part(bytes.begin(),
                                      bytes.begin() + static_cast<std::ptrdiff_t>(length));
    const auto meta = decode_meta1(part, kHugeFile);
    REQUIRE_FALSE(meta);
  }
}

TEST_CASE("meta1: key-value modes", "[core][sion]") {
  Meta1 meta = large_meta1();
  for (const auto mode : {KeyvalMode::kNone, KeyvalMode::kInline, KeyvalMode::kMeta,
                          KeyvalMode::kHash, KeyvalMode::kUnknown}) {
    meta.set_keyval(mode);
    CHECK(must(decode_meta1(encoded(meta), kHugeFile)).keyval() == mode);
  }
  meta.flag1 = 0;  // very old writers of format 5
  CHECK(must(decode_meta1(encoded(meta), kHugeFile)).keyval() == KeyvalMode::kNone);
}

TEST_CASE("meta1: older formats", "[core][sion]") {
  Meta1 meta;
  meta.fsblksize = 512;
  meta.file_number = 1;
  meta.prefix = "old.sion";
  meta.global_ranks = {0, 1, 2};
  meta.chunk_bytes = {100, 512, 513};
  meta.max_blocks = 1;
  meta.meta2_address = 4096;
  auto bytes = encoded(meta);
  SECTION("4: chunk sizes as stored, flags without meaning") {
    put32(bytes, 16, 4);
    put32(bytes, 36, 77);
    put32(bytes, 44, 78);
    const auto old = must(decode_meta1(bytes, 1 << 20));
    CHECK(old.format_version == 4);
    CHECK(old.keyval() == KeyvalMode::kNone);
    CHECK(must(old.effective_chunk_bytes()) == meta.chunk_bytes);
  }
  SECTION("3: the reader rounds chunk sizes") {
    put32(bytes, 16, 3);
    const auto old = must(decode_meta1(bytes, 1 << 20));
    CHECK(old.chunk_bytes == meta.chunk_bytes);
    CHECK(must(old.effective_chunk_bytes()) == std::vector<std::uint64_t>{512, 512, 1024});
    CHECK(must(old.layout()).block_bytes() == 2048);
  }
  SECTION("2: no filenumber, no flags, data begin where they would with them") {
    const auto old = must(decode_meta1(without_new_fields(bytes), 1 << 20));
    CHECK(old.format_version == 2);
    CHECK(old.file_number == 1);
    CHECK(old.global_ranks == meta.global_ranks);
    CHECK(old.prefix == meta.prefix);
    CHECK(old.tail_address() == 1056 + 48);
    CHECK(old.meta2_address == 4096);
    CHECK(must(old.layout()).data_start() == 1536);
    CHECK(must(old.layout()).block_bytes() == 2048);
    put32(bytes, 28, 2);
    require_error(decode_meta1(without_new_fields(bytes), 1 << 20), Code::kUnsupported,
                  {"2 physical files"});
  }
  SECTION("they are not written") {
    meta.format_version = 4;
    require_error(encode_meta1(meta, true), Code::kInvalidArgument, {"format"});
  }
}

TEST_CASE("meta1: no tasks at all", "[core][sion]") {
  Meta1 meta;
  meta.fsblksize = 512;
  meta.meta2_address = 1536;
  const auto back = must(decode_meta1(encoded(meta), 1536));
  CHECK(back.tasks() == 0);
  CHECK(must(back.layout()).block_bytes() == 0);
}

TEST_CASE("meta1: what the format cannot hold is not encoded", "[core][sion]") {
  const auto refused = [](auto change, std::string_view word) {
    Meta1 meta = large_meta1();
    change(meta);
    require_error(encode_meta1(meta, true), Code::kInvalidArgument, {word});
  };
  refused([](Meta1& m) { m.fsblksize = 0; }, "fsblksize");
  refused([](Meta1& m) { m.fsblksize = 1u << 31; }, "fsblksize");
  refused([](Meta1& m) { m.global_ranks.pop_back(); }, "2 global ranks for 3 tasks");
  refused([](Meta1& m) { m.files = 0; }, "files");
  refused([](Meta1& m) { m.file_number = 7; }, "file number 7 of 7");
  refused([](Meta1& m) { m.prefix = std::string(1024, 'x'); }, "prefix");
  refused([](Meta1& m) { m.prefix = std::string("a\0b", 3); }, "prefix");
  refused([](Meta1& m) { m.max_blocks = 1u << 31; }, "blocks");
  refused([](Meta1& m) { m.meta2_address = 1ull << 63; }, "META2");
  Meta1 longest = large_meta1();
  longest.prefix = std::string(1023, 'x');
  CHECK(must(decode_meta1(encoded(longest), kHugeFile)).prefix == longest.prefix);
}

TEST_CASE("meta1: its dump names every field and shortens long tables", "[core][sion]") {
  const std::string text = dump(large_meta1());
  for (const std::string_view word :
       {"fsblksize          1073741824", "nfiles             7", "globalrank -1",
        "start_of_varheader 2305843009213706297", "some/where/x.sion", "key-value: none"})
    CHECK(text.find(word) != std::string::npos);
  CHECK(dump(large_meta1(), 1).find("... and 2 more") != std::string::npos);
  CHECK(to_string(KeyvalMode::kHash) == "hash");
  CHECK(to_string(static_cast<KeyvalMode>(99)) == "99");
}
