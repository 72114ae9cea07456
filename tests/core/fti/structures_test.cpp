// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// The byte structures of both layouts, the checksums' text form, MD5.
#include <algorithm>
#include <cstdint>
#include <string>

#include "core/bytes/byte_reader.hpp"
#include "core/fti/checksum.hpp"
#include "core/fti/v11.hpp"
#include "core/fti/v16.hpp"
#include "tests/core/fti/golden.hpp"

using namespace bento;
using namespace bento::test;

namespace {

constexpr std::uint64_t kBig = 0x0102030405060708u;  // above 2^32, and every byte another

fti::Digest counted(unsigned first) {
  fti::Digest digest;
  for (auto& b : digest) b = static_cast<std::byte>(first++);
  return digest;
}

template <class Structure>
Bytes encoded(const Structure& structure) {
  ByteWriter out;
  encode(out, structure);
  return std::move(out).take();
}

fti::v11::FileBlock file_block() {
  fti::v11::FileBlock block;
  block.checksum = fti::to_text(counted(1));
  block.my_hash = counted(0x20);
  block.pad.fill(std::byte{0x70});
  block.ckpt_size = kBig;
  block.fs = kBig + 1;
  block.max_fs = -1;
  block.pt_fs = static_cast<std::int64_t>(kBig + 3);
  block.timestamp = kBig + 4;
  return block;
}

fti::v11::DbVar dbvar_v11() {
  fti::v11::DbVar var;
  var.id = -5;
  var.idx = 0x11223344;
  var.containerid = 7;
  var.hascontent = true;
  var.pad.fill(std::byte{0xEE});
  var.dptr = kBig;
  var.fptr = kBig + 1;
  var.chunksize = kBig + 2;
  var.containersize = kBig + 3;
  var.hash = counted(0x30);
  return var;
}

fti::v16::FileMeta file_meta() {
  fti::v16::FileMeta meta;
  meta.checksum = fti::to_text(counted(1));
  meta.my_hash = counted(0x20);
  meta.ckpt_id = -9;
  meta.ckpt_size = kBig;
  meta.meta_size = UINT64_MAX - 5;  // noise, as in an RSed file
  meta.data_size = kBig + 2;
  meta.fs = kBig + 3;
  meta.max_fs = static_cast<std::int64_t>(kBig + 4);
  meta.pt_fs = -1;
  meta.timestamp = 0xFEDCBA98u;
  meta.pad = std::byte{0x2C};
  return meta;
}

fti::v16::DbVar dbvar_v16() {
  fti::v16::DbVar var;
  var.id = -5;
  var.containerid = 7;
  var.has_ckpt = true;
  var.dptr = kBig;
  var.fptr = kBig + 1;
  var.chunksize = kBig + 2;
  var.containersize = kBig + 3;
  var.hash = counted(0x30);
  return var;
}

template <class Decode>
void every_truncation_fails(const Bytes& bytes, Decode decode) {
  CHECK(decode(std::span<const std::byte>(bytes)).has_value());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    const auto result = decode(std::span<const std::byte>(cut));
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code == Code::kCorrupt);
  }
}

template <class Decode>
void rejected(Bytes bytes, std::size_t at, std::byte value, std::string_view field, Decode decode) {
  bytes.at(at) = value;
  const auto result = decode(std::span<const std::byte>(bytes));
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == Code::kCorrupt);
  CHECK(result.error().text.find(field) != std::string::npos);
}

std::uint64_t u64_at(const Bytes& bytes, std::size_t at) {
  return ByteReader(std::span(bytes).subspan(at)).u64().value();
}

}  // namespace

