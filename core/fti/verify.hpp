// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Verifies one FTI-FF file or stream without FTI and MPI: everything that docs/formats/fti-ff.md,
/// section 6, lists, and the XXH3 variant of docs/format.md, "A rank's stream". Damage gives
/// findings, not an error.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/error.hpp"
#include "core/fti/finding.hpp"
#include "core/fti/model.hpp"
#include "core/fti/reader.hpp"
#include "core/fti/source.hpp"

namespace bento::fti {

/// Whose rules containerid, dptr and hascontent follow.
enum class Rules {
  kFti,  ///< section 2: a variable fills its containers in order
  /// Ours: live containers in any order, dead ones and fillers between. A hash of zeros was not
  /// computed (a session with checksum=none), whatever the others are.
  kStream,
};

struct VerifyOptions {
  Rules rules = Rules::kFti;
  bool data = true;  ///< read chunks and compare hashes; else only the structure is verified
  ReadLimits limits;
};

struct Verdict {
  std::optional<Layout> layout;  ///< nothing if no byte speaks for FTI-FF
  HashKind hash_kind = HashKind::kMd5;
  Checkpoint checkpoint;  ///< as far as it could be read
  bool my_hash_ok = false;
  /// @name Which rules FB.checksum fits (false also if not computed because `data` is off)
  /// In the 1.1 layout there is one rule, and both are equal.
  /// @{
  bool checksum_writer_rule_ok = false;  ///< 1.6: MD5 over the stored hashes of all containers
  bool checksum_reader_rule_ok = false;  ///< 1.6: MD5 over the hashes of the chunks with content
  /// @}
  std::vector<bool> chunk_ok;  ///< stored hash is that of the chunk; all containers in file order
  std::uint64_t unhashed = 0;  ///< kStream: containers with content that have no hash
  Findings findings;

  /// Nothing contradicts anything. That includes 1.6 files that fit only the writer's rule.
  [[nodiscard]] bool sound() const { return layout.has_value() && findings.empty(); }
  /// Do all hash checks of the FTI release of this layout pass? FTI 1.6 rejects some sound files of
  /// its own (docs/formats/fti-ff.md, section 1); no release knows XXH3. Needs `data`. A program
  /// must still protect the very ids of the file, and FTI takes fillers and a closed gate for one
  /// more variable.
  [[nodiscard]] bool fti_accepts() const {
    return sound() && hash_kind == HashKind::kMd5 && checksum_reader_rule_ok && unhashed == 0;
  }
};

/// Errors: kIo and other errors of `source`; kUnsupported (more containers than the limit).
Result<Verdict> verify(Source& source, const VerifyOptions& options = {});

}  // namespace bento::fti
