// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The files that FTI keeps beside rank files so that a group survives the loss of some: RSed files
/// (level 3, Reed-Solomon parity with a file meta record behind it) and partner copies (level 2).
/// The parity itself is not recomputed here: that needs the rank files of the whole group.
/// Source: docs/formats/fti-ff.md, sections 1, 2 and 5.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/error.hpp"
#include "core/fti/finding.hpp"
#include "core/fti/model.hpp"
#include "core/fti/source.hpp"

namespace bento::fti {

struct RsedVerdict {
  std::optional<Layout>
      layout;     ///< nothing if the end of the file is no file meta record of an RSed file
  FileMeta meta;  ///< meta_size and data_size are noise; ckpt_size is that of the rank's own file
  bool my_hash_ok = false;
  bool checksum_ok = false;  ///< MD5 of the parity
  Findings findings;

  [[nodiscard]] bool sound() const { return layout.has_value() && findings.empty(); }
};

/// Verifies the closing record of an RSed file and the checksum of its parity. A damaged file gives
/// findings. Errors: those of `source`.
Result<RsedVerdict> verify_rsed(Source& source);

/// Index in a level-2 group of the rank whose file `group_rank` keeps a copy of. `group_size` must
/// not be 0.
constexpr std::uint32_t left_neighbour(std::uint32_t group_rank, std::uint32_t group_size) {
  return (group_rank + group_size - 1) % group_size;
}

/// Does `copy` belong beside `holder`, the rank file of the same process? The holder's ptFs must be
/// the copy's size. With `original`, the left neighbour's file, the bytes are compared too. The
/// copy is to be verified like any rank file. Errors: kCorrupt (a size that is not ptFs; the offset
/// of the first byte that differs), those of the sources.
Status check_partner(const FileMeta& holder, Source& copy, Source* original = nullptr);

}  // namespace bento::fti
