// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Functions of HDF5 that some versions have under another name, in another form, or as a variable:
/// what takes their place where they are missing.
#pragma once

#include <string_view>

namespace bento::binding {

/// What does the work of `name` in a library without it.
struct StandIn {
  const char* name;
  bool always;           ///< also where the library has the name
  const char* original;  ///< what the library has instead; null if nothing is needed of it
  void** uses;     ///< where that goes; null if it is the function itself. For a variable null
                   ///< is left there until it has a value
  void* function;  ///< null if `original` is the function itself
};
/// Null if nothing stands in for that name.
const StandIn* stand_in_for(std::string_view name);

}  // namespace bento::binding
