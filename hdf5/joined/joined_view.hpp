// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The native view of a joined container: one HDF5 file, which HDF5 without the driver reads, with
/// a group for each file that processes wrote. Source: docs/vfd.md, "The view of all files".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/joined/joined_files.hpp"

namespace bento::vol {

struct JoinedViewSettings {
  std::uint64_t copy_bytes = 0;  ///< at most so much data is copied; 0: the larger of 64 MiB and a
                                 ///< tenth of all streams
};

/// Builds it anew, in place of one that there may be. The container is finished, the caller holds
/// its gate, and nobody writes. Returns what is not in it, and why: files that HDF5 cannot open,
/// and datasets; their links lead nowhere and say the same. May be called inside a call of the
/// library. Errors: kIo, kNoSpace, kCorrupt, kInternal; the container has no view then, and is as
/// long as without one.
Result<std::vector<std::string>> build_joined_view(JoinedFiles& files,
                                                   const JoinedViewSettings& settings = {});

/// What the view that there is does not show; nothing where there is no view. `path`: the
/// container. Errors: kNotFound (stock HDF5 cannot open it).
Result<std::vector<std::string>> joined_view_notes(const std::string& path);

/// To be called when the library ends: its ids are used again.
void joined_view_forget();

}  // namespace bento::vol
