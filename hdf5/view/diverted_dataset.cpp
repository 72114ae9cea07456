// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/view/diverted_dataset.hpp"

#include <array>

#include <fmt/format.h>

#include "hdf5/base/create_unnamed.hpp"
#include "hdf5/base/tokens.hpp"
#include "hdf5/data/filtered_record.hpp"
#include "hdf5/data/selection.hpp"

namespace bento::vol {

namespace {

std::string bytes_of(const H5O_token_t& token) {
  return {reinterpret_cast<const char*>(&token), sizeof token};
}

Status read_fill_value(DivertedDataset& dataset, hid_t type) {
  dataset.fill.resize(static_cast<std::size_t>(dataset.element_bytes));
  if (dataset.element_bytes == 0)
    return fail(Code::kInternal, "native view: the dataset's type is unreadable");
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  if (H5Pfill_value_defined(dataset.dcpl.get(), &defined) < 0 ||
      (defined != H5D_FILL_VALUE_UNDEFINED &&
       H5Pget_fill_value(dataset.dcpl.get(), type, dataset.fill.data()) < 0))
    return fail(Code::kInternal, "native view: the fill value is unreadable");
  return {};
}

Status read_filtered(RecordSource& source, const DivertedDataset& dataset, const Record& record,
                     const Box& part, const Box& box, std::byte* to, DecodedCache& cache) {
  if (!dataset.filters)
    return fail(Code::kCorrupt, "native view: a filtered record of a dataset without filters");
  const auto element_bytes = static_cast<std::size_t>(dataset.element_bytes);
  const std::vector<std::byte>* known = cache.find(record);
  if (known == nullptr) {
    BENTO_TRY(check_filtered(record, dataset.filters->chunk()));
    BENTO_ASSIGN(const auto stored, source.read_stored(record));
    std::vector<std::byte> plain(static_cast<std::size_t>(record.box.elements()) * element_bytes);
    BENTO_TRY(
        dataset.filters->unfilter(record.box.count, stored, record.filter_mask, plain.data()));
    known = &cache.put(record, std::move(plain));
  }
  copy_box(part, record.box, known->data(), box, to, element_bytes);
  return {};
}

}  // namespace

Status read_elements(RecordSource& source, const DivertedDataset& dataset, const Box& box,
                     std::byte* to, DecodedCache& cache) {
  const Box inside = intersect(box, Box::whole(dataset.extent));
  if (!(inside == box)) fill_box(box, box, to, dataset.fill);
  if (inside.empty()) return {};
  BENTO_ASSIGN(const RecordLookup lookup, source.find(dataset.number, inside));
  return read_found(source, dataset, lookup, box, to, cache);
}

Status read_found(RecordSource& source, const DivertedDataset& dataset, const RecordLookup& lookup,
                  const Box& box, std::byte* to, DecodedCache& cache) {
  for (const Box& hole : lookup.uncovered) fill_box(hole, box, to, dataset.fill);
  for (const Piece& piece : lookup.pieces) {
    const Record& record = lookup.records[piece.record];
    if (record.encoding == Encoding::kVariable)
      return fail(Code::kUnsupported, "elements of variable length are not read like others");
    if (record.encoding == Encoding::kPlain)
      BENTO_TRY(source.read(record, dataset.element_bytes, piece.part, box, to));
    else
      BENTO_TRY(read_filtered(source, dataset, record, piece.part, box, to, cache));
  }
  return {};
}

DivertedDatasets::DivertedDatasets(std::span<const DatasetDeclaration> declared) {
  // A later dataset may have the object address of a deleted one: the larger number holds.
  for (const auto& dataset : declared) {
    declared_[bytes_of(token_of(dataset.token))] = dataset;
  }
}

const DatasetDeclaration* DivertedDatasets::find(const H5O_token_t& token) const {
  const auto found = declared_.find(bytes_of(token));
  return found == declared_.end() ? nullptr : &found->second;
}

Result<std::shared_ptr<DivertedDataset>> describe_diverted(hid_t from, DatasetNumber number,
                                                           hid_t type, const std::string& path,
                                                           const DatasetDeclaration* declared) {
  auto dataset = std::make_shared<DivertedDataset>();
  dataset->space = SpaceHandle(H5Dget_space(from));
  dataset->dcpl = PlistHandle(H5Dget_create_plist(from));
  if (!dataset->space.valid() || !dataset->dcpl.valid())
    return fail(Code::kInternal, "native view: the dataset is unreadable");
  dataset->number = number;
  dataset->path = path;
  BENTO_ASSIGN(dataset->extent, extent_of(dataset->space.get()));
  std::array<hsize_t, kMaxRank> limit{};
  if (dataset->extent.rank() > 0 &&
      H5Sget_simple_extent_dims(dataset->space.get(), nullptr, limit.data()) < 0)
    return fail(Code::kInternal, "native view: the extent is unreadable");
  for (unsigned d = 0; d < dataset->extent.rank(); ++d)
    dataset->extendible = dataset->extendible || limit[d] != dataset->extent[d];
  dataset->element_bytes = H5Tget_size(type);
  if (declared != nullptr && (declared->rank != dataset->extent.rank() ||
                              declared->element_bytes != dataset->element_bytes))
    return fail(Code::kCorrupt,
                fmt::format("native view: the index and the skeleton disagree on the elements or "
                            "dimensions of '{}'",
                            path));
  if (declared != nullptr && (declared->flags & kVariableElements) != 0) {
    BENTO_ASSIGN(auto variable, VariableElements::of(type));
    dataset->variable = std::make_unique<VariableElements>(std::move(variable));
  } else {
    BENTO_TRY(read_fill_value(*dataset, type));
  }
  const int filters = H5Pget_nfilters(dataset->dcpl.get());
  if (filters > 0 && !dataset->variable) {
    BENTO_ASSIGN(dataset->filters, FilterScratch::make(dataset->dcpl.get(), type));
  }
  if (filters < 0 || H5Iinc_ref(type) < 0)
    return fail(Code::kInternal, "native view: the dataset's properties are unreadable");
  dataset->type = TypeHandle(type);
  return dataset;
}

namespace {

/// To tell the dataspace of a virtual dataset the library opens its sources, which may be open for
/// writing. Its mappings have the extent, too.
SpaceHandle space_of(hid_t dataset, hid_t dcpl) {
  std::size_t mappings = 0;
  if (H5Pget_layout(dcpl) == H5D_VIRTUAL && H5Pget_virtual_count(dcpl, &mappings) >= 0 &&
      mappings > 0)
    return SpaceHandle(H5Pget_virtual_vspace(dcpl, 0));
  return SpaceHandle(H5Dget_space(dataset));
}

}  // namespace

Result<MadeDataset> make_undiverted(hid_t from, hid_t to, hid_t type, ObjectTimes times) {
  const PlistHandle dcpl(H5Dget_create_plist(from));
  const SpaceHandle space = space_of(from, dcpl.get());
  if (!space.valid() || !dcpl.valid())
    return fail(Code::kInternal, "native view: the dataset is unreadable");
  if (times == ObjectTimes::kNone) H5Pset_obj_track_times(dcpl.get(), false);
  MadeDataset made;
  made.dataset = create_unnamed(to, type, space.get(), dcpl.get());
  if (!made.dataset.valid()) return fail(Code::kInternal, "native view: the dataset is refused");
  const H5D_layout_t layout = H5Pget_layout(dcpl.get());
  const int external = H5Pget_external_count(dcpl.get());
  if (layout == H5D_LAYOUT_ERROR || external < 0)
    return fail(Code::kInternal, "native view: the dataset's creation list is unreadable");
  made.data_needed = layout != H5D_VIRTUAL && external == 0;
  return made;
}

}  // namespace bento::vol
