// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How each dataset appears in the native view: where it lies, as a mapping over pieces, as a copy,
/// or not at all. Source: docs/format.md, "Native view".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/container/native_view.hpp"
#include "core/container/piece_grid.hpp"
#include "hdf5/view/diverted_dataset.hpp"
#include "hdf5/view/source_files.hpp"
#include "hdf5/view/tree_copy.hpp"

namespace bento::vol {

struct ViewSettings {
  std::uint64_t max_mappings = 4096;  ///< per dataset, after merging
  std::uint64_t copy_bytes = 0;       ///< for datasets beyond that; 0: see copy_budget()
};

/// Datasets of up to so many bytes are copied into the view: less than their mappings would cost.
inline constexpr std::uint64_t kSmallDatasetBytes = 64u << 10;

class DatasetViews {
 public:
  DatasetViews(const ViewSettings& settings, ViewJob& job, SourceFiles& sources, hid_t main);

  /// TreeCopy::MakeDataset.
  Result<MadeDataset> make(hid_t from, const H5O_token_t& token, hid_t type,
                           const std::string& path);
  void note_left_out(const std::string& path, const std::string& why);
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] const DivertedDatasets& diverted() const { return diverted_; }

 private:
  /// What is committed, in the container that the view is built for.
  class Records final : public RecordSource {
   public:
    explicit Records(ViewJob& job) : job_(job) {}
    Result<RecordLookup> find(DatasetNumber dataset, const Box& selection) override;
    Status read(const Record& record, std::uint64_t element_bytes, const Box& part,
                const Box& to_box, std::byte* to) override;
    Result<std::vector<std::byte>> read_stored(const Record& record) override;

   private:
    ViewJob& job_;
  };

  /// All that shows of a dataset. Errors: kCorrupt, kIo.
  Result<RecordLookup> find_all(const DivertedDataset& subject);
  Result<MadeDataset> make_diverted(const std::shared_ptr<const DivertedDataset>& given);
  Result<MadeDataset> make_variable(const std::shared_ptr<const DivertedDataset>& given);
  Result<DatasetHandle> make_adopted(const DivertedDataset& subject, const ViewSource& source);
  Result<DatasetHandle> make_mapped(const DivertedDataset& subject, const ViewPieces& pieces);
  /// `missing` names a filter that the library has not; empty if it has all.
  Result<MadeDataset> made_in_place(const DivertedDataset& subject, Result<DatasetHandle> dataset,
                                    const std::string& missing);
  /// No dataset, and a note that says why.
  MadeDataset left_out(const std::string& path, const std::string& why);
  [[nodiscard]] bool is_worth_it(const ViewGrid& grid, const DivertedDataset& subject,
                                 bool filtered, std::size_t mappings) const;
  /// Nothing where the pieces make no grid that is worth it.
  Result<std::optional<MadeDataset>> make_grid(const std::shared_ptr<const DivertedDataset>& given,
                                               const ViewPieces& pieces);
  Result<MadeDataset> make_small_copy(const std::shared_ptr<const DivertedDataset>& given,
                                      const RecordLookup& seen);
  Result<MadeDataset> make_chunked_copy(const std::shared_ptr<const DivertedDataset>& given,
                                        RecordLookup seen);
  Status copy_elements(const DivertedDataset& subject, const RecordLookup* seen, hid_t dataset);

  ViewSettings settings_;
  ViewJob& job_;
  SourceFiles& sources_;
  hid_t main_;
  std::uint64_t budget_;
  std::uint64_t variable_budget_;
  DivertedDatasets diverted_;
  Records records_;
  DecodedCache decoded_;
  std::vector<std::string> notes_;
};

}  // namespace bento::vol
