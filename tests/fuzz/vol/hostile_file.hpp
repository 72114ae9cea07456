// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Hostile containers: a sample that a script of edits has changed, with every checksum up to the
/// root made to agree, so that the change reaches the code behind them. A script is any bytes.
#pragma once

#include "tests/fuzz/target.hpp"
#include "tests/fuzz/vol/sample.hpp"

namespace bento::fuzz {

struct HostileFile {
  std::vector<Bytes> files;
  std::uint64_t grow_to = 0;  ///< file 0 gets this apparent size, with a hole; 0: it stays
};

/// Which parts an edit may touch. What lies in the skeleton and in the view is read by the HDF5
/// library itself.
enum class Edits { kOurs, kSkeleton };

/// Takes the rest of `dice` as edits.
HostileFile make_hostile(const Sample& sample, Dice dice, Edits edits);

}  // namespace bento::fuzz
