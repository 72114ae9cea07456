// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Texts of the library: names, comments, expressions.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>

#include <hdf5.h>

namespace bento::vol {

/// What `get(room, bytes)` gives, a call of the library that says how long its text is, whether or
/// not there is room for it. Nothing if the library refuses.
template <class Get>
std::optional<std::string> library_text(const Get& get) {
  const ssize_t length = get(nullptr, std::size_t{0});
  if (length < 0) return std::nullopt;
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  if (get(text.data(), text.size()) < 0) return std::nullopt;
  text.resize(std::strlen(text.c_str()));  // some calls count the zero at the end, others do not
  return text;
}

}  // namespace bento::vol
