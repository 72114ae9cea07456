// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How full all streams are, as rank 0 tells it at an open for writing: equal neighbours once, and
/// each rank keeps what it may come to write or mark. So neither message nor memory of a rank grows
/// with the number of ranks where these did the same.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/communicator.hpp"
#include "core/layout/chunk_fill.hpp"
#include "core/layout/plan.hpp"

namespace bento {

Bytes encode_fill_runs(std::span<const ChunkFill> fills);

/// The writers that are or were those of a rank which `rank` stands for: itself, and of ranks
/// beyond the `ranks` of this session every one that leaves the same remainder. Ascending.
std::vector<std::uint32_t> own_writers(const ContainerPlan& plan, std::uint32_t rank,
                                       std::uint32_t ranks);

/// What was encoded, of own_writers() alone. Errors: kCorrupt.
Result<std::map<std::uint32_t, ChunkFill>> decode_own_fills(std::span<const std::byte> bytes,
                                                            const ContainerPlan& plan,
                                                            std::uint32_t rank,
                                                            std::uint32_t ranks);

/// Groups of physical files that the root does not have yet.
void put_groups(ByteWriter& out, std::span<const FileGroup> groups);
/// Errors: kCorrupt.
Result<std::vector<FileGroup>> get_groups(ByteReader& in);

}  // namespace bento
