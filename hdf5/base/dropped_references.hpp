// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What users are told of references that a copy cannot have.
#pragma once

#include <cstddef>
#include <string>

namespace bento::vol {

/// How many, and why, for a note that goes on with what they are now: ", and are null".
std::string about_dropped_references(std::size_t count);

}  // namespace bento::vol
