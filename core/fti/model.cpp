// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/fti/model.hpp"

#include <limits>

#include <fmt/format.h>

namespace bento::fti {

namespace {

v11::FileBlock to_v11(const FileMeta& meta) {
  return {meta.checksum, meta.my_hash, meta.pad,   meta.ckpt_size,
          meta.fs,       meta.max_fs,  meta.pt_fs, meta.timestamp};
}

v16::FileMeta to_v16(const FileMeta& meta) {
  v16::FileMeta out;
  out.checksum = meta.checksum;
  out.my_hash = meta.my_hash;
  out.ckpt_id = meta.ckpt_id;
  out.ckpt_size = meta.ckpt_size;
  out.meta_size = meta.meta_size;
  out.data_size = meta.data_size;
  out.fs = meta.fs;
  out.max_fs = meta.max_fs;
  out.pt_fs = meta.pt_fs;
  out.timestamp = static_cast<std::uint32_t>(meta.timestamp & 0xFFFFFFFFu);
  out.pad = meta.pad[0];
  return out;
}

FileMeta from(const v11::FileBlock& block) {
  FileMeta meta;
  meta.checksum = block.checksum;
  meta.my_hash = block.my_hash;
  meta.pad = block.pad;
  meta.ckpt_size = block.ckpt_size;
  meta.fs = block.fs;
  meta.max_fs = block.max_fs;
  meta.pt_fs = block.pt_fs;
  meta.timestamp = block.timestamp;
  return meta;
}

FileMeta from(const v16::FileMeta& record) {
  FileMeta meta;
  meta.checksum = record.checksum;
  meta.my_hash = record.my_hash;
  meta.pad[0] = record.pad;
  meta.ckpt_size = record.ckpt_size;
  meta.fs = record.fs;
  meta.max_fs = record.max_fs;
  meta.pt_fs = record.pt_fs;
  meta.timestamp = record.timestamp;
  meta.ckpt_id = record.ckpt_id;
  meta.meta_size = record.meta_size;
  meta.data_size = record.data_size;
  return meta;
}

template <class DbVar>
Container common(const DbVar& var) {
  Container out;
  out.id = var.id;
  out.containerid = var.containerid;
  out.hascontent = var.hascontent;
  out.dptr = var.dptr;
  out.fptr = var.fptr;
  out.chunksize = var.chunksize;
  out.containersize = var.containersize;
  out.hash = var.hash;
  return out;
}

// Offsets of blocks whose containersizes are known. The sums cannot wrap: place() has added the
// sizes up before.
void set_offsets_v11(Checkpoint& checkpoint) {
  std::uint64_t at = v11::kFileBlockBytes;
  for (Block& block : checkpoint.blocks) {
    block.head_offset = at;
    std::uint64_t record_at = at + v11::kDataBlockHeadBytes;
    std::uint64_t data_at = at + header_bytes(Layout::kV11, block.containers.size());
    for (Container& container : block.containers) {
      container.record_offset = record_at;
      container.fptr = data_at;
      record_at += v11::kDbVarBytes;
      data_at += container.containersize;
    }
    block.dbsize = data_at - at;
    at = data_at;
  }
  checkpoint.meta.ckpt_size = at;
}

void set_offsets_v16(Checkpoint& checkpoint) {
  std::uint64_t data_at = 0;
  for (Block& block : checkpoint.blocks) {
    block.dbsize = 0;
    for (Container& container : block.containers) {
      container.fptr = data_at;
      data_at += container.containersize;
      block.dbsize += container.containersize;
    }
  }
  std::uint64_t at = data_at;
  for (Block& block : checkpoint.blocks) {
    block.head_offset = at;
    at += v16::kDataBlockBytes;
    for (Container& container : block.containers) {
      container.record_offset = at;
      at += v16::kDbVarBytes;
    }
  }
  checkpoint.meta.data_size = data_at;
  checkpoint.meta.meta_size = at - data_at + v16::kFileMetaBytes;
  checkpoint.meta.ckpt_size = at + v16::kFileMetaBytes;
}

}  // namespace

std::string_view to_string(Layout layout) {
  return layout == Layout::kV11 ? "FTI-FF 1.1" : "FTI-FF 1.6";
}

const Container* find_gate(const Checkpoint& checkpoint) {
  if (checkpoint.layout != Layout::kV11 || checkpoint.blocks.empty()) return nullptr;
  const auto& first = checkpoint.blocks.front().containers;
  return first.size() == 1 && first.front().containersize == 0 ? &first.front() : nullptr;
}

HashKind hash_kind(const Checkpoint& checkpoint) {
  return checkpoint.layout == Layout::kV11 ? v11::hash_kind(to_v11(checkpoint.meta))
                                           : HashKind::kMd5;
}

Status place(Checkpoint& checkpoint) {
  const Layout layout = checkpoint.layout;
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t total = file_meta_bytes(layout);
  const auto add = [&](std::uint64_t bytes) {
    const bool fits = bytes <= kLargest - total;
    if (fits) total += bytes;
    return fits;
  };
  bool fits = true;
  for (const Block& block : checkpoint.blocks) {
    fits = fits && add(header_bytes(layout, block.containers.size()));
    for (const Container& container : block.containers) fits = fits && add(container.containersize);
  }
  if (!fits)
    return fail(Code::kInvalidArgument,
                fmt::format("{}: a file of more than {} bytes does not fit its fields",
                            to_string(layout), kLargest));
  if (layout == Layout::kV11)
    set_offsets_v11(checkpoint);
  else
    set_offsets_v16(checkpoint);
  checkpoint.meta.fs = checkpoint.meta.ckpt_size;
  return {};
}

Result<FileMeta> decode_file_meta(Layout layout, std::span<const std::byte> bytes) {
  const auto convert = [](const auto& record) { return from(record); };
  if (layout == Layout::kV11) return v11::decode_file_block(bytes).map(convert);
  return v16::decode_file_meta(bytes).map(convert);
}

Result<Container> decode_container(Layout layout, std::span<const std::byte> bytes) {
  if (layout == Layout::kV11)
    return v11::decode_dbvar(bytes).map([](const v11::DbVar& var) {
      Container out = common(var);
      out.idx = var.idx;
      out.pad = var.pad;
      return out;
    });
  return v16::decode_dbvar(bytes).map([](const v16::DbVar& var) {
    Container out = common(var);
    out.has_ckpt = var.has_ckpt;
    return out;
  });
}

void encode(ByteWriter& out, Layout layout, const FileMeta& meta) {
  if (layout == Layout::kV11)
    v11::encode(out, to_v11(meta));
  else
    v16::encode(out, to_v16(meta));
}

void encode(ByteWriter& out, Layout layout, const Container& c) {
  if (layout == Layout::kV11)
    v11::encode(out, v11::DbVar{c.id, c.idx, c.containerid, c.hascontent, c.pad, c.dptr, c.fptr,
                                c.chunksize, c.containersize, c.hash});
  else
    v16::encode(out, v16::DbVar{c.id, c.containerid, c.hascontent, c.has_ckpt, c.dptr, c.fptr,
                                c.chunksize, c.containersize, c.hash});
}

void encode(ByteWriter& out, Layout layout, const Block& block) {
  const auto numvars = static_cast<std::uint32_t>(block.containers.size());
  if (layout == Layout::kV11)
    v11::encode(out, v11::DataBlock{numvars, block.dbsize});
  else
    v16::encode(out, v16::DataBlock{numvars, block.dbsize});
  for (const Container& container : block.containers) encode(out, layout, container);
}

Digest my_hash(Layout layout, const FileMeta& meta) {
  return layout == Layout::kV11 ? v11::my_hash(to_v11(meta)) : v16::my_hash(to_v16(meta));
}

}  // namespace bento::fti
