// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Whether a name still leads to the file that it led to, as it was then. The inode alone does not
/// say so: file systems use the number of a removed file again, and a program may write a file anew
/// in its place. So size and time of change belong to it; a rename changes none of the three.
#pragma once

#include <string>

namespace bento::transfer {

/// Of a regular file in an open folder; empty if there is none of this name.
std::string stamp_of(int folder, const std::string& name);

}  // namespace bento::transfer
