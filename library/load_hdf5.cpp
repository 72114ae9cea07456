// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <link.h>

#include <cstring>
#include <mutex>
#include <string_view>

#include <dlfcn.h>
#include <fmt/format.h>

#include "library/handles.hpp"

namespace bento::library {

namespace {

constexpr const char* kModule = "libh5bento_hdf5.so";

/// Folder of the library that this function is in, with a slash at its end; empty if it cannot be
/// told.
std::string own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr)
    return {};
  const std::string_view path = info.dli_fname;
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(path.substr(0, slash + 1));
}

/// An HDF5 library that is loaded, and is not the one that the module was linked with: a second one
/// beside it would have ids, files and plugins of its own.
int note_other_hdf5(dl_phdr_info* info, std::size_t, void* data) {
  const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const auto slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (!name.starts_with("libhdf5") || name.starts_with("libhdf5_") || name == H5BENTO_HDF5_SONAME)
    return 0;
  *static_cast<std::string*>(data) = path;
  return 1;
}

Result<const Hdf5Calls*> checked(const std::string& name, const Hdf5Calls* calls) {
  if (calls == nullptr || std::strcmp(calls->version, H5BENTO_VERSION) != 0)
    return fail(Code::kUnsupported, fmt::format("{} is of another version than this library ({})",
                                                name, H5BENTO_VERSION));
  return calls;
}

Result<const Hdf5Calls*> calls_of(const std::string& name) {
  void* const module = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr)
    return fail(Code::kUnsupported, fmt::format("this call needs HDF5, and {} cannot be loaded: {}",
                                                name, ::dlerror()));
  const auto get = reinterpret_cast<GetHdf5Calls>(::dlsym(module, kHdf5CallsName));
  return checked(name, get == nullptr ? nullptr : get());
}

/// Set by h5bento_use_module().
struct Chosen {
  std::string module;
  const void* code = nullptr;
};
Chosen& chosen() {
  static Chosen one;
  return one;
}

Result<const Hdf5Calls*> calls_of_chosen() {
  const auto& [name, code] = chosen();
  void* const module = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto get = reinterpret_cast<const Hdf5Calls* (*)(const void*)>(
      module == nullptr ? nullptr : ::dlsym(module, kHdf5CallsForName));
  if (get == nullptr)
    return fail(Code::kUnsupported,
                fmt::format("'{}' is no plugin that this call can use: {}", name, ::dlerror()));
  const Hdf5Calls* const calls = get(code);
  if (calls == nullptr)
    return fail(Code::kUnsupported,
                fmt::format("'{}' cannot serve the HDF5 library that was named; "
                            "stderr says why",
                            name));
  return checked(name, calls);
}

Result<const Hdf5Calls*> load() {
  if (!chosen().module.empty()) return calls_of_chosen();
  std::string other;
  ::dl_iterate_phdr(&note_other_hdf5, &other);
  if (!other.empty())
    return fail(Code::kUnsupported,
                fmt::format("this process uses another HDF5 library ('{}') than h5bento ({}): call "
                            "this from a process that does not",
                            other, H5BENTO_HDF5_SONAME));
  return calls_of(own_folder() + kModule);
}

}  // namespace

// What failed may succeed later: the other library's owner may have closed it.
Result<const Hdf5Calls*> hdf5_calls() {
  static std::mutex loading;
  static const Hdf5Calls* loaded = nullptr;
  const std::lock_guard lock(loading);
  if (loaded == nullptr) {
    BENTO_ASSIGN(loaded, load());
  }
  return loaded;
}

}  // namespace bento::library

void h5bento_use_module(const char* path, const void* code) {
  bento::library::chosen() = {path == nullptr ? "" : path, code};
}
