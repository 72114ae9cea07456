// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Looking before leaping: which files may be removed or written anew for a container. What is no
/// part of it stays as it is, whatever a root claims and whatever it is called.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "core/layout/names.hpp"
#include "core/layout/root.hpp"

namespace bento {

/// What is at the place of a physical file that is to be made.
enum class InTheWay {
  kNothing,
  kOurs,  ///< a part of the container that is replaced, or one whose physical file 0 is gone
};

/// Looks at the place of a new physical file `part`. `file_id` is that of the container to which
/// file 0 belongs, or belonged until now, if any; `superblock` is P of the new file. Errors:
/// kExists (a file that must not be lost: says what it is, and the command that removes it), kIo.
Result<InTheWay> look_before_create(const ContainerNames& names, std::uint32_t part,
                                    const std::optional<FileId>& file_id, std::uint64_t superblock,
                                    const FileOpener& opener);

/// The physical files k > 0 of a container that are there. Another file at the place of one is
/// passed over, or an error if `all` must be removed. Errors: kExists (as above), kIo.
Result<std::vector<std::string>> parts_to_remove(const ContainerNames& names, const Root& root,
                                                 bool all, const FileOpener& opener);

/// A file that is asked for as a new physical file 0 may be another one of a container in use.
/// Errors: kExists, as above.
Status check_is_no_part(File& file, const FileOpener& opener);

/// Removes a container: all its physical files, or the symbolic link if `path` is one. Not
/// collective. Errors: kNotFound, kPermission, kExists (a file in the place of one of its parts;
/// nothing is removed then), kIo.
Status remove_container(const std::string& path, const Root& root, const FileOpener& opener);

}  // namespace bento
