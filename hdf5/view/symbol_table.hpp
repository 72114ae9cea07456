// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Symbol tables: where groups keep their links that are made as HDF5 did before 1.8, which it
/// still does unless a program asks for a later format. A group's links come into its table all at
/// once here, in the bytes of a file that the library has closed; by the library each of them takes
/// a search and several calls. Source: the HDF5 File Format Specification, version 3.0, III.A.1
/// (B-trees), III.B (nodes), III.C (entries), III.D (local heaps); checked against HDF5 1.14.5.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/view/view_file.hpp"

namespace bento::vol {

/// Has the open group one? False also if the library cannot say.
bool has_symbol_table(hid_t group);

/// H5Gcreate_anon in the open file `file`, whose low bound is 1.8, for the copy of group `from`: if
/// that has a symbol table and many links, it has one, too.
GroupHandle make_group_as_before(hid_t file, hid_t from, hid_t gcpl);

/// A hard link.
struct TableLink {
  std::string name;
  std::uint64_t object = 0;  ///< address of its header, from the base of the file
};

/// Adds `links` to the group whose header lies at address `group` (from the base of the file) of
/// `view`, which the library has closed. No link of the group has one of the names yet. Errors:
/// kInternal (the group has no table that is understood), and those of the view.
Status add_to_symbol_table(ViewFile& view, std::uint64_t group,
                           const std::vector<TableLink>& links);

}  // namespace bento::vol
