// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The structures of the FTI-FF layout that FTI 1.6 writes: all containers, then all block heads
/// and container records, then the file meta record. Packed, so nothing is aligned. Only bytes
/// here, as in v11.hpp. Source: docs/formats/fti-ff.md, section 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/error.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/fti/checksum.hpp"

namespace bento::fti::v16 {

inline constexpr std::size_t kFileMetaBytes = 106;
inline constexpr std::size_t kDataBlockBytes = 12;
inline constexpr std::size_t kDbVarBytes = 58;

/// File meta record. All sizes in bytes.
struct FileMeta {
  /// Over chunk hashes (docs/formats/fti-ff.md, section 1); RSed files: over the parity.
  ChecksumText checksum{};
  Digest my_hash{};             ///< MD5 of this record by my_hash(); set by seal()
  std::int32_t ckpt_id = 0;     ///< not covered by my_hash
  std::uint64_t ckpt_size = 0;  ///< size of the whole file
  std::uint64_t meta_size = 0;  ///< this record and all block heads and container records
  std::uint64_t data_size = 0;  ///< all containers, hence the offset of the first block head
  std::uint64_t fs = 0;         ///< ckpt_size again; in an RSed file the bytes of parity
  std::int64_t max_fs = -1;     ///< level 3: largest file of the group + 8, else -1
  std::int64_t pt_fs = -1;      ///< level 2: size of the left neighbour's file, else -1
  std::uint32_t timestamp = 0;  ///< CLOCK_REALTIME in ns, its low 32 bits
  std::byte pad{};              ///< whatever FTI's heap held; we write 0

  bool operator==(const FileMeta&) const = default;
};

/// Head of a block; `numvars` DbVars follow it.
struct DataBlock {
  std::uint32_t numvars = 0;
  std::uint64_t dbsize = 0;  ///< sum of the containersizes of this block

  bool operator==(const DataBlock&) const = default;
};

/// Record of one container; the fields that v11::DbVar has too mean the same.
struct DbVar {
  std::int32_t id = 0;
  std::int32_t containerid = 0;
  bool hascontent = false;
  bool has_ckpt = false;  ///< differential checkpoints only: the container was in the file before
  std::uint64_t dptr = 0;
  std::uint64_t fptr = 0;
  std::uint64_t chunksize = 0;
  std::uint64_t containersize = 0;
  Digest hash{};

  bool operator==(const DbVar&) const = default;
};

/// MD5 over the fields of a file meta record in FTI's order, which is not that of the file;
/// independent of `my_hash`, `ckpt_id` and the pad byte.
Digest my_hash(const FileMeta& meta);
/// Stores my_hash(meta) in the record; the last thing before encode().
void seal(FileMeta& meta);

void encode(ByteWriter& out, const FileMeta& meta);
void encode(ByteWriter& out, const DataBlock& block);
void encode(ByteWriter& out, const DbVar& var);

/// Decode the first bytes of `bytes`. Errors: kCorrupt (too short; a flag that is not 0 or 1; a
/// negative count or size). The text names the offset within `bytes`. meta_size and data_size are
/// taken as they are, since RSed files hold noise there. Hashes are not compared here.
Result<FileMeta> decode_file_meta(std::span<const std::byte> bytes);
Result<DataBlock> decode_data_block(std::span<const std::byte> bytes);
Result<DbVar> decode_dbvar(std::span<const std::byte> bytes);

}  // namespace bento::fti::v16
