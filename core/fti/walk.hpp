// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The walk over block heads and container records. Internal to core/fti: use reader.hpp.
#pragma once

#include <cstdint>

#include "core/base/error.hpp"
#include "core/fti/finding.hpp"
#include "core/fti/model.hpp"
#include "core/fti/reader.hpp"
#include "core/fti/source.hpp"

namespace bento::fti {

/// Fills `checkpoint.blocks` of a source of `size` bytes, whose file meta has been read already,
/// and checks that meta too. Errors as read_damaged().
Status walk(Source& source, std::uint64_t size, const ReadLimits& limits, Checkpoint& checkpoint,
            Findings& findings);

/// Offset of a field of the file meta within the file, for findings.
struct MetaFields {
  std::uint64_t begin = 0, my_hash = 0, ckpt_size = 0, fs = 0;
};
MetaFields meta_fields(Layout layout, std::uint64_t size);

/// Offsets of fields within a container record.
struct RecordFields {
  std::uint64_t containerid = 0, hascontent = 0, dptr = 0, fptr = 0, chunksize = 0,
                containersize = 0, hash = 0;
};
constexpr RecordFields record_fields(Layout layout) {
  return layout == Layout::kV11 ? RecordFields{8, 12, 16, 24, 32, 40, 48}
                                : RecordFields{4, 8, 10, 18, 26, 34, 42};
}

}  // namespace bento::fti
