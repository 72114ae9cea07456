// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A file that is no container is opened for writing by HDF5's native connector. Another process
/// may make a container of it, or put one in its place, after it was looked at and before HDF5 has
/// it open. HDF5 would then write into the container's native view, and cut off what lies behind.
#pragma once

#include <functional>
#include <optional>

#include "core/base/error.hpp"
#include "vol/file/file_agreement.hpp"

namespace bento::vol {

/// How the native connector opens the file, and closes what it has opened. `flags` are those of
/// H5Fopen.
struct NativeCalls {
  std::function<Result<void*>(unsigned flags)> open;
  std::function<void(void* opened)> close;
};

/// Opens `name` with `flags`, which say that it is written. Nothing if it is a container by now:
/// then all is to be decided anew. Collective over file.comm. Errors: those of `open`, kBusy (the
/// container is being created just now), as is_ours(), kPeer.
Result<std::optional<void*>> open_to_write(const char* name, unsigned flags, const AgreedFile& file,
                                           const NativeCalls& native);

}  // namespace bento::vol
