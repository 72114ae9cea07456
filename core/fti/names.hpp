// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// File names by which FTI finds its checkpoint files. Rank, checkpoint id and level stand nowhere
/// else. Source: docs/formats/fti-ff.md, section 5.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bento::fti {

enum class FileKind {
  kRank,          ///< CkptC-RankR.fti
  kPartner,       ///< CkptC-PcofR.fti, R being the holder
  kRsed,          ///< CkptC-RSedR.fti
  kDifferential,  ///< dCPFile-RankR.fti, which has no checkpoint id
};

/// What a file name says.
struct FileName {
  FileKind kind = FileKind::kRank;
  std::int32_t ckpt_id = 0;  ///< 0 for kDifferential
  std::uint32_t rank = 0;    ///< global rank of the application

  bool operator==(const FileName&) const = default;
};

/// The name without a directory.
std::string format_name(const FileName& name);
/// The reverse; nothing if `name` is not exactly what format_name() makes.
std::optional<FileName> parse_name(std::string_view name);

/// Folder of a level (1, 2 or 3) below FTI's ckpt_dir: "E/l1", or "node0/E/l1" with local_test=1.
std::string local_folder(std::string_view execution_id, int level,
                         std::optional<std::uint32_t> test_node);
/// Folder below FTI's glbl_dir: "E/l4".
std::string global_folder(std::string_view execution_id);

}  // namespace bento::fti
