// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A native view without HDF5: pages that a superblock leads to, in every physical file, and a look
/// whether all of them are still there. What the container does with a view can be tested with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/container/native_view.hpp"
#include "tests/support/memory_file.hpp"

namespace bento::test {

/// Builds a view of `pages` pages in each physical file. Each names the view and the next page, and
/// has a checksum. A file k > 0 lists the pages of the view before, too, as a real one keeps the
/// sources that file 0's view uses.
ViewBuilder fake_view(std::uint64_t pages);

/// What a stock program would find from the superblock of file 0 on.
struct SeenView {
  std::optional<std::uint64_t> id;  ///< none: no superblock is there
  std::uint64_t step = 0;           ///< of which it was made
  std::uint64_t pages = 0;          ///< in all files
  std::string wrong;                ///< what is damaged; empty if nothing is
};
SeenView look_at_view(const MemoryFileSystem& disk, const std::string& path = "box");

}  // namespace bento::test
