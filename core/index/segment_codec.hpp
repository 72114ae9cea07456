// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Bytes of an index segment: a versioned envelope with a checksum around the encoded entries. The
/// inner encoding may change with the version; docs/format.md has the tables.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/index/record.hpp"

namespace bento {

inline constexpr std::uint32_t kSegmentVersion = 1;

/// Encodes a segment with its envelope (magic, version, length, checksum). Regular runs of records
/// cost little (delta and varint coding, columns); an irregular one at most a few tens of bytes
/// plus its hash.
std::vector<std::byte> encode_segment(const Segment& segment);

/// Errors: kCorrupt (magic, checksum, counts, a box beyond 64 bits: names the byte), kUnsupported
/// (version: says found and known).
Result<Segment> decode_segment(std::span<const std::byte> bytes);

/// The same encoding without an envelope, for what ranks send each other.
std::vector<std::byte> encode_entries(const Segment& segment);
Result<Segment> decode_entries(std::span<const std::byte> bytes);

}  // namespace bento
