// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Folders that the daemon makes beside a destination, reached through an open folder so that
/// nobody can exchange them meanwhile. `shown` is how an error names the folder.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "transfer/descriptor.hpp"

namespace bento::transfer {

/// Opens folder `name` of `parent`, and makes it with mode 0700 if it is not there. Errors: kIo;
/// kPermission if it belongs to another user.
Result<Descriptor> open_own_folder(int parent, const std::string& name, const std::string& shown);

/// Opens a folder that is there; a symbolic link is an error. Errors: kIo, kNotFound.
Result<Descriptor> open_folder(int parent, const std::string& name, const std::string& shown);

/// Whether `folder` has an entry of this name, of whatever kind.
bool is_there(int folder, const std::string& name);

/// Names of all entries of a folder but "." and "..", in no order. Errors: kIo.
Result<std::vector<std::string>> names_in(int folder, const std::string& shown);

/// Removes all entries that are no folders, except `kept`. Errors: kIo.
Status remove_files(int folder, const std::string& shown, const std::string& kept = {});

}  // namespace bento::transfer
