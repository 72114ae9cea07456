// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Declarations, deletions, extents and records as bytes that ranks send each other. Nothing here
/// is stored.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/records/record.hpp"

namespace bento {

/// Regular runs of records cost little (delta and varint coding, columns); an irregular one at most
/// a few tens of bytes plus its hash. Errors of the reverse: kCorrupt (counts, a box beyond 64
/// bits: names the byte).
std::vector<std::byte> encode_entries(const Segment& segment);
Result<Segment> decode_entries(std::span<const std::byte> bytes);

}  // namespace bento
