// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Entry points of the plugins that link no HDF5: bound_plugin.cpp has them, and each module says
/// what it is by the functions below. A module is bound to the library that calls here, and a
/// second one gets a second image. Where that cannot be it says why and claims to be a filter that
/// nobody asks for, because a null answer would end the library's search through the whole folder.
#pragma once

#include <optional>
#include <string>

#include <H5PLextern.h>
#include <dlfcn.h>

namespace bento::plugins {

/// Other plugins with the connector, one of which may be the right one.
enum class Other { kNone, kWithoutMpi, kWithMpi };

struct Misfit {
  std::string why;
  Other other = Other::kNone;  ///< if such a one lies in the folder, nothing is said
};

// What each module defines.
extern const char* const kName;  ///< in messages: "the plugin without MPI"
extern const H5PL_type_t kType;
/// Is it for another library than the one that `code` is in? Before anything is bound.
std::optional<Misfit> misfit(const void* code);
/// What HDF5 gets. Called when the module is bound.
const void* plugin_class();

/// Writes to stderr why the plugin is not used. Not twice the same while it is loaded: HDF5 may
/// look through the folder again and again.
void say(const std::string& why);

/// The image of this module that serves the library of `code`, when that is not this one. Null, and
/// said why, if there can be none.
void* other_image(const void* code);

/// A function of that image; null if there is none.
template <class Function>
Function* in_other_image(const void* code, const char* name) {
  void* const image = other_image(code);
  return image == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(image, name));
}

}  // namespace bento::plugins
