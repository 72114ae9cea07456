// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/virtual_pieces.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "hdf5/data/plain_selection.hpp"
#include "hdf5/data/selection.hpp"
#include "hdf5/data/spaces.hpp"
#include "vol/data/irregular_source.hpp"

namespace bento::vol {

namespace {

using For = VirtualSources::For;

/// All of a source may be all of a dataset with other dimensions. Of what lies elsewhere HDF5 would
/// take coordinates that are not there.
Status check_rank(const VirtualPiece& piece, hid_t mapped, hid_t found) {
  if (H5Sget_select_type(mapped) == H5S_SEL_ALL) return {};
  const int wanted = H5Sget_simple_extent_ndims(mapped);
  const bool empty = H5Sget_simple_extent_type(found) == H5S_NULL;
  if (!empty && H5Sget_simple_extent_ndims(found) == wanted) return {};
  return fail(
      Code::kInvalidArgument,
      fmt::format("the source '{}' in '{}' has {}, and its mapping in the virtual dataset {}",
                  piece.dataset, piece.file,
                  empty ? "a null dataspace"
                        : fmt::format("{} dimensions", H5Sget_simple_extent_ndims(found)),
                  wanted));
}

class PieceFinder {
 public:
  PieceFinder(VirtualDataset& dataset, For purpose, hid_t wanted, hid_t memory, const Box& bounds,
              const PieceVisitor& visit)
      : dataset_(dataset),
        purpose_(purpose),
        wanted_(wanted),
        memory_(memory),
        bounds_(bounds),
        visit_(visit) {}

  Status look_in(std::size_t number) {
    const VirtualMapping& mapping = dataset_.layout.mappings[number];
    if (mapping.is_series()) return look_in_series(mapping, dataset_.known_blocks[number]);
    if (mapping.unlimited) return look_in_unlimited(mapping);
    if (bounds_.rank() > 0 && !overlaps(mapping.bounds, bounds_)) return {};
    SpaceHandle elements(H5Scopy(mapping.elements.get()));
    // The extent may have changed since.
    if (!elements.valid() || H5Sextent_copy(elements.get(), wanted_) < 0)
      return fail(Code::kInternal, "the space of a virtual mapping cannot be copied");
    return look_at(mapping, 0, elements.get(), H5I_INVALID_HID);
  }

 private:
  Status look_in_series(const VirtualMapping& mapping, const std::optional<std::uint64_t>& known) {
    const UnlimitedSelection& blocks = *mapping.unlimited;
    const unsigned d = blocks.dimension();
    const std::uint64_t end = bounds_.start[d] + bounds_.count[d];
    for (std::uint64_t j = blocks.first_block_behind(bounds_.start[d]);
         blocks.block_begin(j) < end && (!known || j < *known); ++j) {
      BENTO_ASSIGN(const SpaceHandle elements, blocks.block(j, dataset_.extent));
      BENTO_TRY(look_at(mapping, j, elements.get(), H5I_INVALID_HID));
    }
    return {};
  }

  Status look_in_unlimited(const VirtualMapping& mapping) {
    BENTO_ASSIGN(Object* const source,
                 dataset_.sources.open(mapping.file.at(0), mapping.dataset.at(0), purpose_));
    if (source == nullptr) return {};
    BENTO_ASSIGN(const SpaceHandle space, space_seen(source));
    BENTO_ASSIGN(const Dims extent, extent_of(space.get()));
    const UnlimitedSelection& from = *mapping.unlimited_source;
    if (from.rank() != extent.rank())
      return fail(Code::kInvalidArgument, "the source of a virtual mapping has another rank");
    const std::uint64_t slices = from.slices_in(extent[from.dimension()]);
    BENTO_ASSIGN(const SpaceHandle elements,
                 mapping.unlimited->first_slices(slices, dataset_.extent));
    BENTO_ASSIGN(const SpaceHandle there, from.first_slices(slices, extent));
    return look_at(mapping, 0, elements.get(), there.get());
  }

  /// All of each source of a series is, natively, what all of its first one is: so much is seen of
  /// one that has grown. The box from the first element on in `source`, a space with the extent
  /// that source number `number` has now; nothing if it holds no such box, or is the first one
  /// itself.
  Result<SpaceHandle> box_of_first_source(const VirtualMapping& mapping, std::uint64_t number,
                                          hid_t source) {
    for (std::uint64_t j = 0; j < number; ++j) {
      BENTO_ASSIGN(Object* const first,
                   dataset_.sources.open(mapping.file.at(j), mapping.dataset.at(j), purpose_));
      if (first == nullptr) continue;
      BENTO_ASSIGN(const SpaceHandle space, space_seen(first));
      BENTO_ASSIGN(const Dims box, extent_of(space.get()));
      BENTO_ASSIGN(const Dims extent, extent_of(source));
      if (box.product() == 0 || box.rank() == 0 || box.rank() != extent.rank())
        return SpaceHandle();
      for (unsigned d = 0; d < box.rank(); ++d)
        if (box[d] > extent[d]) return SpaceHandle();
      SpaceHandle selected(H5Scopy(source));
      if (!selected.valid()) return fail(Code::kInternal, "a virtual source cannot be copied");
      BENTO_TRY(select_box(selected.get(), Box::whole(box)));
      return selected;
    }
    return SpaceHandle();
  }

