// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a physical file says of itself: of which container it is, which part, made for which name,
/// and by which session it was written last. A name may lead to another file than the one that is
/// meant; this tells. Source: docs/format.md, "Identity".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "core/layout/plan.hpp"
#include "core/layout/root.hpp"

namespace bento {

inline constexpr std::uint64_t kIdentityAt = 1024;      ///< behind P: slot 0, then slot 1
inline constexpr std::size_t kIdentityBytes = 512;      ///< of a slot; written in one piece
inline constexpr std::size_t kSessionsBefore = 8;       ///< that an identity names, at most
inline constexpr std::size_t kIdentityNameBytes = 256;  ///< a file name has at most 255

struct Identity {
  FileId file_id{};        ///< the container's
  std::uint32_t part = 0;  ///< number of the physical file
  SessionId session{};     ///< that wrote it last, or is writing it
  /// Sessions before it that committed something, newest first.
  std::vector<SessionId> before;
  std::uint64_t turn = 0;  ///< grows with each writing; of two valid slots the larger counts
  std::string name;        ///< of physical file 0 at that time, without folder

  bool operator==(const Identity&) const = default;
};

/// One slot. decode gives nothing for bytes that are none, or torn.
std::array<std::byte, kIdentityBytes> encode_identity(const Identity& identity);
std::optional<Identity> decode_identity(std::span<const std::byte> slot);

/// What the file whose superblock lies at P = `superblock` says of itself; nothing if it says
/// nothing valid. One read of 1 KiB. Errors: kIo.
Result<std::optional<Identity>> read_identity(File& file, std::uint64_t superblock);
/// The same for a file of which nothing is known: P follows from META1, or is tried where META1 was
/// not written yet. Errors: kIo.
Result<std::optional<Identity>> find_identity(File& file);
/// For a file in which probe() has found no root: what is left of a container must not be taken for
/// anything else, as its native view would be. Errors: kCorrupt (it is that), kInvalidArgument (it
/// is another physical file than the first), kIo.
Status refuse_damaged(File& file, const Probe& seen);
/// Says it, in the slot that does not hold what the file says now. Errors: kIo, kNoSpace.
Status write_identity(File& file, std::uint64_t superblock, Identity identity);

/// Is it physical file `part` of this container? `container` is its name, for errors: kCorrupt,
/// naming the file and what it is instead.
Status check_part(File& file, const std::optional<Identity>& found, const std::string& container,
                  const FileId& file_id, std::uint32_t part);
/// The error for a part of another state of the container than the rest.
Error other_session(const File& file, const std::string& container, std::uint32_t part);
/// What a file is, for an error: "an ordinary HDF5 file", "part 2 of the container 'b.h5'", ...
std::string describe(File& file, const std::optional<Identity>& found);

/// Holds the physical files that one process opens to read against the container. File 0 must be
/// that of `root` or of a later state, since a writer may have gone on; another file must be of the
/// session that file 0 knows, or of the one that is writing now.
class PartRule {
 public:
  PartRule() = default;
  PartRule(std::string container, const Root& root)
      : container_(std::move(container)), file_id_(root.file_id), committed_(root.session) {}

  /// Errors: kCorrupt (another file, an older or diverged copy: says so), kIo.
  Status check_first(File& first, const FilePlan& plan);
  /// `first` is physical file 0. Reads it anew where the sessions differ. Errors: as check_first().
  Status check_other(File& file, const FilePlan& plan, std::uint32_t part, File& first,
                     const FilePlan& first_plan);

 private:
  std::string container_;
  FileId file_id_{};
  SessionId committed_{};
  std::vector<SessionId> seen_;  ///< what file 0 said last: its session, and the one of its root
};

}  // namespace bento
