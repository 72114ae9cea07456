// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace bento::tools {

/// "512 B", "1.50 KiB", "23.4 GiB": three digits, powers of 1024.
std::string bytes_text(double bytes);
inline std::string bytes_text(std::uint64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}
/// "1,234,567".
std::string count_text(std::uint64_t count);
/// "1 file", "3 files".
std::string count_text(std::uint64_t count, const std::string& singular);

}  // namespace bento::tools
