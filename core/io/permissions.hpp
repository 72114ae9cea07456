// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Who may read and write a file that takes another one's place, or belongs to it.
#pragma once

#include <string>

#include "core/base/error.hpp"

namespace bento {

/// Gives the file `to` the owner, the group and the permissions of the file `from`, both open
/// descriptors, access control list included. Only root can give a file away. Where the group or
/// the list cannot be kept, nobody gets more than he had: all others have only what each of those
/// had too whom the list names, or who is in the group. Failures are no errors: the file is usable,
/// by its owner.
void take_permissions(int from, int to);
/// The same from the regular file of this name, if there is one and it is no link.
void take_permissions_of(const std::string& path, int to);
/// The same from file `name` in the open folder `folder`.
void take_permissions_of(int folder, const std::string& name, int to);

/// Makes an empty file that nobody but its owner may open, whatever the umask and the folder's
/// list: it is opened and filled later. Errors: kExists, kIo and the others of an open.
Status make_private_file(const std::string& path);

}  // namespace bento
