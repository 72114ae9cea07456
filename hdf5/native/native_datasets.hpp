// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How each dataset lies in an assembled file: contiguous, or in the chunks that its program asked
/// for. Its raw data gets addresses and is not written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/io/assembly_journal.hpp"
#include "hdf5/native/source_use.hpp"
#include "hdf5/native/virtual_place.hpp"
#include "hdf5/view/adopted_storage.hpp"
#include "hdf5/view/diverted_dataset.hpp"
#include "hdf5/view/tree_copy.hpp"

namespace bento::vol {

/// A run of bytes of the assembled file that a dataset fills.
struct DataExtent {
  enum class Content : std::uint8_t {
    kElements,  ///< the elements of `chunk`, or of all of a contiguous dataset, in row-major order
    kStored,    ///< the stored bytes of the record that is `chunk`
    kWritten,   ///< in the store already
  };
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t chunk = 0;    ///< number in the dataset's grid, row-major
  std::uint32_t dataset = 0;  ///< place in NativeDatasets::datasets()
  Content content = Content::kElements;
};

/// A dataset whose bytes are found when they are read.
struct LaidOutDataset {
  std::shared_ptr<const DivertedDataset> about;
  Dims chunk;  ///< of rank 0 for a contiguous one (and for a scalar)
  [[nodiscard]] bool chunked() const { return chunk.rank() > 0; }
  /// The elements of an extent; of a chunk at the edge some may lie beyond the dataset.
  [[nodiscard]] Box box_of(const DataExtent& extent) const;
};

/// What a file that is written out needs besides.
struct WrittenOut {
  SourceUse* use = nullptr;  ///< is told which record becomes what
  /// What was written before, and what is; null: nothing is remembered.
  AssemblyJournal* journal = nullptr;
  /// What the journal says does not fit what is found.
  bool contradicted = false;
};

class NativeDatasets {
 public:
  /// `times`: of the datasets. `out`: a chunk that no single record covers is filtered now and
  /// written to the place's file. Null: it lies there unfiltered, and its filter mask says so.
  NativeDatasets(std::span<const DatasetDeclaration> declared, RecordSource& records,
                 VirtualPlace& place, ViewFile& view, hid_t file, ObjectTimes times,
                 WrittenOut* out)
      : diverted_(declared),
        records_(records),
        place_(place),
        view_(view),
        file_(file),
        times_(times),
        out_(out) {}

  /// TreeCopy::MakeDataset.
  Result<MadeDataset> make(hid_t from, const H5O_token_t& token, hid_t type,
                           const std::string& path);

  [[nodiscard]] std::vector<LaidOutDataset>& datasets() { return datasets_; }
  /// By ascending address.
  [[nodiscard]] std::vector<DataExtent>& extents() { return extents_; }

 private:
  using Given = std::shared_ptr<const DivertedDataset>;
  Result<MadeDataset> make_variable(const Given& given, const RecordLookup& seen);
  Result<DatasetHandle> make_contiguous(const Given& given, const RecordLookup& seen);
  Result<MadeDataset> make_chunked(const Given& given, const RecordLookup& seen);
  Status add_chunks(hid_t dataset, const Given& given, const RecordLookup& seen);
  Result<MadeDataset> make_compact(const Given& given);
  Status add_chunk(ChunkAdopter& adopter, DataExtent extent, std::uint32_t record_mask);
  Status filter_chunk(DataExtent& extent, std::uint32_t& mask, std::vector<std::byte>& filtered);
  Status note_chunk(const DataExtent& extent, std::uint32_t mask);
  Status contradiction();
  void note_use(const LaidOutDataset& dataset, const RecordLookup& seen, std::size_t first_extent);

  DivertedDatasets diverted_;
  RecordSource& records_;
  VirtualPlace& place_;
  ViewFile& view_;
  hid_t file_;
  ObjectTimes times_;
  WrittenOut* out_;
  std::uint64_t variable_bytes_ = 0;  ///< of such elements so far
  std::size_t chunks_known_ = 0;      ///< of those that the journal names, in its order
  DecodedCache decoded_;
  std::vector<LaidOutDataset> datasets_;
  std::vector<DataExtent> extents_;
};

}  // namespace bento::vol
