// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/write_around.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "core/base/verified_reads.hpp"
#include "core/geometry/gap_costs.hpp"
#include "hdf5/data/stored_chunks.hpp"
#include "vol/data/box_data.hpp"
#include "vol/data/filtered_data.hpp"
#include "vol/file/native_dataset.hpp"

namespace bento::vol {

namespace {

/// Fewer boxes are written one by one.
constexpr std::uint64_t kFewBoxes = 8;
/// As kMostAround, of one rank of several, which may have to write the boxes after all.
constexpr std::uint64_t kMostAroundBesideOthers = 8;
/// Most bytes that are read and written at once, if the selection can be cut.
constexpr std::uint64_t kPartBytes = std::uint64_t{8} << 20;

/// Would a write of the whole bounding box allocate chunks that the selection does not touch?
Result<bool> touches_all_chunks(const Object* object, const SelectionShape& shape) {
  BENTO_ASSIGN(const PlistHandle dcpl, native_dcpl(object));
  if (H5Pget_layout(dcpl.get()) != H5D_CHUNKED) return true;
  if (shape.form != SelectionShape::Form::kRegular) return false;
  const RegularSelection& regular = *shape.regular;
  BENTO_ASSIGN(const Dims chunk, chunk_shape(dcpl.get(), regular.start.rank()));
  for (unsigned d = 0; d < regular.start.rank(); ++d)
    if (regular.count[d] > 1 && regular.stride[d] - regular.block[d] >= chunk[d]) return false;
  return true;
}

/// Beside other ranks: what they are told of such a record, and what a commit asks, is told of
/// regular selections of plain elements only.
Result<bool> takes_gaps(Object* object, DatasetState& state, const SelectionShape& shape,
                        const WrittenMembers* written) {
  if (shape.form != SelectionShape::Form::kRegular || written != nullptr) return false;
  BENTO_ASSIGN(const bool filtered, is_filtered(object, state, shape.box));
  if (filtered) return false;
  return state.file->container().takes_gaps(state.number, shape.box);
}

Result<bool> worth_it(Object* object, DatasetState& state, const SelectionShape& shape,
                      const WrittenMembers* written) {
  const bool alone = state.file->ranks() == 1;
  const std::uint64_t boxes =
      shape.form == SelectionShape::Form::kRegular ? shape.regular->boxes() : shape.runs.size();
  const auto elements = shape.box.count.checked_product();
  const std::uint64_t most_around = alone ? kMostAround : kMostAroundBesideOthers;
  if (boxes <= kFewBoxes || !elements || *elements / most_around > shape.elements ||
      *elements * state.element_bytes / kCostOfBox > boxes)
    return false;
  if (!alone) {
    BENTO_ASSIGN(const bool takes, takes_gaps(object, state, shape, written));
    if (!takes) return false;
  }
  return touches_all_chunks(object, shape);
}

/// False: what is there cannot be read, and nothing was written.
Result<bool> write_part(Object* object, DatasetState& state, const SelectionShape& shape,
                        const std::byte* packed, const WrittenMembers* written) {
  const auto bytes = static_cast<std::size_t>(shape.box.elements() * state.element_bytes);
  const auto whole = std::make_unique_for_overwrite<std::byte[]>(bytes);
  Container& container = state.file->container();
  {
    const VerifiedReads verified;
    if (!read_of_one_step(container,
                          [&] { return read_box(object, state, shape.box, whole.get()); }))
      return false;
  }
  if (shape.form == SelectionShape::Form::kRegular) {
    shape.regular->scatter(packed, shape.box, whole.get(), state.element_bytes);
  } else {
    std::vector<std::byte> scratch;
    BENTO_TRY(for_each_box(shape, state.element_bytes,
                           [&](const Box& box, const PackFn& pack, const UnpackFn&) -> Status {
                             scratch.resize(box.elements() * state.element_bytes);
                             pack(packed, scratch.data());
                             copy_box(box, box, scratch.data(), shape.box, whole.get(),
                                      state.element_bytes);
                             return {};
                           }));
  }
  if (state.file->ranks() == 1) {
    BENTO_TRY(write_box(object, state, shape.box, whole.get(), written));
    return true;
  }
  const std::span data(whole.get(), bytes);
  BENTO_TRY(container.write_with_gaps(state.number, shape.box, state.element_bytes, data,
                                      *shape.regular, state.range_of(data)));
  return true;
}

/// The dimension along which parts of the selection are runs of its packed elements, and how many
/// blocks of it a part has.
struct Cut {
  unsigned dimension = 0;
  std::uint64_t blocks = 0;
};

Cut choose_cut(const SelectionShape& shape, std::size_t element_bytes) {
  const RegularSelection& regular = *shape.regular;
  Cut cut;
  while (cut.dimension + 1 < regular.count.rank() && regular.count[cut.dimension] == 1 &&
         regular.block[cut.dimension] == 1)
    ++cut.dimension;
  const unsigned d = cut.dimension;
  const std::uint64_t in_layer = shape.box.elements() / shape.box.count[d] * element_bytes;
  const std::uint64_t in_stride = std::max<std::uint64_t>(in_layer * regular.stride[d], 1);
  cut.blocks = std::clamp<std::uint64_t>(kPartBytes / in_stride, 1, regular.count[d]);
  return cut;
}

/// `count` blocks from the `first` one on, along one dimension.
SelectionShape part_of(const SelectionShape& shape, unsigned d, std::uint64_t first,
                       std::uint64_t count) {
  SelectionShape part = shape;
  RegularSelection& regular = *part.regular;
  regular.start[d] += first * regular.stride[d];
  regular.count[d] = count;
  regular.normalise();
  part.box.start[d] = regular.start[d];
  part.box.count[d] = (count - 1) * regular.stride[d] + regular.block[d];
  part.elements = shape.elements / shape.regular->count[d] * count;
  return part;
}

}  // namespace

Result<bool> write_around(Object* object, DatasetState& state, const SelectionShape& shape,
                          const std::byte* packed, const WrittenMembers* written) {
  BENTO_ASSIGN(const bool worth, worth_it(object, state, shape, written));
  if (!worth) return false;
  if (shape.form != SelectionShape::Form::kRegular)
    return write_part(object, state, shape, packed, written);
  const Cut cut = choose_cut(shape, state.element_bytes);
  const std::uint64_t blocks = shape.regular->count[cut.dimension];
  for (std::uint64_t first = 0; first < blocks; first += cut.blocks) {
    const SelectionShape part =
        part_of(shape, cut.dimension, first, std::min(cut.blocks, blocks - first));
    BENTO_ASSIGN(const bool done, write_part(object, state, part, packed, written));
    if (!done) return false;
    packed += part.elements * state.element_bytes;
  }
  return true;
}

}  // namespace bento::vol