TEST_CASE("fti md5: known digests, however the data is cut", "[core][fti]") {
  CHECK(hex(fti::md5({})) == "d41d8cd98f00b204e9800998ecf8427e");
  CHECK(hex(fti::md5(to_bytes("abc"))) == "900150983cd24fb0d6963f7d28e17f72");
  const Bytes data(100'000, std::byte{0});
  fti::Md5 hash;
  hash.update_zeros(99'999);
  const fti::Md5 copy = hash;
  CHECK(hash.digest() == fti::md5(std::span(data).first(99'999)));
  hash.update(std::span(data).first(1));
  CHECK(hash.digest() == fti::md5(data));
  CHECK(copy.digest() == fti::md5(std::span(data).first(99'999)));
}

TEST_CASE("fti checksum text: 32 lower-case digits and a NUL, nothing else", "[core][fti]") {
  const fti::Digest digest = counted(0xF8);
  fti::ChecksumText text = fti::to_text(digest);
  CHECK(hex(std::span(text).first(2)) == "6638");  // "f8"
  CHECK(text.back() == std::byte{0});
  CHECK(fti::from_text(text) == digest);
  const auto with = [&](std::size_t at, char c) {
    fti::ChecksumText changed = text;
    changed[at] = static_cast<std::byte>(c);
    return fti::from_text(changed);
  };
  CHECK_FALSE(with(0, 'F'));
  CHECK_FALSE(with(31, 'g'));
  CHECK_FALSE(with(5, '\0'));
  CHECK_FALSE(with(32, '0'));
}

TEST_CASE("fti chunk hashes: one per kind, and that of nothing", "[core][fti]") {
  const Bytes data = to_bytes("h5bento");
  for (const auto kind : {fti::HashKind::kNone, fti::HashKind::kMd5, fti::HashKind::kXxh3}) {
    fti::ChunkHasher hasher(kind);
    CHECK(hasher.digest() == fti::empty_chunk_hash(kind));
    hasher.update(std::span(data).first(3));
    hasher.update(std::span(data).subspan(3));
    CHECK(hasher.digest() == fti::chunk_hash(kind, data));
  }
  CHECK(fti::chunk_hash(fti::HashKind::kNone, data) == fti::Digest{});
  CHECK(fti::chunk_hash(fti::HashKind::kMd5, data) == fti::md5(data));
  // xxhsum -H2 of no bytes
  CHECK(hex(fti::empty_chunk_hash(fti::HashKind::kXxh3)) == "99aa06d3014798d86001c324468d497f");
}

TEST_CASE("fti 1.1 structures: fields lie where the format says", "[core][fti]") {
  const Bytes block = encoded(file_block());
  REQUIRE(block.size() == fti::v11::kFileBlockBytes);
  CHECK(hex(std::span(block).subspan(33, 2)) == "2021");
  CHECK(hex(std::span(block).subspan(48, 2)) == "2f70");
  CHECK(u64_at(block, 56) == kBig);
  CHECK(u64_at(block, 64) == kBig + 1);
  CHECK(u64_at(block, 72) == UINT64_MAX);
  CHECK(u64_at(block, 80) == kBig + 3);
  CHECK(u64_at(block, 88) == kBig + 4);

  const Bytes head = encoded(fti::v11::DataBlock{0x01020304, kBig});
  CHECK(hex(head) == "040302010807060504030201");

  const Bytes var = encoded(dbvar_v11());
  REQUIRE(var.size() == fti::v11::kDbVarBytes);
  CHECK(hex(std::span(var).first(16)) == "fbffffff443322110700000001eeeeee");
  CHECK(u64_at(var, 16) == kBig);
  CHECK(u64_at(var, 24) == kBig + 1);
  CHECK(u64_at(var, 32) == kBig + 2);
  CHECK(u64_at(var, 40) == kBig + 3);
  CHECK(hex(std::span(var).subspan(48, 2)) == "3031");
}

TEST_CASE("fti 1.6 structures: fields lie where the format says", "[core][fti]") {
  const Bytes meta = encoded(file_meta());
  REQUIRE(meta.size() == fti::v16::kFileMetaBytes);
  CHECK(hex(std::span(meta).subspan(48, 5)) == "2ff7ffffff");
  CHECK(u64_at(meta, 53) == kBig);
  CHECK(u64_at(meta, 61) == UINT64_MAX - 5);
  CHECK(u64_at(meta, 69) == kBig + 2);
  CHECK(u64_at(meta, 77) == kBig + 3);
  CHECK(u64_at(meta, 85) == kBig + 4);
  CHECK(u64_at(meta, 93) == UINT64_MAX);
  CHECK(hex(std::span(meta).subspan(101, 5)) == "98badcfe2c");

  const Bytes var = encoded(dbvar_v16());
  REQUIRE(var.size() == fti::v16::kDbVarBytes);
  CHECK(hex(std::span(var).first(10)) == "fbffffff070000000001");
  CHECK(u64_at(var, 10) == kBig);
  CHECK(u64_at(var, 18) == kBig + 1);
  CHECK(u64_at(var, 26) == kBig + 2);
  CHECK(u64_at(var, 34) == kBig + 3);
  CHECK(hex(std::span(var).subspan(42, 2)) == "3031");
}

TEST_CASE("fti structures: decode returns what was encoded, and fails on every shorter length",
          "[core][fti]") {
  CHECK(value_of(fti::v11::decode_file_block(encoded(file_block()))) == file_block());
  CHECK(value_of(fti::v11::decode_dbvar(encoded(dbvar_v11()))) == dbvar_v11());
  CHECK(value_of(fti::v16::decode_file_meta(encoded(file_meta()))) == file_meta());
  CHECK(value_of(fti::v16::decode_dbvar(encoded(dbvar_v16()))) == dbvar_v16());
  CHECK(value_of(fti::v11::decode_data_block(encoded(fti::v11::DataBlock{9, kBig}))) ==
        fti::v11::DataBlock{9, kBig});
  CHECK(value_of(fti::v16::decode_data_block(encoded(fti::v16::DataBlock{9, kBig}))) ==
        fti::v16::DataBlock{9, kBig});

  every_truncation_fails(encoded(file_block()), fti::v11::decode_file_block);
  every_truncation_fails(encoded(dbvar_v11()), fti::v11::decode_dbvar);
  every_truncation_fails(encoded(fti::v11::DataBlock{9, kBig}), fti::v11::decode_data_block);
  every_truncation_fails(encoded(file_meta()), fti::v16::decode_file_meta);
  every_truncation_fails(encoded(dbvar_v16()), fti::v16::decode_dbvar);
  every_truncation_fails(encoded(fti::v16::DataBlock{9, kBig}), fti::v16::decode_data_block);
}

TEST_CASE("fti structures: negative sizes and counts and odd flags are named", "[core][fti]") {
  constexpr std::byte kMinus{0x80};
  const Bytes block = encoded(file_block());
  rejected(block, 63, kMinus, "ckptSize", fti::v11::decode_file_block);
  rejected(block, 71, kMinus, "fs", fti::v11::decode_file_block);
  const Bytes head = encoded(fti::v11::DataBlock{9, kBig});
  rejected(head, 3, kMinus, "numvars", fti::v11::decode_data_block);
  rejected(head, 11, kMinus, "dbsize", fti::v11::decode_data_block);
  rejected(head, 3, kMinus, "numvars", fti::v16::decode_data_block);
  rejected(head, 11, kMinus, "dbsize", fti::v16::decode_data_block);
  const Bytes var = encoded(dbvar_v11());
  rejected(var, 12, std::byte{2}, "hascontent", fti::v11::decode_dbvar);
  rejected(var, 23, kMinus, "dptr", fti::v11::decode_dbvar);
  rejected(var, 31, kMinus, "fptr", fti::v11::decode_dbvar);
  rejected(var, 39, kMinus, "chunksize", fti::v11::decode_dbvar);
  rejected(var, 47, kMinus, "containersize", fti::v11::decode_dbvar);
  const Bytes meta = encoded(file_meta());
  rejected(meta, 60, kMinus, "ckptSize", fti::v16::decode_file_meta);
  rejected(meta, 84, kMinus, "fs", fti::v16::decode_file_meta);
  const Bytes var16 = encoded(dbvar_v16());
  rejected(var16, 8, std::byte{2}, "hascontent", fti::v16::decode_dbvar);
  rejected(var16, 9, std::byte{0xFF}, "hasCkpt", fti::v16::decode_dbvar);
  rejected(var16, 17, kMinus, "dptr", fti::v16::decode_dbvar);
  rejected(var16, 25, kMinus, "fptr", fti::v16::decode_dbvar);
  rejected(var16, 33, kMinus, "chunksize", fti::v16::decode_dbvar);
  rejected(var16, 41, kMinus, "containersize", fti::v16::decode_dbvar);
}

TEST_CASE("fti 1.1 file block: says which hash it uses", "[core][fti]") {
  fti::v11::FileBlock block;
  CHECK(fti::v11::hash_kind(block) == fti::HashKind::kNone);  // a checksum of zeros
  fti::v11::set_hash_kind(block, fti::HashKind::kXxh3);
  block.checksum = fti::v11::HashOfHashes().text();
  CHECK(hex(block.pad) == "58584833313238");  // "XXH3128"
  CHECK(fti::v11::hash_kind(block) == fti::HashKind::kXxh3);
  fti::v11::set_hash_kind(block, fti::HashKind::kMd5);
  CHECK(hex(block.pad) == "00000000000000");
  CHECK(fti::v11::hash_kind(block) == fti::HashKind::kMd5);
  block.pad.fill(std::byte{0x7f});  // FTI's heap
  CHECK(fti::v11::hash_kind(block) == fti::HashKind::kMd5);
  fti::v11::set_hash_kind(block, fti::HashKind::kNone);
  CHECK(fti::v11::hash_kind(block) == fti::HashKind::kNone);
}

TEST_CASE("fti 1.1 file block: the sealed hash covers all fields but itself and the pads",
          "[core][fti]") {
  fti::v11::FileBlock block = file_block();
  fti::v11::seal(block);
  CHECK(block.my_hash == fti::v11::my_hash(block));
  const Bytes bytes = encoded(block);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    Bytes changed = bytes;
    changed[at] ^= std::byte{1};
    const auto other = value_of(fti::v11::decode_file_block(changed));
    const bool covered = at < 33 || at >= 56;
    CHECK((fti::v11::my_hash(other) != block.my_hash) == covered);
  }
}

TEST_CASE("fti 1.1 header: sizes add up and a filler holds nothing", "[core][fti]") {
  const auto filler = fti::v11::make_filler(236, 3860, fti::HashKind::kMd5);
  CHECK(filler.id == fti::kFillerId);
  CHECK_FALSE(filler.hascontent);
  CHECK(filler.chunksize == 0);
  CHECK(filler.idx >= 0);
  CHECK(filler.hash == fti::md5({}));
  fti::v11::DbVar var = dbvar_v11();
  var.containersize = 5'000'000'000;
  const std::array<fti::v11::DbVar, 2> vars = {filler, var};
  const auto header = fti::v11::encode_header(vars);
  REQUIRE(header.size() == fti::v11::header_bytes(2));
  const auto head = value_of(fti::v11::decode_data_block(header));
  CHECK(head.numvars == 2);
  CHECK(head.dbsize == header.size() + 3860 + 5'000'000'000);
  CHECK(value_of(fti::v11::decode_dbvar(std::span(header).subspan(12 + 64))) == var);
}
