// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// When the writers of a session go on in new physical files: before their files grow beyond a
/// limit, since file systems have one. Decided where all ranks agree, at an open and at a commit,
/// so it has to be seen an epoch ahead: the next epoch is taken to need as many blocks as the last.
/// No I/O. Source: docs/format.md, "Physical layout".
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/layout/chunk_fill.hpp"
#include "core/layout/plan.hpp"

namespace bento {

/// The group of physical files to go on in, for the ranks 0 to `ranks` - 1, if the next epoch of
/// one of them may not end within `limit` bytes of its file. `before` are the fills at the commit
/// before `now`, both by writer; writers behind the end of either have not begun. Nothing if there
/// is room, or if new files would have no more.
std::optional<FileGroup> overflow_at_commit(const ContainerPlan& plan, std::uint32_t ranks,
                                            std::span<const ChunkFill> before,
                                            std::span<const ChunkFill> now, std::uint64_t limit);

/// The same at an open: what a rank has written in `steps` steps tells what the next one needs.
std::optional<FileGroup> overflow_at_open(const ContainerPlan& plan, std::uint32_t ranks,
                                          std::span<const ChunkFill> fills, std::uint64_t steps,
                                          std::uint64_t limit);

}  // namespace bento
