// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where a native view is built: the container hands its owner's state and fresh catalogue space to
/// a builder that knows HDF5 (hdf5/view), and gets superblocks back, which it switches on when all
/// else is in place. Source: docs/format.md, "Native view".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/catalogue/catalogue_space.hpp"
#include "core/catalogue/committed_index.hpp"
#include "core/catalogue/paged_image.hpp"
#include "core/catalogue/view_table.hpp"
#include "core/io/file.hpp"
#include "core/layout/chunk_fill.hpp"
#include "core/layout/plan.hpp"
#include "core/layout/superblock.hpp"
#include "core/stream/record_reader.hpp"

namespace bento {

/// Fresh space in the catalogue of one physical file; for pieces that fit no chunk, whole blocks of
/// the file that nobody else has written or will write.
class ViewSpace {
 public:
  /// `fills` are those of this file's writers; they must outlive this.
  ViewSpace(File& file, const FilePlan& plan, CatalogueSpace& space,
            std::span<const ChunkFill> fills)
      : file_(&file), plan_(&plan), space_(&space), fills_(fills) {}

  /// `bytes` in one piece, 8-byte aligned. Returns the address in the file. Errors: kNoSpace
  /// (beyond the logical limit: names chunk=).
  Result<std::uint64_t> allocate(std::uint64_t bytes);
  /// Gives back what was reserved for allocations that did not come, and sees to it that the file
  /// holds all of the others. Errors: kIo, kNoSpace.
  Status finish();
  [[nodiscard]] File& file() const { return *file_; }
  [[nodiscard]] const FilePlan& plan() const { return *plan_; }
  /// What was handed out: in chunks of the catalogue, piece by piece, and in whole blocks.
  [[nodiscard]] const std::vector<CatalogueRange>& ranges() const { return ranges_; }
  [[nodiscard]] const std::vector<ViewBlocks>& blocks() const { return blocks_; }
  /// How long a stream must be, counted in chunks, to go on behind all blocks(); 0 if there are
  /// none.
  [[nodiscard]] std::uint64_t chunks_to_skip() const;

 private:
  void give_back();
  Result<std::uint64_t> allocate_in_blocks(std::uint64_t bytes);
  Result<std::uint64_t> within_limit(std::uint64_t address, std::uint64_t bytes) const;

  File* file_;
  const FilePlan* plan_;
  CatalogueSpace* space_;
  std::span<const ChunkFill> fills_;
  std::vector<CatalogueRange> ranges_;
  CatalogueRange reserve_;  ///< taken, to be handed out in small pieces
  std::vector<ViewBlocks> blocks_;
};

/// What the builder gets. Valid during the call.
struct ViewJob {
  const std::string& path;  ///< of physical file 0
  std::uint64_t id;         ///< no earlier view of this container had it
  /// Of who makes it: of another container, which may come to lie under this name, no view has
  /// both.
  const SessionId& session;
  const PagedImage& skeleton;
  CommittedIndex& committed;
  const std::vector<DatasetDeclaration>& datasets;
  const ContainerPlan& plan;
  RecordReader& reader;
  std::uint64_t data_bytes;       ///< in all streams
  std::vector<ViewSpace> spaces;  ///< one for each physical file
  bool closing = true;            ///< not one of the many that commits make
};

/// What it returns: everything but these superblocks is in the files already.
struct NativeView {
  std::vector<std::optional<Superblock>> superblocks;  ///< one for each physical file
  std::vector<std::string> notes;  ///< for the user: what is not in the view, and why
};

/// Runs on the owner only. An error means that there is no new view.
using ViewBuilder = std::function<Result<NativeView>(ViewJob&)>;

}  // namespace bento
