// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Names of a virtual dataset's sources: what its mappings say, and where such a file is looked
/// for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "vol/file/file_place.hpp"

namespace bento::vol {

/// A name in which `%b` stands for the number of a block, and `%%` for a percent sign.
class SourceName {
 public:
  /// Errors: kInvalidArgument (another specifier).
  static Result<SourceName> of(std::string_view text);
  /// Does it have a number?
  [[nodiscard]] bool numbered() const { return parts_.size() > 1; }
  [[nodiscard]] std::string at(std::uint64_t number) const;

 private:
  std::vector<std::string> parts_;  ///< numbers stand between them
};

/// The names under which the file `name` is looked for, first ones first, as HDF5 does it: the
/// folders of HDF5_VDS_PREFIX, the access list's prefix, the folder of the file that holds the
/// virtual dataset, the working directory, the folder where that file really is. `prefix` is that
/// of the open dataset's access list, `holder` the place of that file.
std::vector<std::string> places_of_source(const FilePlace& holder, const std::string& name,
                                          const std::string& prefix);

/// The first of them where there is a file or, in a cache, a container of that name.
std::optional<std::string> find_source(const std::vector<std::string>& places);

}  // namespace bento::vol
