// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The mapping table of a container with several physical files: which file and local task a global
/// task is. It lies behind the size rows of file 0. Source: docs/formats/sion.md, section 7.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/io/file.hpp"

namespace bento {

/// A task, by physical file and number within it.
struct SionPlace {
  std::uint32_t file = 0;
  std::uint32_t task = 0;
  bool operator==(const SionPlace&) const = default;
};

/// Entry g belongs to global task g.
using SionMapping = std::vector<SionPlace>;

/// Count and entries. An empty mapping is what SIONlib's serial writer puts there: four zero bytes.
/// Errors: kInvalidArgument (more entries than kMaxSionTasks, numbers beyond 31 bits).
Result<std::vector<std::byte>> encode_mapping(const SionMapping& mapping, std::endian order);

/// Decodes from bytes that begin with the count; more may follow.
/// Errors: kCorrupt (count below 0, above the limit, or more than the bytes hold; negative
/// numbers).
Result<SionMapping> decode_mapping(std::span<const std::byte> bytes, std::endian order);

/// The same at `address` of a file. Errors also: kIo.
Result<SionMapping> read_mapping(File& file, std::uint64_t address, std::endian order);

/// Does the mapping name each task of each file exactly once? `tasks` has one count per physical
/// file. Errors: kCorrupt (names the entry, or both totals).
Status check_mapping(const SionMapping& mapping, std::span<const std::uint64_t> tasks);

}  // namespace bento
