// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which native view stock HDF5 sees of a container: the superblock of physical file 0 tells. The
/// root knows the superblock before and after the last close. Task-local. Source: docs/format.md,
/// "Native view".
#pragma once

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "core/layout/plan.hpp"
#include "core/layout/root.hpp"
#include "core/layout/superblock.hpp"

namespace bento {

/// The bytes where a superblock is; zeros where the file is too short for one. Errors: kIo.
Result<Superblock> read_superblock(File& file, const FilePlan& plan);

/// Does the superblock lead to the view of the root, not to the one before? Errors: kIo.
Result<bool> view_switched(File& first, const FilePlan& plan, const Root& root);

/// The root without the view before, if that is in use no more: others may lie in its place.
/// Errors: kIo.
Result<Root> in_use_of(File& first, const FilePlan& plan, Root root);

/// `next` names no view yet, and as the one before it that which the superblock with this hash, the
/// present one, leads to.
void begin_view(Root& next, const Hash128& superblock);

/// Has another program changed the file through its native view? By the superblock; `thorough`: by
/// the rest of the view, too, which only who wants to write looks at: a reader serves the
/// container's content anyway. Errors: kCorrupt, kIo.
Result<bool> view_edited(File& first, const FilePlan& plan, const Root& root, bool thorough);

}  // namespace bento
