// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Bytes as text: names of files, and errors.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <fmt/format.h>

namespace bento {

/// Two lower-case hexadecimal digits for each byte.
inline std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte one : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(one));
  return text;
}

}  // namespace bento
