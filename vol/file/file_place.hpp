// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where open files are, as HDF5 keeps it for its own links: what a file names without a folder is
/// looked for beside it.
#pragma once

#include <optional>
#include <string>

#include "vol/file/object.hpp"

namespace bento::vol {

/// Where a file was when it was opened first: the program may have changed its working directory
/// since, or a link.
struct FilePlace {
  std::string name;         ///< absolute, as it was given
  std::string real_folder;  ///< where its links end; empty if nobody knows
};

/// The place of the file that `dataset` is in. As natively, it is that of the first open as long as
/// the file stays open by any name, or something in it.
FilePlace place_of_holder(const Object* dataset);

/// Where rank 0 found the container that was opened by this name, if the name does not lead there
/// on this rank, which has another working directory. Nothing of what lies in a cache.
std::optional<std::string> place_elsewhere(const char* name, FileContext& context);

/// To be called when a file was opened or created by this name.
void note_place(const Object* file, const char* name);

/// When HDF5 ends: it may be started again, and then counts its files anew.
void places_forget();

}  // namespace bento::vol
