// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where a copy in a full cache goes on; see spill.hpp.
#pragma once

#include <climits>
#include <cstddef>
#include <string>

namespace bento::transfer {

struct SpillNames {
  SpillNames(const std::string& copy, const std::string& final_name);

  /// In the cache, made with the copy: `0`, or `1` once something was written elsewhere.
  std::string mark;
  std::string folder;  ///< beside the final name

  /// Of a physical file, by the last part of its name.
  [[nodiscard]] std::string data(const std::string& base) const { return folder + "/" + base; }
  [[nodiscard]] std::string map(const std::string& base) const {
    constexpr std::size_t kEnd = 7;  // `.000001` tells the physical files of a container apart
    if (base.size() + 4 > NAME_MAX) return folder + "/map" + base.substr(base.size() - kEnd);
    return folder + "/" + base + ".map";
  }
};

}  // namespace bento::transfer
