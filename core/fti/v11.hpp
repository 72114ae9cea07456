// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The structures of the published FTI-FF layout (FTI 1.1), which is also the layout of our
/// streams: a file block (FB) at offset 0, then blocks, each a head, its container records and the
/// containers themselves. Only bytes here; what the fields must mean together is the business of
/// reader and verify. Source: docs/formats/fti-ff.md, section 2, and
/// for the XXH3 variant docs/format.md, "A rank's stream".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/fti/checksum.hpp"

namespace bento::fti {

/// Id of a filler, a container that only moves the next one to a wanted offset.
inline constexpr std::int32_t kFillerId = -1;

namespace v11 {

inline constexpr std::size_t kFileBlockBytes = 96;
inline constexpr std::size_t kDataBlockHeadBytes = 12;
inline constexpr std::size_t kDbVarBytes = 64;

/// File block. All sizes in bytes.
struct FileBlock {
  ChecksumText checksum{};  ///< over the bytes [96, fs) (MD5), or the hashes with content (XXH3)
  Digest my_hash{};         ///< MD5 of this block by my_hash(); set by seal()
  std::array<std::byte, 7> pad{};  ///< zero, or "XXH3128": see hash_kind()
  std::uint64_t ckpt_size = 0;     ///< size of the whole file or stream, this block included
  std::uint64_t fs = 0;         ///< the same again; in an RSed file the bytes of parity before it
  std::int64_t max_fs = -1;     ///< level 3: largest file of the group, else -1
  std::int64_t pt_fs = -1;      ///< level 2: size of the left neighbour's file, else -1
  std::uint64_t timestamp = 0;  ///< CLOCK_REALTIME in ns

  bool operator==(const FileBlock&) const = default;
};

/// Head of a block; `numvars` DbVars follow it, then their containers.
struct DataBlock {
  std::uint32_t numvars = 0;
  std::uint64_t dbsize = 0;  ///< head, records and containers of this block together

  bool operator==(const DataBlock&) const = default;
};

/// Record of one container.
struct DbVar {
  std::int32_t id = 0;
  std::int32_t idx = 0;          ///< index in FTI's list of variables, which it trusts: never < 0
  std::int32_t containerid = 0;  ///< how many containers of this id lie before this one
  bool hascontent = false;
  /// FTI leaves heap bytes here, and its file checksum covers them; we write 0, or which steps
  /// may need the container (core/stream/container_step).
  std::array<std::byte, 3> pad{};
  std::uint64_t dptr = 0;           ///< offset of the chunk inside the variable
  std::uint64_t fptr = 0;           ///< offset of the container in the file or stream
  std::uint64_t chunksize = 0;      ///< bytes in use, at most containersize
  std::uint64_t containersize = 0;  ///< bytes reserved
  Digest hash{};                    ///< of the bytes [fptr, fptr + chunksize)

  bool operator==(const DbVar&) const = default;
};

/// MD5 over the fields of a file block in FTI's order; independent of `my_hash` and of the pads.
Digest my_hash(const FileBlock& block);
/// Stores my_hash(block) in the block; the last thing before encode().
void seal(FileBlock& block);

/// Announces `kind` in the pad bytes; kNone also zeroes the checksum. Set the checksum after it.
void set_hash_kind(FileBlock& block, HashKind kind);
/// What the block announces. Pads that say nothing we know count as FTI's, which are heap bytes.
HashKind hash_kind(const FileBlock& block);

/// FB.checksum of the XXH3 variant: feed the hash of every container with content, in file order.
class HashOfHashes {
 public:
  void add(const Digest& hash) { hasher_.update(hash); }
  [[nodiscard]] ChecksumText text() const { return to_text(hasher_.digest()); }

 private:
  Hasher hasher_;
};

/// Bytes of head and records of a block: the distance from its start to its first container.
constexpr std::uint64_t header_bytes(std::uint32_t numvars) {
  return kDataBlockHeadBytes + std::uint64_t{numvars} * kDbVarBytes;
}

/// A container that reserves [fptr, fptr + containersize) and holds nothing, so that what follows
/// it in its block starts at a wanted offset. Its hash is empty_chunk_hash(kind).
DbVar make_filler(std::uint64_t fptr, std::uint64_t containersize, HashKind kind);

std::array<std::byte, kFileBlockBytes> encode(const FileBlock& block);
std::array<std::byte, kDataBlockHeadBytes> encode(const DataBlock& block);
std::array<std::byte, kDbVarBytes> encode(const DbVar& var);
void encode(ByteWriter& out, const FileBlock& block);
void encode(ByteWriter& out, const DataBlock& block);
void encode(ByteWriter& out, const DbVar& var);
/// Head and records of one block. `dbsize` is set to the header and the sum of the containersizes.
std::vector<std::byte> encode_header(std::span<const DbVar> vars);

/// Decode the first bytes of `bytes`. Errors: kCorrupt (too short; a flag that is not 0 or 1; a
/// negative count or size). The text names the offset within `bytes`. Hashes are not compared here.
Result<FileBlock> decode_file_block(std::span<const std::byte> bytes);
Result<DataBlock> decode_data_block(std::span<const std::byte> bytes);
Result<DbVar> decode_dbvar(std::span<const std::byte> bytes);

}  // namespace v11
}  // namespace bento::fti