  /// `there`: the elements in the source; those of the mapping if it is not valid.
  Status look_at(const VirtualMapping& mapping, std::uint64_t number, hid_t elements, hid_t there) {
    // Blocks may reach beyond the extent.
    SpaceHandle wanted(H5Scopy(wanted_));
    if (!wanted.valid() || H5Sextent_copy(wanted.get(), elements) < 0)
      return fail(Code::kInternal, "a selection of a virtual dataset cannot be copied");
    VirtualPiece piece{mapping.file.at(number), mapping.dataset.at(number), {}, {}};
    piece.memory = SpaceHandle(H5Sselect_project_intersection(wanted.get(), memory_, elements));
    if (!piece.memory.valid())
      return fail(Code::kInternal, "a virtual mapping cannot be projected onto memory");
    if (H5Sget_select_npoints(piece.memory.get()) == 0) return {};
    BENTO_ASSIGN(auto* source, dataset_.sources.open(piece.file, piece.dataset, purpose_));
    if (source == nullptr) return {};
    SpaceHandle patched;
    if (there < 0) {
      BENTO_ASSIGN(const SpaceHandle space, space_seen(source));
      BENTO_TRY(check_rank(piece, mapping.source.get(), space.get()));
      patched = SpaceHandle(H5Scopy(mapping.source.get()));
      if (!patched.valid() || H5Sextent_copy(patched.get(), space.get()) < 0)
        return fail(Code::kInternal, "the space of a virtual source cannot be copied");
      if (mapping.is_series() && H5Sget_select_type(patched.get()) == H5S_SEL_ALL &&
          H5Sget_select_npoints(patched.get()) != H5Sget_select_npoints(elements)) {
        BENTO_ASSIGN(SpaceHandle box, box_of_first_source(mapping, number, patched.get()));
        if (box.valid()) patched = std::move(box);
        // Others were opened meanwhile.
        BENTO_ASSIGN(source, dataset_.sources.open(piece.file, piece.dataset, purpose_));
        if (source == nullptr) return {};
      }
      there = patched.get();
    }
    if (H5Sget_select_npoints(there) != H5Sget_select_npoints(elements))
      return fail(Code::kInvalidArgument,
                  "a virtual mapping has another number of elements than its source '" +
                      piece.dataset + "' in '" + piece.file + "'");
    BENTO_ASSIGN(const bool irregular, is_irregular(there));
    if (irregular) {
      return for_each_regular_part(
          {wanted.get(), memory_, elements, there},
          [&](SpaceHandle in_memory, SpaceHandle in_source) {
            return visit_({piece.file, piece.dataset, std::move(in_memory), std::move(in_source)},
                          source);
          });
    }
    piece.source = SpaceHandle(H5Sselect_project_intersection(elements, there, wanted.get()));
    if (!piece.source.valid())
      return fail(Code::kInternal, "a selection cannot be projected onto a virtual source");
    return visit_(std::move(piece), source);
  }

  VirtualDataset& dataset_;
  For purpose_;
  hid_t wanted_;
  hid_t memory_;
  const Box& bounds_;
  const PieceVisitor& visit_;
};

}  // namespace

Status for_each_piece(VirtualDataset& dataset, For purpose, hid_t wanted, hid_t memory,
                      const PieceVisitor& visit) {
  if (H5Sget_select_npoints(wanted) == 0) return {};
  Box bounds{Dims(dataset.extent.rank()), Dims(dataset.extent.rank())};
  if (dataset.extent.rank() > 0) {
    BENTO_ASSIGN(bounds, bounds_of(wanted, dataset.extent));
  }
  PieceFinder finder(dataset, purpose, wanted, memory, bounds, visit);
  for (std::size_t i = 0; i < dataset.layout.mappings.size(); ++i) BENTO_TRY(finder.look_in(i));
  return {};
}

void PiecesInMemory::add(SpaceHandle memory) {
  elements_ += H5Sget_select_npoints(memory.get());
  spaces_.push_back(std::move(memory));
}

Result<SpaceHandle> PiecesInMemory::missing_of(hid_t memory) const {
  SpaceHandle missing(H5Scopy(memory));
  if (!missing.valid()) return fail(Code::kInternal, "a selection in memory cannot be copied");
  const hssize_t all = H5Sget_select_npoints(memory);
  const bool none = all == 0 || (disjoint_ && elements_ >= all) ||
                    (!spaces_.empty() && H5Sget_simple_extent_ndims(memory) == 0);
  if (none) {
    if (H5Sselect_none(missing.get()) < 0) return fail(Code::kInternal, "nothing can be selected");
    return missing;
  }
  for (const SpaceHandle& piece : spaces_)
    BENTO_TRY(subtract_selection(missing.get(), piece.get()));
  return missing;
}

}  // namespace bento::vol
