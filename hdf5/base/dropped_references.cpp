// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/base/dropped_references.hpp"

#include <fmt/format.h>

namespace bento::vol {

std::string about_dropped_references(std::size_t count) {
  return fmt::format(
      "{} references lead to objects that are not there or have no path, to other files, or to "
      "regions that their objects do not have",
      count);
}

}  // namespace bento::vol
