// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// An FTI-FF checkpoint file as it is meant, whatever its layout: file meta, blocks, containers.
/// The reader fills it, evolve makes the next one from it, the writer puts it down.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/fti/checksum.hpp"
#include "core/fti/v11.hpp"
#include "core/fti/v16.hpp"

namespace bento::fti {

enum class Layout : std::uint8_t {
  kV11,  ///< the published one; also that of our streams
  kV16,  ///< the one that FTI 1.6 writes
};

/// "FTI-FF 1.1" or "FTI-FF 1.6".
std::string_view to_string(Layout layout);

/// One container and what is in it. Fields that a layout does not store keep their defaults.
struct Container {
  std::int32_t id = 0;
  std::int32_t idx = 0;  ///< 1.1 only
  std::int32_t containerid = 0;
  bool hascontent = false;
  bool has_ckpt = false;           ///< 1.6 only
  std::array<std::byte, 3> pad{};  ///< 1.1 only; covered by the file checksum
  std::uint64_t dptr = 0;
  std::uint64_t fptr = 0;
  std::uint64_t chunksize = 0;
  std::uint64_t containersize = 0;
  Digest hash{};
  std::uint64_t record_offset = 0;  ///< where its record lies in the file

  bool operator==(const Container&) const = default;
};

/// A filler of ours: it only moves the container behind it. Never FTI's, which knows no such thing.
inline bool is_filler(const Container& container) {
  return container.id == kFillerId && !container.hascontent;
}

struct Block {
  std::uint64_t head_offset = 0;  ///< where its head lies in the file
  std::uint64_t dbsize = 0;       ///< see DataBlock of the layout
  std::vector<Container> containers;

  bool operator==(const Block&) const = default;
};

/// File meta of either layout. Sizes in bytes; fields that a layout does not store keep defaults.
struct FileMeta {
  ChecksumText checksum{};
  Digest my_hash{};
  std::array<std::byte, 7> pad{};  ///< 1.1: all seven, see v11::hash_kind(); 1.6: the first
  std::uint64_t ckpt_size = 0;
  std::uint64_t fs = 0;
  std::int64_t max_fs = -1;
  std::int64_t pt_fs = -1;
  std::uint64_t timestamp = 0;  ///< ns; 1.6 stores the low 32 bits
  std::int32_t ckpt_id = 0;     ///< 1.6 only
  std::uint64_t meta_size = 0;  ///< 1.6 only
  std::uint64_t data_size = 0;  ///< 1.6 only

  bool operator==(const FileMeta&) const = default;
};

struct Checkpoint {
  Layout layout = Layout::kV11;
  FileMeta meta;
  std::vector<Block> blocks;

  bool operator==(const Checkpoint&) const = default;
};

/// The gate of one of our streams for FTI (docs/format.md, "Streams for FTI"): a first block of one
/// container without room. Null if there is none.
const Container* find_gate(const Checkpoint& checkpoint);

/// Which hash the hash fields hold: what the 1.1 file block says, MD5 in the 1.6 layout.
HashKind hash_kind(const Checkpoint& checkpoint);

/// @name Sizes of a layout's structures in bytes
/// @{
constexpr std::size_t file_meta_bytes(Layout layout) {
  return layout == Layout::kV11 ? v11::kFileBlockBytes : v16::kFileMetaBytes;
}
constexpr std::size_t head_bytes(Layout layout) {
  return layout == Layout::kV11 ? v11::kDataBlockHeadBytes : v16::kDataBlockBytes;
}
constexpr std::size_t record_bytes(Layout layout) {
  return layout == Layout::kV11 ? v11::kDbVarBytes : v16::kDbVarBytes;
}
/// Head and `containers` records of one block.
constexpr std::uint64_t header_bytes(Layout layout, std::uint64_t containers) {
  return head_bytes(layout) + containers * record_bytes(layout);
}
/// @}

/// Computes what follows from the containersizes: dbsizes, offsets of heads and records, fptrs, and
/// the sizes in the meta. Errors: kInvalidArgument (the file would not fit 63 bits).
Status place(Checkpoint& checkpoint);

/// The structures of one layout, without regard to where they lie. Errors of the decoders as in
/// v11.hpp and v16.hpp.
Result<FileMeta> decode_file_meta(Layout layout, std::span<const std::byte> bytes);
Result<Container> decode_container(Layout layout, std::span<const std::byte> bytes);
void encode(ByteWriter& out, Layout layout, const FileMeta& meta);
void encode(ByteWriter& out, Layout layout, const Container& container);
/// Head and records of a block.
void encode(ByteWriter& out, Layout layout, const Block& block);
/// MD5 of the meta by the layout's rule.
Digest my_hash(Layout layout, const FileMeta& meta);

}  // namespace bento::fti
