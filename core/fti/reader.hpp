// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Reads the structure of an FTI-FF file. Nothing in the file is believed before it was compared
/// with the size of the source; memory is bounded by the meta data that is really there and by a
/// limit. Chunk data and hashes of data are the business of verify.hpp and variables.hpp.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/error.hpp"
#include "core/fti/finding.hpp"
#include "core/fti/model.hpp"
#include "core/fti/source.hpp"

namespace bento::fti {

struct ReadLimits {
  /// Containers and blocks, each. One in memory takes about 120 bytes.
  std::uint64_t max_containers = std::uint64_t{1} << 24;
};

/// Layout by the rule at the end of section 2 of docs/formats/fti-ff.md: the sizes in the file meta
/// are the size of the file, and the hash of the meta is right. Errors: kCorrupt (neither layout;
/// says what came nearest), kIo.
Result<Layout> detect_layout(Source& source);

/// The layout that a damaged file most likely had; nothing if no byte speaks for either. Errors:
/// kIo.
Result<std::optional<Layout>> guess_layout(Source& source);

/// Reads file meta, block heads and container records, and checks everything that needs no chunk
/// data: sizes, the hash of the meta, the chain of blocks, and that containers follow each other
/// without gap or overlap. Errors: kCorrupt (offset and wanted value in the text), kUnsupported
/// (more containers than the limit), kIo.
Result<Checkpoint> read_checkpoint(Source& source, const ReadLimits& limits = {});

/// The same for one layout, but goes on behind damage where that is possible and appends it to
/// `findings`. Containers whose record could not be decoded are left out. Errors: kCorrupt (shorter
/// than a file meta record), kUnsupported, kIo.
Result<Checkpoint> read_damaged(Source& source, Layout layout, Findings& findings,
                                const ReadLimits& limits = {});

}  // namespace bento::fti
