// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// META1, the head of every physical file of a SION container: who wrote it, how many tasks, how
/// large their chunks are, where META2 is. Knows nothing of other physical files. Source:
/// docs/formats/sion.md, sections 2, 3 and 8; checked against tests/data/sion.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "core/sion/constants.hpp"
#include "core/sion/layout.hpp"

namespace bento {

struct Meta1 {
  std::endian order = std::endian::little;  ///< of all META integers and key-value heads
  std::endian data_order =
      std::endian::little;  ///< what the writer said about its data; nothing depends on it
  std::int32_t library_version = kSionLibraryVersion;
  std::int32_t patch_level = kSionPatchLevel;
  std::uint32_t format_version = kSionFormatVersion;
  std::uint32_t fsblksize = 0;    ///< F, bytes; 1 .. 2^31 - 1
  std::uint32_t files = 1;        ///< physical files of the container
  std::uint32_t file_number = 0;  ///< serial writers: 1; parallel ones: 0 .. files - 1
  std::uint64_t flag1 = static_cast<std::uint64_t>(KeyvalMode::kNone) << 32;
  std::uint64_t flag2 = 0;
  std::string prefix;                      ///< name given to the writer's open; at most 1023 bytes
  std::vector<std::int64_t> global_ranks;  ///< labels; shape [tasks]
  std::vector<std::uint64_t> chunk_bytes;  ///< as stored; shape [tasks]
  std::uint32_t max_blocks = 0;            ///< M; 0 before close
  std::uint64_t meta2_address = 0;         ///< start_of_varheader; 0 before close

  bool operator==(const Meta1&) const = default;

  /// n, tasks of this physical file.
  [[nodiscard]] std::uint64_t tasks() const { return chunk_bytes.size(); }
  /// Was it closed? A file that was not has its data, but no sizes.
  [[nodiscard]] bool closed() const { return meta2_address != 0; }
  /// Only such a file has a mapping table, and others beside it.
  [[nodiscard]] bool is_master() const { return files > 1 && file_number == 0; }
  [[nodiscard]] KeyvalMode keyval() const;
  void set_keyval(KeyvalMode mode) { flag1 = static_cast<std::uint64_t>(mode) << 32; }
  /// What addresses are computed from: rounded to F by the reader in old versions, as stored in
  /// newer ones.
  [[nodiscard]] Result<std::vector<std::uint64_t>> effective_chunk_bytes() const;
  [[nodiscard]] Result<SionLayout> layout() const;
  /// Address of the 12 bytes that are written last.
  [[nodiscard]] std::uint64_t tail_address() const;
};

/// Everything but the last 12 bytes, as it stands in an open container; or all of it.
/// Errors: kInvalidArgument (a field that the format cannot hold; arrays of different lengths).
Result<std::vector<std::byte>> encode_meta1(const Meta1& meta, bool with_tail);

/// The 12 bytes at tail_address(): writing them is what closes a container.
std::vector<std::byte> encode_meta1_tail(const Meta1& meta);

/// Decodes the head of a physical file from its first bytes, of which there may be more than
/// META1's. A file that ends where the last 12 bytes belong, or has zeros there, is accepted as not
/// closed.
/// @param file_bytes  size of the file that `bytes` is the head of: counts and addresses are held
/// against it Errors: kCorrupt (magic, a field that contradicts the format or the size: names field
/// and byte), kUnsupported (format version: says found and known).
Result<Meta1> decode_meta1(std::span<const std::byte> bytes, std::uint64_t file_bytes);

/// The same from a file, reading no more than META1. Errors also: kIo.
Result<Meta1> read_meta1(File& file);

}  // namespace bento
