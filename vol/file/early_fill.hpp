// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// In which calls of a parallel program the native library writes fill values into storage that it
/// allocates at once. It lets no rank leave such a call before all have come to it, so a program
/// that works natively may rely on that.
/// Source: H5D__virtual_init(), H5D__alloc_storage(), H5D__contig_fill(), H5D__chunk_allocate() and
/// H5D__chunk_collective_fill() of HDF5 1.14.
#pragma once

#include <hdf5.h>

#include "core/geometry/box.hpp"
#include "vol/file/creation_facts.hpp"

namespace bento::vol {

class EarlyFill {
 public:
  /// Of a dataset with this creation list. `early`: natively its storage is allocated early,
  /// because the program has asked for it, or because ranks have created it (kAllocatedByRanks).
  EarlyFill(const CreationFacts& list, bool early);

  /// When a dataset of this extent is created by several ranks? That of a virtual dataset
  /// duplicates a communicator, for which all have to come, too.
  [[nodiscard]] bool at_creation(const Dims& extent) const;
  /// Is there an extent for which it says so?
  [[nodiscard]] bool ever_at_creation() const { return virtual_ || fills_; }
  /// When its extent changes?
  [[nodiscard]] bool at_change(const Dims& before, const Dims& after) const;

 private:
  bool fills_ = false;
  bool virtual_ = false;
  bool chunked_ = false;
  Dims chunk_;  ///< if chunked
};

}  // namespace bento::vol
