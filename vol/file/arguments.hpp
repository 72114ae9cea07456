// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the ranks must give alike when they create or change an object together, as text: it is
/// compared when they commit, and stands in the error where they did not. Two equal texts may stand
/// for lists that differ in what cannot lose data (say, in a compound fill value). Nothing here
/// makes communication.
#pragma once

#include <span>
#include <string>

#include <hdf5.h>

#include "vol/file/creation_facts.hpp"

namespace bento::vol {

/// "4 x 5", with the largest extent behind it where that is another one.
std::string extent_text(hid_t space);
std::string extent_text(std::span<const hsize_t> sizes);
/// Size of an element in bytes, and a number that two types share only if they are equal.
std::string type_text(hid_t type);
/// Layout, chunks, filters with their values, and the fill value of a number. `facts`: of `dcpl`.
std::string creation_text(hid_t dcpl, const CreationFacts& facts, hid_t type);

}  // namespace bento::vol
