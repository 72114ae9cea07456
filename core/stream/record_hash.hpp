// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The hash of a committed record: it lies in the record's dbvar, in front of the data, and not in
/// the index. Source: docs/format.md, "Step index".
#pragma once

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/io/file.hpp"
#include "core/records/record.hpp"

namespace bento {

/// `address` is that of the record's data in `file`. Zeros: it has none. Errors: kCorrupt (what
/// lies there is not the dbvar of this record), kIo.
Result<Hash128> stored_hash(File& file, std::uint64_t address, const Record& record);

}  // namespace bento
