// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a rank knows of the container that it has open, apart from its files and its stream. Plain
/// data: the parts of a container (`Container`, `ContainerFiles`, and `Owner` on rank 0) work on
/// one of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/growing_clock.hpp"
#include "core/catalogue/paged_image.hpp"
#include "core/container/container_options.hpp"
#include "core/layout/chunk_fill.hpp"
#include "core/layout/names.hpp"
#include "core/layout/plan.hpp"
#include "core/layout/root.hpp"
#include "core/records/index.hpp"
#include "core/steps/blob_cache.hpp"
#include "core/steps/step.hpp"

namespace bento {

struct ContainerState {
  ContainerState(std::string name, bool for_writing, ContainerOptions how, std::uint32_t count)
      : path(std::move(name)), writable(for_writing), options(std::move(how)), ranks(count) {}

  const std::string path;
  const bool writable;
  const ContainerOptions options;
  const std::uint32_t ranks;  ///< that have opened it

  // Where everything lies.
  Root root;  ///< last committed, equal on all ranks
  ContainerPlan plan;
  ContainerNames names;
  std::pair<std::uint64_t, std::uint64_t> identity{};  ///< device and inode of physical file 0
  SessionId session{};                                 ///< of this open, if it writes
  /// Of all writers, as committed; on the owner only.
  std::vector<ChunkFill> fills;
  /// On the other ranks: as they were at the open, of the writers that they may come to write or
  /// mark.
  std::map<std::uint32_t, ChunkFill> own_fills;

  // What it holds.
  PagedImage skeleton;
  Index index;  ///< all declarations; records and extents since the last commit only
  /// Of the step index: what the commits of this rank have written, and what it has read.
  std::shared_ptr<BlobCache> blobs = std::make_shared<BlobCache>();
  Segment pending;  ///< declarations, deletions, extents since the last commit; no records
  DatasetNumber next_dataset = 0;
  std::uint64_t collective = 0;     ///< collective calls so far
  bool counted_references = false;  ///< H5Oincr_refcount was called in this session
  GrowingClock clock;

  /// The absolute step that is read: the newest, or the one that was asked for at open.
  [[nodiscard]] AbsoluteStep step() const { return options.step.value_or(AbsoluteStep(root.step)); }
  /// Of a writer that this rank may come to write or mark; null if it did not exist at the open.
  [[nodiscard]] const ChunkFill* fill_of(std::uint32_t writer) const;
  /// All datasets that exist, this session's included; by ascending number.
  [[nodiscard]] std::vector<DatasetDeclaration> datasets() const;
  /// What comes to `plan` when root and stream table were read: writers whose files are nearly full
  /// get new ones; ranks that have no writer get a physical file of their own. On the owner, which
  /// tells the others. Errors: kCorrupt, kUnsupported.
  Status add_writers();
};

}  // namespace bento
