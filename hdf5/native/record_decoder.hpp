// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Takes the filters off the records of a container, for exports that know no filters.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core/base/error.hpp"
#include "core/container/container.hpp"
#include "hdf5/view/diverted_dataset.hpp"

namespace bento::vol {

class RecordDecoder {
 public:
  /// Of the datasets of the step that `container` shows. Errors: kCorrupt, kInternal.
  static Result<std::shared_ptr<RecordDecoder>> make(Container& container);

  /// The elements of a filtered record, in row-major order of its box. Errors: kCorrupt,
  /// kInvalidArgument (a filter is not available).
  Result<std::vector<std::byte>> decode(const Record& record, const std::vector<std::byte>& stored);

 private:
  FileHandle skeleton_;
  std::map<DatasetNumber, std::shared_ptr<DivertedDataset>> datasets_;
};

}  // namespace bento::vol
