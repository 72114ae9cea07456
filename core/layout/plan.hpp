// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where everything of a container lies, as arithmetic on a few numbers that every rank knows:
/// which physical file and local task a writer has, where chunks begin, where superblock and root
/// slots are. No I/O. Source: docs/format.md, "Physical layout"; SION addresses as in
/// docs/formats/sion.md, section 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace bento {

/// A place in a task's chunks: block * chunk size + offset in the chunk. Unlike an offset in the
/// logical stream it can be turned into a file address without knowing how full the chunks before
/// it are.
using Position = std::uint64_t;

inline constexpr std::uint64_t kSectorBytes = 4096;        ///< a root slot; written in one piece
inline constexpr std::uint64_t kMinChunkBytes = 4u << 20;  ///< smallest chunk chosen by itself
inline constexpr std::uint64_t kMaxChunkBytes = 1u << 30;  ///< largest chunk chosen by itself
inline constexpr std::uint64_t kMaxBlockBytes = 1ull
                                                << 40;  ///< one block of all tasks stays below this
inline constexpr std::uint64_t kMaxLogicalBytes = 8ull
                                                  << 40;  ///< ext4 refuses offsets beyond 16 TiB
inline constexpr std::uint32_t kMaxWriters = 1u << 24;

/// One physical file of a container: `writers` tasks, and the catalogue as the last one.
struct FilePlan {
  std::uint32_t first_writer = 0;      ///< number of the writer that is local task 0
  std::uint32_t first_global = 0;      ///< its SION global rank; the others count up
  std::uint32_t catalogue_global = 0;  ///< SION global rank of the catalogue
  std::uint32_t writers = 0;
  std::uint32_t fsblksize = 0;  ///< F
  std::uint64_t chunk_bytes =
      0;  ///< of every task, the catalogue included; 0 in a provisional layout

  [[nodiscard]] std::uint32_t tasks() const { return writers + 1; }
  [[nodiscard]] std::uint32_t catalogue_task() const { return writers; }
  /// S: where the first chunk begins.
  [[nodiscard]] std::uint64_t data_start() const;
  /// P: where a native superblock is searched and found. Smallest power of two >= max(4096, 1088 +
  /// 16n).
  [[nodiscard]] std::uint64_t superblock_address() const;
  /// Address of root slot 0 or 1.
  [[nodiscard]] std::uint64_t root_address(unsigned slot) const;
  /// Bytes of one block: the chunks of all tasks.
  [[nodiscard]] std::uint64_t block_bytes() const { return tasks() * chunk_bytes; }
  /// Where block `block` begins.
  [[nodiscard]] std::uint64_t block_address(std::uint64_t block) const {
    return data_start() + block * block_bytes();
  }
  /// Blocks that end at or below file address `limit`.
  [[nodiscard]] std::uint64_t blocks_within(std::uint64_t limit) const;
  /// File address of a position of local task `task`.
  [[nodiscard]] std::uint64_t address(std::uint32_t task, Position position) const;
};

/// Physical files that were laid out together: those of the first session, one that was added for
/// a later session with more writers, or the overflow of files that are as large as they may get.
/// Its writers are those of the ranks from `first_rank` on, and no longer those of older groups.
struct FileGroup {
  std::uint32_t writers = 0;
  std::uint32_t files = 0;  ///< 0: further tasks of the last file before, the only one of its group
  std::uint64_t chunk_bytes = 0;
  std::uint32_t first_rank = 0;
  bool operator==(const FileGroup&) const = default;
};

inline constexpr std::size_t kMaxGroups = 128;
/// Physical files; a root of one sector must not cost a reader hundreds of megabytes.
inline constexpr std::uint32_t kMaxPhysicalFiles = 1u << 20;

/// All physical files of a container, from the numbers a root stores.
class ContainerPlan {
 public:
  ContainerPlan() = default;
  /// A new container, all chunks of size 0. `files` is brought down to `writers`; `fs_block` is the
  /// file system's block, a power of two. Errors: kInvalidArgument (no writers, too many, fs_block
  /// no power of two).
  static Result<ContainerPlan> make(std::uint32_t writers, std::uint32_t files,
                                    std::uint32_t fs_block);
  /// An existing one. Errors: as make().
  static Result<ContainerPlan> of(std::span<const FileGroup> groups, std::uint32_t fs_block);

  /// Adds a group of physical files behind the others. Errors: kUnsupported (more than kMaxGroups
  /// or kMaxPhysicalFiles), kInvalidArgument (no writers, more files than writers, no file that can
  /// have them, ranks left out).
  Status add(const FileGroup& group);

  [[nodiscard]] std::uint32_t writers() const { return writers_; }
  /// Ranks that have a writer: 0 to ranks() - 1.
  [[nodiscard]] std::uint32_t ranks() const { return ranks_; }
  /// What rank `rank`, less than ranks(), writes with: its writer in the newest group that has one.
  [[nodiscard]] std::uint32_t writer_of_rank(std::uint32_t rank) const;
  /// Whose writer it is or was.
  [[nodiscard]] std::uint32_t rank_of_writer(std::uint32_t writer) const;
  [[nodiscard]] std::uint32_t files() const { return static_cast<std::uint32_t>(files_.size()); }
  [[nodiscard]] std::span<const FileGroup> groups() const { return groups_; }
  [[nodiscard]] const FilePlan& file(std::uint32_t index) const { return files_[index]; }
  /// Physical file of a writer: within a group SIONlib's rule, N / files writers each, the rest in
  /// the last.
  [[nodiscard]] std::uint32_t file_of(std::uint32_t writer) const;
  [[nodiscard]] std::uint32_t local_task(std::uint32_t writer) const;
  /// Number of SION global ranks: writers and catalogues.
  [[nodiscard]] std::uint32_t globals() const { return writers_ + files(); }
  [[nodiscard]] std::uint64_t largest_chunk() const;
  /// May chunks be so large? There have to be two blocks within kMaxLogicalBytes: what belongs to
  /// all ranks lies behind the chunks of the first one. Errors: kInvalidArgument.
  [[nodiscard]] Status check_chunk(std::uint64_t bytes) const;
  /// Fixes the chunk size of a new container.
  void set_chunk_bytes(std::uint64_t bytes);
  /// Chunk size for `declared` bytes per rank, or for `wanted` if not 0: rounded up to F.
  [[nodiscard]] std::uint64_t choose_chunk(std::uint64_t declared, std::uint64_t wanted) const;

 private:
  std::uint32_t writers_ = 0;
  std::uint32_t ranks_ = 0;
  std::uint32_t fs_block_ = 0;
  std::vector<FileGroup> groups_;
  std::vector<FilePlan> files_;
};

/// Name of physical file `index`, by SION's rule: sion_file_name().
std::string physical_name(const std::string& name, std::uint32_t index);

/// P for a given number of tasks, for a reader that has only META1.
std::uint64_t superblock_address(std::uint64_t tasks);

}  // namespace bento
