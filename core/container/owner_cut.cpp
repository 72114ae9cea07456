// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A program on stock HDF5 that opens a file for writing cuts it off, at its close, where the
/// superblock says that the file ends, also if it has changed nothing. The native view of the last
/// close ends before what was committed since. So each commit lets the superblock say where the
/// file ends now. Source: docs/format.md, "Native view".
#include "core/container/owner.hpp"
#include "core/container/published_view.hpp"
#include "core/layout/superblock.hpp"

namespace bento {

// Roots before the superblock: an open that finds neither of the two that its root knows takes the
// file for one that somebody else has changed. The superblock before the commit's root: from then
// on what the commit has stored must stay.
Status Owner::keep_from_cut(Root& next) {
  if (state_.options.spread) return {};  // its view is made where it arrives
  for (std::uint32_t index = state_.plan.files(); index-- > 1;) {
    BENTO_ASSIGN(File* const handle, files_.file(index));
    BENTO_ASSIGN(Superblock part, read_superblock(*handle, state_.plan.file(index)));
    if (!is_superblock(part)) continue;
    BENTO_ASSIGN(const std::uint64_t bytes, handle->size());
    if (end_of_file_of(part) >= bytes) continue;
    BENTO_TRY(set_end_of_file(part, bytes));
    BENTO_TRY(handle->write_at(state_.plan.file(index).superblock_address(), part));
    BENTO_TRY(files_.make_durable(*handle));
  }
  BENTO_ASSIGN(File* const first, files_.file(0));
  BENTO_ASSIGN(const Superblock before, read_superblock(*first, state_.plan.file(0)));
  if (!is_superblock(before)) return {};
  BENTO_ASSIGN(std::uint64_t bytes, first->size());
  if (end_of_file_of(before) >= bytes) return {};
  if (makes_live_views()) {
    BENTO_ASSIGN(bytes, live_length(*first));
  }
  Superblock after = before;
  BENTO_TRY(set_end_of_file(after, bytes));
  // Both superblocks lead to the view that is shown now.
  BENTO_ASSIGN(const bool switched, view_switched(*first, state_.plan.file(0), state_.root));
  Root told = state_.root;
  told.view = told.view_before = switched ? told.view : told.view_before;
  told.superblock_before = hash128(before);
  told.superblock = hash128(after);
  BENTO_TRY(slots_.write(*first, told));
  next.view = told.view;
  next.view_before = told.view_before;
  next.superblock_before = told.superblock_before;
  next.superblock = told.superblock;
  state_.root = std::move(told);
  BENTO_TRY(first->write_at(state_.plan.file(0).superblock_address(), after));
  return files_.make_durable(*first);
}

}  // namespace bento
