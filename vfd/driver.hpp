// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The HDF5 file driver `bento`: each file that a program opens is the stream of this process in a
/// container that it shares with others (core/joined), or an ordinary file. Source: docs/vfd.md.
#pragma once

#include <H5FDdevelop.h>

namespace bento::vfd {

/// What the library registers. It lives as long as the module.
const H5FD_class_t& driver_class();

}  // namespace bento::vfd
