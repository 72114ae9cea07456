// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Numbers of the SION container format, and the limits this code puts on what it believes.
/// Source: docs/formats/sion.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bento {

inline constexpr std::array<char, 4> kSionMagic{'s', 'i', 'o', 'n'};

// What SIONlib 1.7.6 writes about itself.
inline constexpr std::int32_t kSionLibraryVersion = 1007;
inline constexpr std::int32_t kSionPatchLevel = 6;
inline constexpr std::uint32_t kSionFormatVersion = 5;
inline constexpr std::uint32_t kSionOldestVersion = 2;  ///< older ones are refused by SIONlib, too

// META1: fixed fields, then 16 bytes a task, then 12 bytes that exist only after close.
inline constexpr std::uint64_t kSionPrefixBytes = 1024;
inline constexpr std::uint64_t kSionFixedBytes = 1076;
inline constexpr std::uint64_t kSionFixedBytesV2 = 1056;  ///< without filenumber and flags
inline constexpr std::uint64_t kSionTaskBytes = 16;
inline constexpr std::uint64_t kSionTailBytes = 12;
/// What the start of data is computed from, in every version: META1 of format 5 with no task.
inline constexpr std::uint64_t kSionBaseBytes = kSionFixedBytes + kSionTailBytes;

// Up to this version a reader rounds the stored chunk sizes itself, and flag1 says nothing.
inline constexpr std::uint32_t kSionLastUnroundedVersion = 3;
inline constexpr std::uint32_t kSionFirstKeyvalVersion = 5;
inline constexpr std::uint32_t kSionFirstFilenumberVersion = 3;

// Limits. All are far above what is in use; they bound memory for files that lie.
inline constexpr std::uint64_t kMaxSionTasks = 1u << 25;  ///< 2^24 writers and a task for each file
inline constexpr std::uint64_t kMaxSionFiles = 1u << 24;
inline constexpr std::uint64_t kMaxSionSizeEntries =
    1u << 28;                                               ///< tasks * blocks of one physical file
inline constexpr std::uint64_t kMaxSionOffset = INT64_MAX;  ///< addresses are signed on disk
inline constexpr std::size_t kMaxSionOpenFiles = 64;  ///< descriptors a reader or writer holds

/// Key-value mode, the upper half of flag1. Persistent: never renumber.
enum class KeyvalMode : std::uint32_t {
  kNone = 50,
  kInline = 51,
  kMeta = 52,  ///< a number only: no SIONlib writes it
  kHash = 53,  ///< likewise
  kUnknown = 54,
};

}  // namespace bento
