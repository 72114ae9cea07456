// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/virtual_dataset.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "hdf5/data/selection.hpp"
#include "vol/file/native_dataset.hpp"

namespace bento::vol {

namespace {

using For = VirtualSources::For;

// Never destroyed, like all that callbacks may need at the end.
std::vector<ObjectIdentity>& descent() {
  static auto* const instance = new std::vector<ObjectIdentity>;
  return *instance;
}

/// How many sources of a series there are. HDF5 stops looking where more than `gap` are missing.
Result<std::uint64_t> blocks_found(VirtualDataset& dataset, const VirtualMapping& mapping) {
  std::uint64_t found = 0;
  for (std::uint64_t j = 0; j <= found + dataset.layout.gap; ++j) {
    BENTO_ASSIGN(Object* const source,
                 dataset.sources.open(mapping.file.at(j), mapping.dataset.at(j), For::kReading));
    if (source != nullptr) found = j + 1;
  }
  return found;
}

/// How far a mapping without an end reaches in its dimension.
Result<std::uint64_t> reach_of(VirtualDataset& dataset, std::size_t number) {
  const VirtualMapping& mapping = dataset.layout.mappings[number];
  const bool to_missing = dataset.layout.view == H5D_VDS_FIRST_MISSING;
  if (mapping.is_series()) {
    BENTO_ASSIGN(const std::uint64_t blocks, blocks_found(dataset, mapping));
    dataset.known_blocks[number] = blocks;
    if (blocks == 0) return std::uint64_t{0};
    return to_missing ? mapping.unlimited->block_begin(blocks)
                      : mapping.unlimited->block_end(blocks - 1);
  }
  BENTO_ASSIGN(Object* const source,
               dataset.sources.open(mapping.file.at(0), mapping.dataset.at(0), For::kReading));
  if (source == nullptr) return std::uint64_t{0};
  BENTO_ASSIGN(const SpaceHandle space, space_seen(source));
  BENTO_ASSIGN(const Dims extent, extent_of(space.get()));
  const unsigned d = mapping.unlimited_source->dimension();
  if (mapping.unlimited_source->rank() != extent.rank())
    return fail(Code::kInvalidArgument, "the source of a virtual mapping has another rank");
  return mapping.unlimited->extent_of(mapping.unlimited_source->slices_in(extent[d]), to_missing);
}

Result<Dims> extent_now(VirtualDataset& dataset) {
  const VirtualLayout& layout = dataset.layout;
  std::array<std::optional<std::uint64_t>, kMaxRank> reach;
  for (std::size_t i = 0; i < layout.mappings.size(); ++i) {
    if (!layout.mappings[i].unlimited) continue;
    BENTO_ASSIGN(const std::uint64_t end, reach_of(dataset, i));
    auto& there = reach[layout.mappings[i].unlimited->dimension()];
    if (!there)
      there = end;
    else
      there = layout.view == H5D_VDS_FIRST_MISSING ? std::min(*there, end) : std::max(*there, end);
  }
  Dims extent = dataset.extent;
  for (unsigned d = 0; d < extent.rank(); ++d)
    if (reach[d]) extent[d] = std::max(*reach[d], layout.least[d]);
  return extent;
}

}  // namespace

Result<VirtualDataset*> virtual_dataset(const Object* object, DatasetState& state) {
  if (!state.mapped) {
    BENTO_ASSIGN(const PlistHandle dcpl, native_dcpl(object));
    BENTO_ASSIGN(PlistHandle dapl, native_dapl(object));
    BENTO_ASSIGN(VirtualLayout layout, virtual_layout_of(object, dcpl.get(), dapl.get()));
    state.mapped = std::make_shared<VirtualDataset>(std::move(layout), object, std::move(dapl));
  }
  return state.mapped.get();
}

Result<VirtualDescent> VirtualDescent::into(const Object* dataset) {
  constexpr std::size_t kDeepest = 32;
  BENTO_ASSIGN(const ObjectIdentity identity, identity_of(dataset));
  for (const ObjectIdentity& above : descent())
    if (above.fileno == identity.fileno && above.token == identity.token)
      return fail(Code::kInvalidArgument,
                  "a virtual dataset is among its own sources, or among those of its sources");
  if (descent().size() >= kDeepest)
    return fail(Code::kInvalidArgument,
                "virtual datasets over virtual datasets, more than 32 deep");
  descent().push_back(identity);
  return VirtualDescent{};
}

VirtualDescent::~VirtualDescent() {
  if (holds_) descent().pop_back();
}

Result<SpaceHandle> virtual_space(Object* object, DatasetState& state) {
  BENTO_ASSIGN(VirtualDataset* const dataset, virtual_dataset(object, state));
  if (!dataset->layout.unlimited) return native_space(object);
  BENTO_ASSIGN(const VirtualDescent here, VirtualDescent::into(object));
  const VirtualSources::Use use(dataset->sources);
  BENTO_ASSIGN(dataset->extent, extent_now(*dataset));
  std::array<hsize_t, kMaxRank> now{};
  std::array<hsize_t, kMaxRank> most{};
  for (unsigned d = 0; d < dataset->extent.rank(); ++d) {
    now[d] = dataset->extent[d];
    most[d] = std::max(now[d], static_cast<hsize_t>(dataset->layout.most[d]));
  }
  SpaceHandle space(
      H5Screate_simple(static_cast<int>(dataset->extent.rank()), now.data(), most.data()));
  if (!space.valid()) return fail(Code::kInternal, "no dataspace for a virtual dataset");
  return space;
}

Result<SpaceHandle> space_seen(Object* object) {
  BENTO_ASSIGN(DatasetState* const state, resolve(object));
  return state->home == Home::kVirtual ? virtual_space(object, *state) : native_space(object);
}

}  // namespace bento::vol
