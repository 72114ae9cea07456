// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Small plain datasets, of which a file may have very many, come into the native view with their
/// object headers. Where the header means the same in any file and the group has a symbol table, it
/// is copied as bytes, and the group's links follow when the library has closed the file
/// (symbol_table.hpp). Else one call of the library copies the dataset. All others are made anew
/// (dataset_view.hpp). Measured in docs/benchmarks.md, "Many small datasets".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/container/native_view.hpp"
#include "hdf5/skeleton/contiguous_header.hpp"
#include "hdf5/skeleton/skeleton_copy.hpp"
#include "hdf5/view/copied_texts.hpp"
#include "hdf5/view/diverted_dataset.hpp"
#include "hdf5/view/symbol_table.hpp"
#include "hdf5/view/tree_copy.hpp"
#include "hdf5/view/view_file.hpp"

namespace bento::vol {

class WholeCopies {
 public:
  /// All must outlive it; the skeleton has room for kSmallDatasetBytes.
  WholeCopies(ViewJob& job, SkeletonWithData& skeleton, const DivertedDatasets& diverted,
              ViewFile& view)
      : job_(job),
        skeleton_(skeleton),
        diverted_(diverted),
        view_(view),
        texts_(skeleton.bytes(), view) {}

  /// TreeCopy::CopyWhole. Nothing is made of damaged data. Errors: kIo, of the records; those of
  /// the view.
  Result<TreeCopy::WholeCopy> copy(const TreeCopy::HardLink& from, const TreeCopy::Destination& to,
                                   hid_t lcpl);
  /// Makes the links that are still missing in the view, which the library has closed. Errors: as
  /// add_to_symbol_table().
  Status link_all();

 private:
  /// All elements; false if that is not what this is for.
  Result<bool> read_elements(const DatasetDeclaration& declared, const Dims& extent);
  /// Puts header and elements into the view. The header's address, from the base of the file;
  /// nothing for one that cannot be copied so.
  Result<std::optional<std::uint64_t>> put(const ContiguousHeader& header);

  ViewJob& job_;
  SkeletonWithData& skeleton_;
  const DivertedDatasets& diverted_;
  ViewFile& view_;
  CopiedTexts texts_;
  std::vector<std::byte> elements_;
  ByteWriter object_;
  std::map<std::uint64_t, std::vector<TableLink>> links_;  ///< by the address of the group's header
};

}  // namespace bento::vol
