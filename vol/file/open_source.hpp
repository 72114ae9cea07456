// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How the source dataset of a virtual one is opened. The connector opens its file by itself, as a
/// program does, so that containers and ordinary files are both what a program finds in them.
#pragma once

#include <string>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"
#include "vol/file/object.hpp"

namespace bento::vol {

enum class SourcePurpose { kReading, kWriting };

struct OpenSource {
  Object* dataset = nullptr;  ///< null if there is no such dataset
  FileHandle file;            ///< valid if it cannot stay open without an identifier
  bool writable = false;
  bool stays = false;  ///< after the transfer
};

/// On whose behalf: a virtual dataset, and the access list that it was opened with.
struct SourceHolder {
  const Object* object;
  hid_t dapl;
};

/// The dataset `name` of the file at `path`. Task-local. Errors: kIo (the file cannot be opened),
/// those of open_source_dataset().
Result<OpenSource> open_source_in(const std::string& path, const std::string& name,
                                  const SourceHolder& holder, SourcePurpose purpose);

/// The dataset `name` of the file of `where`; null if there is nothing of this name. Errors:
/// kInvalidArgument (there is, but no dataset, or it cannot be opened).
Result<Object*> open_source_dataset(const Object* where, const std::string& name, hid_t dapl);

/// Is the connector opening such a file just now?
[[nodiscard]] bool is_opening_source();

}  // namespace bento::vol
