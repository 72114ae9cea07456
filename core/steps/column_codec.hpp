// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// One column of numbers: runs of equal differences, so that what grows regularly costs a few bytes
/// for all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"

namespace bento {

/// Appends (zigzag difference, length of run) pairs of varints; the first difference is from 0.
void put_column(ByteWriter& out, std::span<const std::uint64_t> values);
/// Reads `count` values; the caller has checked that so many may be allocated. Errors: kCorrupt (a
/// run that is empty or longer than the column).
Result<std::vector<std::uint64_t>> get_column(ByteReader& in, std::size_t count);

}  // namespace bento
