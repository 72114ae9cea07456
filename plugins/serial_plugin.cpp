// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Entry points of the connector without MPI, as those in vol_plugin.cpp. This module links no
/// HDF5: it is bound to the library that calls here, and a second one gets a second image. Where
/// that cannot be it says why and claims to be a filter that nobody asks for, because a null answer
/// would end the library's search through the whole folder.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <unistd.h>

#include <H5PLextern.h>
#include <hdf5.h>

#include "binding/hdf5_binding.hpp"
#include "binding/second_image.hpp"
#include "library/handles.hpp"
#include "vol/callbacks/callbacks.hpp"

namespace {

// A number that HDF5 leaves to private use, and that no file holds.
constexpr H5Z_filter_t kNoFilter = 510;

std::size_t refuse_filter(unsigned, std::size_t, const unsigned[], std::size_t, std::size_t*,
                          void**) {
  return 0;
}

const H5Z_class2_t& no_filter() {
  static const H5Z_class2_t kClass = {H5Z_CLASS_T_VERS,      kNoFilter, 1,       1,
                                      "h5bento steps aside", nullptr,   nullptr, &refuse_filter};
  return kClass;
}

/// Once for each reason: HDF5 may look through the folder again and again.
void say(const std::string& why) {
  static std::string said;
  if (said == why) return;
  said = why;
  std::fprintf(stderr, "h5bento: the plugin without MPI is not used: %s\n", why.c_str());
}

/// Where HDF5 has MPI the plugin built with that MPI is the one to use, unless the user wants this
/// one.
bool is_for_others(const void* code) {
  const char* const wanted = std::getenv("H5BENTO_PLUGIN");
  return (wanted == nullptr || std::string_view(wanted) != "serial") &&
         bento::binding::has(code, "H5Pset_fapl_mpio");
}

/// Is the other plugin beside this one?
bool has_neighbour() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&has_neighbour), &info) == 0) return false;
  std::string path = info.dli_fname;
  path.resize(path.rfind('/') + 1);
  return ::access((path + "libh5bento_vol.so").c_str(), F_OK) == 0;
}

/// The image that serves the library of `code`, which is not this one. Null if there can be none.
void* other_image(const void* code) {
  static std::map<const void*, void*> images;  // by where the library begins
  Dl_info info{};
  if (::dladdr(code, &info) == 0) return nullptr;
  void*& image = images[info.dli_fbase];
  std::string why;
  if (image == nullptr) image = bento::binding::load_second_image(why);
  if (image == nullptr) say("two HDF5 libraries in this process, and " + why);
  return image;
}

/// A function of that image; null if there is none.
template <class Function>
Function* in_other_image(const void* code, const char* name) {
  void* const image = other_image(code);
  return image == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(image, name));
}

}  // namespace

extern "C" {

const bento::library::Hdf5Calls* h5bento_hdf5_calls();  // library/hdf5

/// The connector for the library that `code` is in, null if it cannot have one. With `hold` it uses
/// it from now on.
__attribute__((visibility("default"))) const void* h5bento_class_for(const void* code, int hold) {
  if (is_for_others(code)) {
    if (!has_neighbour())
      say("this HDF5 has MPI, and should use the plugin that is built with that MPI; for programs "
          "without MPI H5BENTO_PLUGIN=serial takes this one");
    return nullptr;
  }
  if (bento::binding::serves_another(code)) {
    auto* const other = in_other_image<const void*(const void*, int)>(code, "h5bento_class_for");
    return other == nullptr ? nullptr : other(code, hold);
  }
  if (const auto why = bento::binding::bind(code)) {
    say(*why);
    return nullptr;
  }
  if (hold != 0) bento::binding::hold();
  return &bento::vol::connector_class();
}

/// What libh5bento.so asks of the image that serves this library; null if none does.
__attribute__((visibility("default"))) const bento::library::Hdf5Calls* h5bento_hdf5_calls_for(
    const void* code) {
  if (!bento::binding::serves_another(code)) {
    const auto why = bento::binding::bind(code);
    if (why) say(*why);
    return why ? nullptr : h5bento_hdf5_calls();
  }
  auto* const other =
      in_other_image<const bento::library::Hdf5Calls*(const void*)>(code, "h5bento_hdf5_calls_for");
  return other == nullptr ? nullptr : other(code);
}

__attribute__((visibility("default"))) H5PL_type_t H5PLget_plugin_type(void) {
  return h5bento_class_for(__builtin_return_address(0), 0) == nullptr ? H5PL_TYPE_FILTER
                                                                      : H5PL_TYPE_VOL;
}

__attribute__((visibility("default"))) const void* H5PLget_plugin_info(void) {
  const void* const connector = h5bento_class_for(__builtin_return_address(0), 1);
  return connector == nullptr ? &no_filter() : connector;
}
}
