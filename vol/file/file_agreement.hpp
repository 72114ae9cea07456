// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What comes before a file is created, opened or deleted: the ranks agree on the call and on the
/// settings, and rank 0 says for all whether the file is ours, another's, or open already.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/config/file_call.hpp"
#include "vol/file/file_context.hpp"

namespace bento::vol {

/// One call of the application.
struct FileRequest {
  std::string_view function;  ///< H5Fcreate, H5Fopen or H5Fdelete
  const char* name = nullptr;
  unsigned flags = 0;
  hid_t fapl = H5I_INVALID_HID;
  /// Why the file is the native connector's, whatever it is; empty if it is not.
  std::string_view native_because;
};

/// What came of it, and what the call goes on with.
struct AgreedFile {
  UserAccess access;
  std::shared_ptr<Communicator> comm;
  FileDecision decision;
  OpenSettings settings;
  /// The file is open already: what has it open.
  std::shared_ptr<FileContext> open;
  /// On rank 0: the unfinished copy in a cache that is opened, locked until it is open.
  std::shared_ptr<transfer::CachedCopy> copy;

  [[nodiscard]] bool passes() const { return decision.what == FileDecision::What::kPass; }
};

/// Collective over the list's communicator, and nothing at all for other drivers than mpio. The
/// message of errors is equal on all ranks. Errors: as agree_on_call() and check_second_open().
Result<AgreedFile> agree_on_create(const FileRequest& request);
Result<AgreedFile> agree_on_open(const FileRequest& request);
Result<AgreedFile> agree_on_delete(const FileRequest& request);

/// A new session's id.
std::uint64_t new_session();

}  // namespace bento::vol
