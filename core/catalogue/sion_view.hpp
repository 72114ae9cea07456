// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What SIONlib sees of a physical file of ours: META1 in its three states (provisional,
/// unfinished, complete) and META2 inside the catalogue's chunk. Source: docs/formats/sion.md,
/// sections 2, 6 and 7; docs/format.md, "SION view".
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "core/base/error.hpp"
#include "core/catalogue/catalogue_space.hpp"
#include "core/io/file.hpp"
#include "core/layout/chunk_fill.hpp"
#include "core/layout/plan.hpp"

namespace bento {

/// A valid container without data: all chunks of size 0, META2 at the start of data.
Status write_provisional_sion(File& file, const ContainerPlan& plan, std::uint32_t index,
                              const std::string& name);

/// META1 with the final chunk sizes and no pointer to a META2: SION readers refuse it as not
/// closed.
Status write_unfinished_meta1(File& file, const ContainerPlan& plan, std::uint32_t index,
                              const std::string& name);
/// The same, and clears what of the provisional META2 lies in the first task's chunk.
Status write_unfinished_sion(File& file, const ContainerPlan& plan, std::uint32_t index,
                             const std::string& name);

/// Clears META1's pointer if it is set: SION readers refuse the file until complete_sion().
Status suspend_sion(File& file, const ContainerPlan& plan, std::uint32_t index);

/// Before a session writes anything: sees to it that it will not write over the META2 that META1
/// points to. Space is taken behind it from now on (only that of file 0 counts), or the file is
/// suspended if META2 lies behind all blocks. Returns whether META1 still points to a META2.
Result<bool> guard_sion(File& file, const ContainerPlan& plan, std::uint32_t index,
                        CatalogueSpace& space);

/// Where in the catalogue the META2 lies that META1 points to; nothing if there is none there.
Result<std::optional<CatalogueRange>> meta2_in_use(File& file, const ContainerPlan& plan,
                                                   std::uint32_t index);

/// Writes META2 (and the mapping, in file 0 of several) to free space of this file's catalogue,
/// then nfiles, then META1's pointer; calls `sync` before the pointer. `fills` are those of this
/// file's writers. Several files change one by one, so that file 0 must be suspended before the
/// first of them and completed as the last: readers open a container by its file 0.
Status complete_sion(File& file, const ContainerPlan& plan, std::uint32_t index,
                     std::span<const ChunkFill> fills, CatalogueSpace& space,
                     const std::function<Status()>& sync);

/// Where the catalogue of a physical file k > 0 goes on: behind the META2 its META1 points to, or
/// behind all blocks if META2 fits no chunk and a native view is published.
Result<Position> catalogue_end_of(File& file, const ContainerPlan& plan, std::uint32_t index);

/// Does META1 say what the root says? The number of files only counts once a session is `closed`.
/// Errors: kCorrupt naming file, field and both values.
Status check_meta1(File& file, const ContainerPlan& plan, std::uint32_t index, bool closed);

}  // namespace bento
