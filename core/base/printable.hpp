// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Names come from files that anybody may have written, and go to terminals.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

namespace bento {

/// `?` for each byte that is not `kept`.
template <class Kept>
std::string printable(std::string text, const Kept& kept) {
  std::ranges::replace_if(text, [&](unsigned char c) { return !kept(c); }, '?');
  return text;
}

/// Without control characters.
inline std::string printable(std::string text) {
  return printable(std::move(text), [](unsigned char c) { return c >= ' ' && c != 0x7f; });
}

/// The same for a text that may have several lines.
inline std::string printable_lines(std::string text) {
  return printable(std::move(text),
                   [](unsigned char c) { return (c >= ' ' && c != 0x7f) || c == '\n'; });
}

/// ASCII only: what bytes of a damaged file are, is not known.
inline std::string printable_ascii(std::string text) {
  return printable(std::move(text), [](unsigned char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace bento
