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
#include "vol/file/object.hpp"

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

/// Where a file was when it was opened first: the program may have changed its working directory
/// since, or a link.
struct FilePlace {
  std::string name;         ///< absolute, as it was given
  std::string real_folder;  ///< where its links end; empty if nobody knows
};

/// The names under which the file `name` is looked for, first ones first, as HDF5 does it: the
/// folders of HDF5_VDS_PREFIX, the access list's prefix, the folder of the file that holds the
/// virtual dataset, the working directory, the folder where that file really is. `prefix` is that
/// of the open dataset's access list, `holder` the place of that file.
std::vector<std::string> places_of_source(const FilePlace& holder, const std::string& name,
                                          const std::string& prefix);

/// The place of the file that `dataset` is in. As natively, it is that of the first open as long as
/// the file stays open by any name, or something in it.
FilePlace place_of_holder(const Object* dataset);

/// Where rank 0 found the container that was opened by this name, if the name does not lead there
/// on this rank, which has another working directory. Nothing of what lies in a cache.
std::optional<std::string> place_elsewhere(const char* name, FileContext& context);

/// To be called when a file was opened or created by this name.
void note_place(const Object* file, const char* name);

/// When HDF5 ends: it may be started again, and then counts its files anew.
void places_forget();

/// The first of them where there is a file or, in a cache, a container of that name.
std::optional<std::string> find_source(const std::vector<std::string>& places);

}  // namespace bento::vol
