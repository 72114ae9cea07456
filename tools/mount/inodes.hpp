// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The inodes of a mounted container: what an entry is, and the number of the step or stream that
/// it shows.
#pragma once

#include <cstdint>

#include "tools/mount/mounted_container.hpp"

namespace bento::tools {

/// In the four highest bits; the number is in the others.
enum class Kind : std::uint8_t {
  kRoot = 0,
  kSteps = 1,
  kStreams = 2,
  kText = 3,
  kStepFolder = 4,
  kStepFile = 5,
  kStream = 6,
};

inline constexpr unsigned kKindShift = 60;
inline constexpr Inode kNumberMask = (Inode{1} << kKindShift) - 1;

inline Inode inode_of(Kind kind, std::uint64_t number = 1) {
  return static_cast<Inode>(kind) << kKindShift | number;
}
inline Kind kind_of(Inode inode) {
  return static_cast<Kind>(inode >> kKindShift);
}
inline std::uint64_t number_of(Inode inode) {
  return inode & kNumberMask;
}

}  // namespace bento::tools
