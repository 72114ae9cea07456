// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// One column of unrelated numbers: the smallest one, and what the others lie above it in as many
/// bits as the largest needs, without trailing zero bits that all of them have. For columns that
/// grow regularly see column_codec.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"

namespace bento {

/// varint base, u8 bits, u8 shift, then value i in bits [i * bits, (i + 1) * bits) of
/// little-endian bytes: (value - base) >> shift.
void put_packed(ByteWriter& out, std::span<const std::uint64_t> values);
/// `count` is the caller's and must be bounded by it: a column of equal values takes 3 bytes.
/// Errors: kCorrupt.
Result<std::vector<std::uint64_t>> get_packed(ByteReader& in, std::size_t count);
/// The same into `values`.
Status get_packed(ByteReader& in, std::span<std::uint64_t> values);

}  // namespace bento
