// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Names come from files that anybody may have written, and go to terminals.
#pragma once

#include <algorithm>
#include <string>

namespace bento {

/// `?` for each control character.
inline std::string printable(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return text;
}

/// The same for a text that may have several lines.
inline std::string printable_lines(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return (c < ' ' && c != '\n') || c == 0x7f; }, '?');
  return text;
}

}  // namespace bento
