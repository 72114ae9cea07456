// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A dataset of the skeleton whose elements are records, as whoever makes an ordinary HDF5 file of
/// a container needs it: what it is, and its elements. Shared by the native view and the assembler
/// of native files (hdf5/native).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/records/resolve.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/data/decoded_cache.hpp"
#include "hdf5/data/filter_scratch.hpp"
#include "hdf5/data/variable_elements.hpp"
#include "hdf5/view/tree_copy.hpp"

namespace bento::vol {

/// Where records are found and read. Task-local. Errors: kCorrupt, kIo.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  /// Which records show `selection`, and what nobody wrote.
  virtual Result<RecordLookup> find(DatasetNumber dataset, const Box& selection) = 0;
  /// Elements of `part` of a plain record, into the row-major buffer of `to_box`.
  virtual Status read(const Record& record, std::uint64_t element_bytes, const Box& part,
                      const Box& to_box, std::byte* to) = 0;
  virtual Result<std::vector<std::byte>> read_stored(const Record& record) = 0;
};

struct DivertedDataset {
  DatasetNumber number = 0;
  TypeHandle type;  ///< in the new file
  SpaceHandle space;
  PlistHandle dcpl;                        ///< that of the skeleton
  std::shared_ptr<FilterScratch> filters;  ///< null without filters
  Dims extent;
  bool extendible = false;
  std::uint64_t element_bytes = 0;
  std::vector<std::byte> fill;  ///< one element
  /// How elements of variable length are stored; null for those of fixed size, which alone
  /// read_elements() reads.
  std::unique_ptr<VariableElements> variable;
  std::string path;
};

/// Reads the elements of `box`, which may reach beyond the extent, into its row-major buffer; what
/// nobody wrote is the fill value. What is decoded goes to `cache`: many pieces
/// may show of one record. Errors: those
/// of the source, kCorrupt (records that contradict the dataset), kInvalidArgument (a filter is not
/// available).
Status read_elements(RecordSource& source, const DivertedDataset& dataset, const Box& box,
                     std::byte* to, DecodedCache& cache);
/// The same where `lookup` has answered for all of the box that lies within the extent.
Status read_found(RecordSource& source, const DivertedDataset& dataset, const RecordLookup& lookup,
                  const Box& box, std::byte* to, DecodedCache& cache);

/// The bytes of all records that `seen` shows: what a copy of variable-length elements holds.
std::uint64_t stored_bytes(const RecordLookup& seen);

/// Makes the copy, anonymous in `to`, of a dataset of variable-length elements. What was written is
/// copied record by record when it is linked; `source` must live until then.
Result<MadeDataset> make_variable_copy(RecordSource& source,
                                       std::shared_ptr<const DivertedDataset> dataset, hid_t to);

/// The diverted datasets of a skeleton, by object token.
class DivertedDatasets {
 public:
  explicit DivertedDatasets(std::span<const DatasetDeclaration> declared);

  /// Null if the dataset's data is in the skeleton.
  [[nodiscard]] const DatasetDeclaration* find(const H5O_token_t& token) const;

 private:
  std::map<std::string, DatasetDeclaration> declared_;
};

/// Describes the open dataset `from`, whose type in the new file is `type`. Errors: kInternal,
/// kCorrupt (the declaration, if there is one, says something else).
Result<std::shared_ptr<DivertedDataset>> describe_diverted(hid_t from, DatasetNumber number,
                                                           hid_t type, const std::string& path,
                                                           const DatasetDeclaration* declared);

/// Makes the copy, anonymous in `to`, of a dataset whose data is in the skeleton.
Result<MadeDataset> make_undiverted(hid_t from, hid_t to, hid_t type,
                                    ObjectTimes times = ObjectTimes::kAsWanted);

}  // namespace bento::vol
