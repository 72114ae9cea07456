// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What fills the hash fields of an FTI-FF file, and the text form of a file checksum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/base/hash.hpp"
#include "core/base/hash_kind.hpp"
#include "core/fti/granules.hpp"
#include "core/fti/md5.hpp"

namespace bento::fti {

using bento::HashKind;

inline constexpr std::size_t kChecksumTextBytes = 33;
/// 32 lower-case hex digits and a NUL, as stored.
using ChecksumText = std::array<std::byte, kChecksumTextBytes>;

/// Hash of one chunk's bytes; all zero with kNone. Thread-safe.
Digest chunk_hash(HashKind kind, std::span<const std::byte> chunk);
/// What a container without content carries: the hash of no bytes (FTI's single-variable recovery
/// checks it).
Digest empty_chunk_hash(HashKind kind);

/// Text form of a digest.
ChecksumText to_text(const Digest& digest);
/// The digest behind a text; nothing if it is not 32 hex digits and a NUL.
std::optional<Digest> from_text(const ChecksumText& text);

/// chunk_hash of a chunk that arrives in pieces.
class ChunkHasher {
 public:
  explicit ChunkHasher(HashKind kind);
  void update(std::span<const std::byte> bytes);
  [[nodiscard]] Digest digest() const;

 private:
  std::optional<Md5> md5_;
  std::optional<GranuleHasher> xxh3_;
};

}  // namespace bento::fti
