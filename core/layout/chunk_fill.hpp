// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How full one task's chunks of SION are: used bytes, as META2's size rows say them, kept per
/// writer by the container. (HDF5's fill value is elsewhere: vol/data/box_data.cpp.) A chunk's used
/// size no longer changes once the task's next chunk is begun.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/layout/plan.hpp"

namespace bento {

/// Used bytes of each chunk of one task, block by block. At least one entry once the task has
/// begun.
using ChunkFill = std::vector<std::uint64_t>;

/// Length of the logical stream: all used bytes.
std::uint64_t stream_bytes(const ChunkFill& fill);
/// Offset in the logical stream of a position (which must lie in a used chunk).
std::uint64_t stream_offset(const ChunkFill& fill, std::uint64_t chunk_bytes, Position position);
/// Fill of a task whose chunks are filled without gaps up to `end`: the catalogue's.
ChunkFill dense_fill(Position end, std::uint64_t chunk_bytes);

/// What the table of all fills can take at most: each of `writers` has a chunk in each block, a
/// number of up to 10 bytes.
std::uint64_t most_fill_bytes(std::uint64_t writers, std::uint64_t blocks);
/// Encodes the fills of all writers, in writer order.
std::vector<std::byte> encode_fills(std::span<const ChunkFill> fills);
/// Errors: kCorrupt (counts, a size above `chunk_bytes`).
Result<std::vector<ChunkFill>> decode_fills(std::span<const std::byte> bytes, std::uint32_t writers,
                                            std::uint64_t chunk_bytes);

}  // namespace bento
