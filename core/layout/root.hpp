// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The root: one 4 KiB sector from which everything committed can be found. It is kept twice: a
/// commit writes the first slot, then the second, so that a torn write leaves the other, and at
/// rest both say the same. Source: docs/format.md, "Root".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/base/hash_kind.hpp"
#include "core/io/file.hpp"
#include "core/layout/plan.hpp"
#include "core/layout/stream_rules.hpp"

namespace bento {

/// What new containers have.
inline constexpr std::uint32_t kFormatVersion = 4;
/// What a container has from the commit on that first has a dataset of variable-length elements
/// (kVariableElements); not if it has an older version than new ones.
inline constexpr std::uint32_t kVersionWithVariableElements = 5;
/// The oldest that is read. A container that is written on keeps its version.
inline constexpr std::uint32_t kOldestFormatVersion = 3;
/// From here on streams with MD5 are laid out for FTI; all else is as before.
inline constexpr std::uint32_t kFirstVersionForFti = 4;

/// Random number of a container, fixed at create.
using FileId = std::array<std::byte, 16>;
/// Random number of a session that writes; zeros: none.
using SessionId = std::array<std::byte, 16>;

/// A run of bytes in the catalogue with its checksum. `bytes` 0 means absent.
struct CatalogueRef {
  Position position = 0;
  std::uint64_t bytes = 0;
  Hash128 hash{};
  bool operator==(const CatalogueRef&) const = default;
};

/// Persistent: never renumber.
enum RootFlags : std::uint32_t {
  kRootProvisional = 1,  ///< laid out, nothing committed yet
  kRootClosed = 2,       ///< META2 is in place: the SION view is complete
  kRootMd5 = 4,          ///< record hashes are MD5, not XXH3-128; fixed at create
  /// A program raised an object's reference count: an object may live without a link.
  kRootCountedReferences = 8,
  /// The streams are HDF5 files that processes wrote through the driver (core/joined): no records,
  /// no steps. Fixed at create.
  kRootJoined = 16,
  /// Commits left native views (view=commit): a plain reader may have an older one open than the
  /// one that the root names.
  kRootLiveViews = 32,
};

struct Root {
  std::uint32_t version = kFormatVersion;
  std::uint32_t flags = 0;
  std::uint64_t sequence = 0;  ///< grows by one with every root written
  FileId file_id{};
  std::uint32_t fs_block = 0;     ///< as given to ContainerPlan::make
  std::vector<FileGroup> groups;  ///< the physical files
  std::uint64_t step = 0;         ///< absolute steps committed so far
  std::uint64_t oldest = 0;       ///< oldest absolute step that can be read
  std::uint64_t collective = 0;   ///< collective calls so far: later writes carry larger counts
  std::uint32_t next_dataset = 0;
  std::uint64_t skeleton_bytes = 0;
  Position catalogue_end = 0;   ///< first free position of the catalogue of file 0
  CatalogueRef skeleton;        ///< page table
  CatalogueRef index;           ///< root of the step index
  CatalogueRef streams;         ///< how full each writer's chunks are
  CatalogueRef view;            ///< table of the native view in file 0, absent if none
  Hash128 superblock{};         ///< of the superblock's bytes at P, zeros if no view
  Hash128 superblock_before{};  ///< the same before this root: the switch comes after it
  SessionId session{};          ///< that wrote this root, and then says so in every physical file
  /// Table of the view that `superblock_before` leads to: in use until the switch.
  CatalogueRef view_before;
  /// One more than the absolute step of the last close: SION readers see the streams as of that.
  /// 1: there was none yet; 0, in files of before: not known.
  std::uint64_t closed = 0;

  /// What the hashes of records are; one that is zero was not computed.
  [[nodiscard]] HashKind record_hash() const {
    return (flags & kRootMd5) != 0 ? HashKind::kMd5 : HashKind::kXxh3;
  }
  [[nodiscard]] StreamRules stream_rules() const {
    const bool for_fti = record_hash() == HashKind::kMd5 && version >= kFirstVersionForFti;
    return {record_hash(), for_fti};
  }
  /// Physical files of all groups.
  [[nodiscard]] std::uint32_t files() const;
};

/// The bytes of a root slot that tell one root from all others, also from those of another
/// container: its number and the container's id. What a reader looks at after each read.
inline constexpr std::uint64_t kRootMarkAt = 16;
using RootMark = std::array<std::byte, sizeof(std::uint64_t) + sizeof(FileId)>;
RootMark mark_of(const Root& root);

/// One sector. decode() errors: kCorrupt (magic, checksum, impossible numbers), kUnsupported
/// (version: says found and known).
std::array<std::byte, kSectorBytes> encode_root(const Root& root);
Result<Root> decode_root(std::span<const std::byte> sector);

/// For everything that reads records and steps, of which a joined container has none: kUnsupported,
/// saying how to open it, if `root` is that of one.
Status refuse_joined(const std::string& path, const Root& root);

/// What a file is, seen from outside.
enum class FileKind {
  kOther,      ///< not SION at all
  kPlainSion,  ///< SION's magic, but no valid root of ours
  kContainer,
};
struct Probe {
  FileKind kind = FileKind::kOther;
  Root root;              ///< the newest valid one; kContainer only
  unsigned slot = 0;      ///< where it was found
  bool mirrored = false;  ///< both slots hold this root
  std::string problem;    ///< kPlainSion: why no root was accepted
};

/// Looks for META1's magic and the newest valid root. Not collective, reads at most 12 KiB.
/// Errors: kIo. A file of any other content is not an error.
Result<Probe> probe(File& file);

}  // namespace bento
