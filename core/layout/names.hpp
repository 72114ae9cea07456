// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where the physical files of an open container are. A name is resolved once, when the container
/// is opened: a program that changes its working directory later, or whose ranks have different
/// ones, still means the same files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/io/file.hpp"

namespace bento {

/// `name` with the working directory in front if it has no folder of its own to start from; as it
/// is where there is no working directory.
std::string absolute_name(const std::string& name);

/// Name of physical file 0 of the container of which this name says that the file is a part
/// ("run.h5" for "run.h5.000001"); empty if it says no such thing.
std::string name_of_first(const std::string& name);

/// Does the name lead to this open file still? Always for files of memory.
bool leads_to(const std::string& name, const File& file);

/// Where the symbolic link of this name ends, also if nothing is there; the name itself if it is
/// none, or if links lead in a circle.
std::string end_of_links(const std::string& name);

class ContainerNames {
 public:
  ContainerNames() = default;
  /// Those of the container whose physical file 0 is open: beside the target of a symbolic link,
  /// then beside the name as given. A file without a descriptor (memory) keeps its name.
  static ContainerNames of(const File& first);

  /// Physical file 0.
  [[nodiscard]] const std::string& first() const { return places_.front(); }
  /// Where a new physical file `index` is made.
  [[nodiscard]] std::string of_new(std::uint32_t index) const;
  /// Everywhere where physical file `index` is looked for, best first.
  [[nodiscard]] std::vector<std::string> places(std::uint32_t index) const;
  /// Name of physical file 0 without its folder: what the identities of the files say.
  [[nodiscard]] std::string base() const;
  /// The folder that has the files.
  [[nodiscard]] std::string folder() const;
  [[nodiscard]] bool empty() const { return places_.empty(); }

  /// Opens an existing physical file, at the first place where there is one. Errors: kNotFound,
  /// naming all places; those of the opener.
  Result<std::unique_ptr<File>> open(std::uint32_t index, OpenMode mode,
                                     const FileOpener& opener) const;

  /// Another place to look at last: where the name leads for this rank. Nothing for files of
  /// memory.
  void also(const std::string& absolute);

  void encode(ByteWriter& out) const;
  static Result<ContainerNames> decode(ByteReader& in);

 private:
  std::vector<std::string> places_;  ///< of physical file 0
  bool in_memory_ = false;
};

/// Under which name SION knows a container: what its first physical file says. Errors: those of
/// read_meta1().
Result<std::string> name_in(File& file);
/// The other way: of a container of one file, which is made under another name. Errors: the same,
/// kIo.
Status call_container(File& file, const std::string& name);

}  // namespace bento
