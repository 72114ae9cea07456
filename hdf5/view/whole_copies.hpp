// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Small plain datasets, of which a file may have very many, come into the native view with their
/// object headers, by one call of the library each. All others are made anew (dataset_view.hpp).
/// Measured in docs/benchmarks.md, "Many small datasets".
#pragma once

#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/container/native_view.hpp"
#include "hdf5/skeleton/skeleton_copy.hpp"
#include "hdf5/view/diverted_dataset.hpp"

namespace bento::vol {

class WholeCopies {
 public:
  /// All must outlive it; the skeleton has room for kSmallDatasetBytes.
  WholeCopies(ViewJob& job, SkeletonWithData& skeleton, const DivertedDatasets& diverted)
      : job_(job), skeleton_(skeleton), diverted_(diverted) {}

  /// TreeCopy::CopyWhole. False also for damaged data. Errors: kIo, of the
  /// records.
  Result<bool> copy(hid_t from, const char* name, hid_t to, hid_t lcpl, const H5O_token_t& token);

 private:
  /// All elements; false if that is not what this is for.
  Result<bool> read_elements(const DatasetDeclaration& declared, const Dims& extent);

  ViewJob& job_;
  SkeletonWithData& skeleton_;
  const DivertedDatasets& diverted_;
  std::vector<std::byte> elements_;
};

}  // namespace bento::vol
