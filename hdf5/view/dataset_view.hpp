// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How each dataset appears in the native view: where it lies, as a mapping over pieces, as a copy,
/// or not at all. Source: docs/format.md, "Native view".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/container/native_view.hpp"
#include "hdf5/data/filter_scratch.hpp"
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
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  /// One diverted dataset on its way into the view.
  struct Subject {
    DatasetNumber number = 0;
    TypeHandle type;  ///< in the new file
    SpaceHandle space;
    PlistHandle dcpl;
    std::shared_ptr<FilterScratch> filters;  ///< null without filters
    Dims extent;
    bool extendible = false;
    std::uint64_t element_bytes = 0;
    std::vector<std::byte> fill;
    std::string path;
  };

  Result<MadeDataset> make_diverted(const std::shared_ptr<const Subject>& given);
  Result<DatasetHandle> make_mapped(const Subject& subject, const ViewPieces& pieces);
  Result<MadeDataset> make_copy(const std::shared_ptr<const Subject>& given, bool as_created);
  Status copy_elements(const Subject& subject, hid_t dataset);
  Status read_box(const Subject& subject, const Box& box, std::byte* to);

  ViewSettings settings_;
  ViewJob& job_;
  SourceFiles& sources_;
  hid_t main_;
  std::map<std::string, DatasetNumber> numbers_;  ///< by object token
  std::uint64_t budget_;
  std::vector<std::string> notes_;
};

}  // namespace bento::vol
