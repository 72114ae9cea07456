// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/native/record_decoder.hpp"

#include <fmt/format.h>

#include "hdf5/base/library_state.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "hdf5/base/tokens.hpp"
#include "hdf5/data/filtered_record.hpp"
#include "hdf5/skeleton/skeleton_copy.hpp"

namespace bento::vol {

Result<std::shared_ptr<RecordDecoder>> RecordDecoder::make(Container& container) {
  const QuietErrors quiet;
  auto made = std::make_shared<RecordDecoder>();
  BENTO_ASSIGN(made->skeleton_, open_skeleton_copy(container.path(), container.skeleton()));
  for (const auto& declared : container.datasets()) {
    const ObjectHandle object(H5Oopen_by_token(made->skeleton_.get(), token_of(declared.token)));
    if (!object.valid() || H5Iget_type(object.get()) != H5I_DATASET) continue;
    const TypeHandle type(H5Dget_type(object.get()));
    BENTO_ASSIGN(made->datasets_[declared.number],
                 describe_diverted(object.get(), declared.number, type.get(),
                                   fmt::format("dataset {}", declared.number), &declared));
  }
  return made;
}

Result<std::vector<std::byte>> RecordDecoder::decode(const Record& record,
                                                     const std::vector<std::byte>& stored) {
  const LibraryState state;
  const QuietErrors quiet;
  const auto dataset = datasets_.find(record.dataset);
  if (record.encoding != Encoding::kFiltered)
    return fail(Code::kUnsupported, "a record of variable-length elements, which have no size");
  if (dataset == datasets_.end() || !dataset->second->filters)
    return fail(Code::kCorrupt, "a filtered record of a dataset without filters");
  FilterScratch& filters = *dataset->second->filters;
  BENTO_TRY(check_filtered(record, filters.chunk()));
  std::vector<std::byte> elements(
      static_cast<std::size_t>(record.box.elements() * dataset->second->element_bytes));
  BENTO_TRY(filters.unfilter(record.box.count, stored, record.filter_mask, elements.data()));
  return elements;
}

}  // namespace bento::vol
