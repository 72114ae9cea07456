// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/fti/v16.hpp"

#include "core/bytes/byte_reader.hpp"
#include "core/fti/fields.hpp"

namespace bento::fti::v16 {

Digest my_hash(const FileMeta& meta) {
  ByteWriter covered;
  covered.bytes(meta.checksum);
  covered.u32(meta.timestamp);
  covered.u64(meta.ckpt_size);
  covered.u64(meta.meta_size);
  covered.u64(meta.data_size);
  covered.u64(meta.fs);
  covered.i64(meta.pt_fs);
  covered.i64(meta.max_fs);
  return md5(covered.view());
}

void seal(FileMeta& meta) {
  meta.my_hash = my_hash(meta);
}

void encode(ByteWriter& out, const FileMeta& meta) {
  out.bytes(meta.checksum);
  out.bytes(meta.my_hash);
  out.i32(meta.ckpt_id);
  out.u64(meta.ckpt_size);
  out.u64(meta.meta_size);
  out.u64(meta.data_size);
  out.u64(meta.fs);
  out.i64(meta.max_fs);
  out.i64(meta.pt_fs);
  out.u32(meta.timestamp);
  out.u8(std::to_integer<std::uint8_t>(meta.pad));
}

void encode(ByteWriter& out, const DataBlock& block) {
  out.u32(block.numvars);
  out.u64(block.dbsize);
}

void encode(ByteWriter& out, const DbVar& var) {
  out.i32(var.id);
  out.i32(var.containerid);
  out.u8(var.hascontent ? 1 : 0);
  out.u8(var.has_ckpt ? 1 : 0);
  out.u64(var.dptr);
  out.u64(var.fptr);
  out.u64(var.chunksize);
  out.u64(var.containersize);
  out.bytes(var.hash);
}

Result<FileMeta> decode_file_meta(std::span<const std::byte> bytes) {
  ByteReader in(bytes, std::endian::little, "FTI-FF 1.6 file meta record");
  FileMeta meta;
  BENTO_TRY(fields::copy_bytes(in, meta.checksum));
  BENTO_TRY(fields::copy_bytes(in, meta.my_hash));
  BENTO_ASSIGN(meta.ckpt_id, in.i32());
  BENTO_ASSIGN(meta.ckpt_size, fields::size(in, "ckptSize"));
  BENTO_ASSIGN(meta.meta_size, in.u64());
  BENTO_ASSIGN(meta.data_size, in.u64());
  BENTO_ASSIGN(meta.fs, fields::size(in, "fs"));
  BENTO_ASSIGN(meta.max_fs, in.i64());
  BENTO_ASSIGN(meta.pt_fs, in.i64());
  BENTO_ASSIGN(meta.timestamp, in.u32());
  BENTO_ASSIGN(const std::uint8_t pad, in.u8());
  meta.pad = std::byte{pad};
  return meta;
}

Result<DataBlock> decode_data_block(std::span<const std::byte> bytes) {
  ByteReader in(bytes, std::endian::little, "FTI-FF 1.6 block head");
  DataBlock block;
  BENTO_ASSIGN(block.numvars, fields::count(in, "numvars"));
  BENTO_ASSIGN(block.dbsize, fields::size(in, "dbsize"));
  return block;
}

Result<DbVar> decode_dbvar(std::span<const std::byte> bytes) {
  ByteReader in(bytes, std::endian::little, "FTI-FF 1.6 container record");
  DbVar var;
  BENTO_ASSIGN(var.id, in.i32());
  BENTO_ASSIGN(var.containerid, in.i32());
  BENTO_ASSIGN(var.hascontent, fields::flag(in, "hascontent"));
  BENTO_ASSIGN(var.has_ckpt, fields::flag(in, "hasCkpt"));
  BENTO_ASSIGN(var.dptr, fields::size(in, "dptr"));
  BENTO_ASSIGN(var.fptr, fields::size(in, "fptr"));
  BENTO_ASSIGN(var.chunksize, fields::size(in, "chunksize"));
  BENTO_ASSIGN(var.containersize, fields::size(in, "containersize"));
  BENTO_TRY(fields::copy_bytes(in, var.hash));
  return var;
}

}  // namespace bento::fti::v16
