// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/fti/v11.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "core/bytes/byte_reader.hpp"
#include "core/fti/fields.hpp"

namespace bento::fti::v11 {

namespace {

constexpr std::string_view kXxh3Mark = "XXH3128";

template <std::size_t N>
std::array<std::byte, N> exactly(const ByteWriter& out) {
  std::array<std::byte, N> bytes;
  std::copy_n(out.view().begin(), N, bytes.begin());
  return bytes;
}

}  // namespace

Digest my_hash(const FileBlock& block) {
  ByteWriter covered;
  covered.bytes(block.checksum);
  covered.u64(block.timestamp);
  covered.u64(block.ckpt_size);
  covered.u64(block.fs);
  covered.i64(block.pt_fs);
  covered.i64(block.max_fs);
  return md5(covered.view());
}

void seal(FileBlock& block) {
  block.my_hash = my_hash(block);
}

void set_hash_kind(FileBlock& block, HashKind kind) {
  block.pad.fill(std::byte{0});
  if (kind == HashKind::kNone) block.checksum.fill(std::byte{0});
  if (kind == HashKind::kXxh3)
    std::transform(kXxh3Mark.begin(), kXxh3Mark.end(), block.pad.begin(),
                   [](char c) { return static_cast<std::byte>(c); });
}

HashKind hash_kind(const FileBlock& block) {
  const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
  if (std::all_of(block.checksum.begin(), block.checksum.end(), is_zero)) return HashKind::kNone;
  const bool marked =
      std::equal(kXxh3Mark.begin(), kXxh3Mark.end(), block.pad.begin(), block.pad.end(),
                 [](char c, std::byte b) { return static_cast<std::byte>(c) == b; });
  return marked ? HashKind::kXxh3 : HashKind::kMd5;
}

DbVar make_filler(std::uint64_t fptr, std::uint64_t containersize, HashKind kind) {
  DbVar filler;
  filler.id = kFillerId;
  filler.fptr = fptr;
  filler.containersize = containersize;
  filler.hash = empty_chunk_hash(kind);
  return filler;
}

void encode(ByteWriter& out, const FileBlock& block) {
  out.bytes(block.checksum);
  out.bytes(block.my_hash);
  out.bytes(block.pad);
  out.u64(block.ckpt_size);
  out.u64(block.fs);
  out.i64(block.max_fs);
  out.i64(block.pt_fs);
  out.u64(block.timestamp);
}

void encode(ByteWriter& out, const DataBlock& block) {
  out.u32(block.numvars);
  out.u64(block.dbsize);
}

// There is one for each small record, so it goes out as a whole.
void encode(ByteWriter& out, const DbVar& var) {
  std::array<std::byte, kDbVarBytes> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::size_t at = 0;
  const auto number = [&](auto value) {
    for (std::size_t i = 0; i < sizeof value; ++i)
      bytes[at++] = static_cast<std::byte>(value >> (8 * i));
  };
  const auto view = [&](std::span<const std::byte> part) {
    std::ranges::copy(part, bytes.begin() + static_cast<std::ptrdiff_t>(at));
    at += part.size();
  };
  number(static_cast<std::uint32_t>(var.id));
  number(static_cast<std::uint32_t>(var.idx));
  number(static_cast<std::uint32_t>(var.containerid));
  bytes[at++] = static_cast<std::byte>(var.hascontent ? 1 : 0);
  view(var.pad);
  for (const std::uint64_t value : {var.dptr, var.fptr, var.chunksize, var.containersize})
    number(value);
  view(var.hash);
  static_assert(3 * sizeof(std::uint32_t) + 1 + sizeof var.pad + 4 * sizeof(std::uint64_t) +
                    sizeof var.hash ==
                kDbVarBytes);
  out.bytes(bytes);
}

std::array<std::byte, kFileBlockBytes> encode(const FileBlock& block) {
  ByteWriter out;
  encode(out, block);
  return exactly<kFileBlockBytes>(out);
}

std::array<std::byte, kDataBlockHeadBytes> encode(const DataBlock& block) {
  ByteWriter out;
  encode(out, block);
  return exactly<kDataBlockHeadBytes>(out);
}

std::array<std::byte, kDbVarBytes> encode(const DbVar& var) {
  ByteWriter out;
  encode(out, var);
  return exactly<kDbVarBytes>(out);
}

std::vector<std::byte> encode_header(std::span<const DbVar> vars) {
  const auto numvars = static_cast<std::uint32_t>(vars.size());
  DataBlock head{numvars, header_bytes(numvars)};
  for (const DbVar& var : vars) head.dbsize += var.containersize;
  ByteWriter out;
  out.reserve(kDataBlockHeadBytes + vars.size() * kDbVarBytes);
  encode(out, head);
  for (const DbVar& var : vars) encode(out, var);
  return std::move(out).take();
}

Result<FileBlock> decode_file_block(std::span<const std::byte> bytes) {
  ByteReader in(bytes, std::endian::little, "FTI-FF 1.1 file block");
  FileBlock block;
  BENTO_TRY(fields::copy_bytes(in, block.checksum));
  BENTO_TRY(fields::copy_bytes(in, block.my_hash));
  BENTO_TRY(fields::copy_bytes(in, block.pad));
  BENTO_ASSIGN(block.ckpt_size, fields::size(in, "ckptSize"));
  BENTO_ASSIGN(block.fs, fields::size(in, "fs"));
  BENTO_ASSIGN(block.max_fs, in.i64());
  BENTO_ASSIGN(block.pt_fs, in.i64());
  BENTO_ASSIGN(block.timestamp, in.u64());
  return block;
}

Result<DataBlock> decode_data_block(std::span<const std::byte> bytes) {
  ByteReader in(bytes, std::endian::little, "FTI-FF 1.1 block head");
  DataBlock block;
  BENTO_ASSIGN(block.numvars, fields::count(in, "numvars"));
  BENTO_ASSIGN(block.dbsize, fields::size(in, "dbsize"));
  return block;
}

namespace {

/// A record with nothing wrong in it, as nearly all are. Nothing if it has to be gone through field
/// by field, to say what is.
std::optional<DbVar> sound_dbvar(std::span<const std::byte> bytes) {
  if (std::endian::native != std::endian::little || bytes.size() < kDbVarBytes) return std::nullopt;
  const std::byte* at = bytes.data();
  const auto take = [&at](void* into, std::size_t count) {
    std::memcpy(into, at, count);
    at += count;
  };
  DbVar var;
  std::uint8_t hascontent = 0;
  take(&var.id, sizeof var.id);
  take(&var.idx, sizeof var.idx);
  take(&var.containerid, sizeof var.containerid);
  take(&hascontent, sizeof hascontent);
  take(var.pad.data(), var.pad.size());
  take(&var.dptr, sizeof var.dptr);
  take(&var.fptr, sizeof var.fptr);
  take(&var.chunksize, sizeof var.chunksize);
  take(&var.containersize, sizeof var.containersize);
  take(var.hash.data(), var.hash.size());
  var.hascontent = hascontent == 1;
  const bool negative = (var.dptr | var.fptr | var.chunksize | var.containersize) >> 63 != 0;
  if (hascontent > 1 || negative) return std::nullopt;
  return var;
}

}  // namespace

Result<DbVar> decode_dbvar(std::span<const std::byte> bytes) {
  if (const auto sound = sound_dbvar(bytes)) return *sound;
  ByteReader in(bytes, std::endian::little, "FTI-FF 1.1 container record");
  DbVar var;
  BENTO_ASSIGN(var.id, in.i32());
  BENTO_ASSIGN(var.idx, in.i32());
  BENTO_ASSIGN(var.containerid, in.i32());
  BENTO_ASSIGN(var.hascontent, fields::flag(in, "hascontent"));
  BENTO_TRY(fields::copy_bytes(in, var.pad));
  BENTO_ASSIGN(var.dptr, fields::size(in, "dptr"));
  BENTO_ASSIGN(var.fptr, fields::size(in, "fptr"));
  BENTO_ASSIGN(var.chunksize, fields::size(in, "chunksize"));
  BENTO_ASSIGN(var.containersize, fields::size(in, "containersize"));
  BENTO_TRY(fields::copy_bytes(in, var.hash));
  return var;
}

}  // namespace bento::fti::v11
