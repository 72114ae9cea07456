// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/made_names.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "hdf5/base/handle.hpp"
#include "hdf5/base/quiet_errors.hpp"

namespace bento::vol {

namespace {

/// `pattern` is the user's own, which HDF5 gives to the same function.
template <class Value>
std::string formatted(const char* pattern, Value value) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  const int length = std::snprintf(nullptr, 0, pattern, value);
  std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  std::snprintf(text.data(), text.size() + 1, pattern, value);
#pragma GCC diagnostic pop
  return text;
}

// The library creates the first member, and empties those behind it up to the first that is not
// there.
std::vector<std::string> family(const char* pattern) {
  std::vector<std::string> names{formatted(pattern, 0u)};
  for (unsigned member = 1;; ++member) {
    std::string name = formatted(pattern, member);
    std::error_code failed;
    // A pattern without a number gives the same name again.
    if (std::ranges::find(names, name) != names.end() || !std::filesystem::exists(name, failed))
      return names;
    names.push_back(std::move(name));
  }
}

}  // namespace

std::vector<std::string> made_names(const char* name, hid_t fapl) {
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  hsize_t size = 0;
  if (H5Pget_fapl_family(fapl, &size, nullptr) >= 0) return family(name);
  std::array<char*, H5FD_MEM_NTYPES> patterns{};
  if (H5Pget_fapl_multi(fapl, nullptr, nullptr, patterns.data(), nullptr, nullptr) < 0)
    return {name};
  std::vector<std::string> names;
  for (char* const pattern : patterns) {
    if (pattern == nullptr) continue;
    std::string made = formatted<const char*>(pattern, name);
    H5free_memory(pattern);
    if (std::ranges::find(names, made) == names.end()) names.push_back(std::move(made));
  }
  return names;
}

}  // namespace bento::vol
