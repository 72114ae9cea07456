// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Lays one file over another: blocks that hold something are copied to the same place, blocks of
/// zeros are not, so that others may write there. For files that were empty before.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/error.hpp"
#include "transfer/gate.hpp"

namespace bento::transfer {

/// An open file and its name for errors.
struct NamedFile {
  int fd = -1;
  std::string name;
};

/// No two nodes write into one block of this size: chunks begin at its multiples.
inline constexpr std::size_t kOverlayBlock = 4096;

/// Copies the first `bytes` of `source`; of those before `from` only blocks that differ, as an
/// earlier copy has brought them. The target does not become longer than what is written. After
/// each burst the target is synced and `durable` called with the length of what is there; false
/// ends it. False also if the gate says stop. Errors: kBusy (the source ends before), kNoSpace,
/// kIo.
Result<bool> overlay_copy(const NamedFile& source, const NamedFile& target, std::uint64_t bytes,
                          std::uint64_t from, Gate& gate,
                          const std::function<Result<bool>(std::uint64_t)>& durable);

}  // namespace bento::transfer
