// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Writes one rank's checkpoint file in either layout, such that FTI accepts it
/// (docs/formats/fti-ff.md, section 1): the 1.6 file checksum follows the reader's rule, and
/// containers without content carry the hash of no bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "core/base/error.hpp"
#include "core/fti/model.hpp"
#include "core/io/file.hpp"

namespace bento::fti {

/// Fills `into` with the bytes [offset, offset + into.size()) of variable `id`.
using VariableData =
    std::function<Status(std::int32_t id, std::uint64_t offset, std::span<std::byte> into)>;

struct WriteOptions {
  HashKind hash = HashKind::kMd5;  ///< the 1.6 layout knows only MD5
  std::uint64_t timestamp = 0;     ///< CLOCK_REALTIME in ns
  std::int32_t ckpt_id = 0;        ///< 1.6 only
  std::int64_t max_fs = -1;        ///< level 3: group_max_fs()
  std::int64_t pt_fs = -1;         ///< level 2: size of the left neighbour's file
};

/// maxFs of a level-3 group whose largest rank file has `largest` bytes: FTI 1.6 appends an 8-byte
/// size to each.
constexpr std::int64_t group_max_fs(Layout layout, std::uint64_t largest) {
  return static_cast<std::int64_t>(largest + (layout == Layout::kV16 ? 8 : 0));
}

/// Writes the file that `checkpoint` describes and stores in it what was computed on the way:
/// hashes and meta. `data` is asked for each chunk once, in file order and in pieces of at most 1
/// MiB; fillers and bytes behind a chunk become zeros (holes in the 1.6 layout, as FTI leaves
/// them).
/// @param checkpoint  from evolve.hpp, or anything for which place() was called
/// @param out  a file opened with kCreate or kCreateExclusive; truncated first, neither synced nor
/// closed here Errors: kInvalidArgument (hash not known to the layout; a chunk larger than its
/// container), those of `out` and `data`. After an error the content of `out` is not defined.
Status write_checkpoint(File& out, Checkpoint& checkpoint, const VariableData& data,
                        const WriteOptions& options);

}  // namespace bento::fti
