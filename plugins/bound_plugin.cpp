// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "plugins/bound_plugin.hpp"

#include <cstdio>
#include <map>
#include <string_view>

#include <glob.h>

#include <hdf5.h>

#include "binding/hdf5_binding.hpp"
#include "binding/second_image.hpp"

namespace bento::plugins {

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

std::string own_file() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&own_file), &info) == 0) return {};
  return info.dli_fname;
}

/// Is there such a one beside this one?
bool has_neighbour(Other other) {
  if (other == Other::kNone) return false;
  const std::string own = own_file();
  glob_t found{};
  bool any = false;
  if (::glob((own.substr(0, own.rfind('/') + 1) + "libh5bento_vol*.so").c_str(), GLOB_NOSORT,
             nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      const std::string_view path = found.gl_pathv[i];
      any = any || (path != own && path.ends_with("_serial.so") == (other == Other::kWithoutMpi));
    }
  ::globfree(&found);
  return any;
}

}  // namespace

void say(const std::string& why) {
  static std::string said;
  if (said == why) return;
  said = why;
  std::fprintf(stderr, "h5bento: %s is not used: %s\n", kName, why.c_str());
}

void* other_image(const void* code) {
  static std::map<const void*, void*> images;  // by where the library begins
  Dl_info info{};
  if (::dladdr(code, &info) == 0) return nullptr;
  void*& image = images[info.dli_fbase];
  std::string why;
  if (image == nullptr) image = binding::load_second_image(why);
  if (image == nullptr) say("two HDF5 libraries in this process, and " + why);
  return image;
}

}  // namespace bento::plugins

using namespace bento;

extern "C" {

/// What the library that `code` is in gets, null if it cannot have it. With `hold` it uses it from
/// now on.
__attribute__((visibility("default"))) const void* h5bento_class_for(const void* code, int hold) {
  if (const auto wrong = plugins::misfit(code)) {
    if (!plugins::has_neighbour(wrong->other)) plugins::say(wrong->why);
    return nullptr;
  }
  if (binding::serves_another(code)) {
    auto* const other =
        plugins::in_other_image<const void*(const void*, int)>(code, "h5bento_class_for");
    return other == nullptr ? nullptr : other(code, hold);
  }
  // Who asks for the type may look for something else, while HDF5 starts.
  const bool later = hold == 0 || plugins::kType == H5PL_TYPE_VFD;
  if (const auto why =
          binding::bind(code, later ? binding::Variables::kLater : binding::Variables::kNow)) {
    plugins::say(*why);
    return nullptr;
  }
  if (hold != 0) binding::hold();
  return plugins::plugin_class();
}

__attribute__((visibility("default"))) H5PL_type_t H5PLget_plugin_type(void) {
  return h5bento_class_for(__builtin_return_address(0), 0) == nullptr ? H5PL_TYPE_FILTER
                                                                      : plugins::kType;
}

__attribute__((visibility("default"))) const void* H5PLget_plugin_info(void) {
  const void* const given = h5bento_class_for(__builtin_return_address(0), 1);
  return given == nullptr ? &plugins::no_filter() : given;
}
}
