// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A container that is written in the caches of several nodes: each has a share of it, a copy in a
/// CacheFolder of its own, all with one id. Share 0 is that of rank 0's node; the others have what
/// rank 0 wrote in NAME.common (core/spread). Source: docs/transfer.md, "Caches on several nodes".
#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.hpp"
#include "transfer/assembly.hpp"

namespace bento::transfer {

struct Share {
  std::uint32_t index = 0;
  std::uint32_t count = 0;  ///< 0: the copy is the whole container
  ViewWish view;            ///< of what has come together
};

/// Which share a copy is, as the file `share` beside it says.
Share share_of_copy(const std::string& copy);
/// Says so. Errors: kNoSpace, kIo.
Status set_share(const std::string& copy, const Share& share);
/// The file in which the root of a copy is found, and which is locked while it is written.
std::string root_file_of_copy(const std::string& copy);

}  // namespace bento::transfer
