// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Questions about a container's steps and values, as calls of the library. None is collective, or
/// takes a lock: a file may be asked while it is written. Paths of datasets are absolute
/// ("/group/data"), and those of the newest step unless said otherwise. All of them may fail with
/// what opening a container for reading says; kBusy if a writer has dropped what is asked about
/// meanwhile; kNotFound for a path that leads to no dataset in this file; kInvalidArgument for a
/// dataset whose data stays in the embedded HDF5 image (variable-length, references), for which no
/// steps are counted.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/geometry/box.hpp"
#include "core/records/record.hpp"
#include "core/steps/step.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/data/value_range.hpp"

namespace bento::vol {

struct WrittenDataset {
  DatasetNumber number = 0;
  std::string path;  ///< one of its hard links in that step; empty if it had none
};

/// One kept step of a file.
struct FileStep {
  AbsoluteStep step;
  std::vector<WrittenDataset> datasets;  ///< written or resized in it, by number
};

/// The kept steps, ascending. A step may have no datasets: one that changed attributes or groups
/// only.
Result<std::vector<FileStep>> list_steps(const std::string& path);

/// Paths of the datasets of the newest step by their numbers: one of the hard links of each.
Result<std::map<DatasetNumber, std::string>> dataset_paths(const std::string& path);

/// Its extent in the newest step.
Result<Dims> dataset_extent(const std::string& path, const std::string& dataset);

/// A kept step of one dataset.
struct DatasetStep {
  RelativeStep relative;
  AbsoluteStep absolute;
};

/// The kept steps in which a dataset was written or resized, ascending.
Result<std::vector<DatasetStep>> dataset_steps(const std::string& path, const std::string& dataset);

/// A file open for reading as of some step, and a dataset in it.
struct OpenedDataset {
  AbsoluteStep step;
  FileHandle file;
  DatasetHandle dataset;  ///< declared last: closed first
};

/// Opens a dataset as it was at its relative step; the file stays at that step (step=). Other steps
/// of the file may be open at the same time. Errors: also kNotFound (not written so often, or
/// dropped: says which can be opened).
Result<OpenedDataset> open_dataset_step(const std::string& path, const std::string& dataset,
                                        RelativeStep step);

struct FoundRecords {
  /// Parts of `box` in which wanted values may be; disjoint. Whoever reads them finds every such
  /// value that was written, and others.
  std::vector<Box> boxes;
  /// Elements of `box` that were written, and those of them that lie in `boxes`.
  std::uint64_t written = 0;
  std::uint64_t kept = 0;
  /// Records in which no wanted value is, by what is known of them; such data need not be read.
  std::size_t skipped = 0;
};

/// Which parts of a box may hold values from `low` to `high` (both included)? Nothing is read but
/// the index. A record without a range (not written with minmax=on, NaN inside, a type without
/// order, filters that change values) is never skipped. Fill values of places that nobody wrote are
/// not looked at. Errors: also kInvalidArgument (a box that leaves the dataset's extent or has
/// another rank).
Result<FoundRecords> find_records(const std::string& path, const std::string& dataset,
                                  const Box& box, const Number& low, const Number& high);

}  // namespace bento::vol
