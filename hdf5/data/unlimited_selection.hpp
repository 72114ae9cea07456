// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Regular hyperslabs without an end in one dimension, as the mappings of virtual datasets have
/// them: how far they reach in a given extent, and parts of them as ordinary selections. A *slice*
/// is what is selected at one coordinate of that dimension.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/geometry/box.hpp"
#include "hdf5/base/handle.hpp"

namespace bento::vol {

class UnlimitedSelection {
 public:
  /// That of `space`; nothing if the selection there has an end.
  static std::optional<UnlimitedSelection> of(hid_t space);

  [[nodiscard]] unsigned dimension() const { return dimension_; }
  [[nodiscard]] unsigned rank() const { return rank_; }
  /// Slices inside an extent that is `extent` long in the dimension.
  [[nodiscard]] std::uint64_t slices_in(std::uint64_t extent) const;
  /// The extent in which there are just so many slices; with the gap behind the last one if
  /// `with_gap`.
  [[nodiscard]] std::uint64_t extent_of(std::uint64_t slices, bool with_gap) const;
  /// Where block `number` begins, and where it ends (one behind its last slice).
  [[nodiscard]] std::uint64_t block_begin(std::uint64_t number) const;
  [[nodiscard]] std::uint64_t block_end(std::uint64_t number) const;
  /// The number of the first block that ends behind `coordinate`.
  [[nodiscard]] std::uint64_t first_block_behind(std::uint64_t coordinate) const;

  /// The first `slices` slices as a selection in a dataspace of this extent, or of a larger one if
  /// it does not hold them.
  [[nodiscard]] Result<SpaceHandle> first_slices(std::uint64_t slices, const Dims& extent) const;
  /// The same of one block.
  [[nodiscard]] Result<SpaceHandle> block(std::uint64_t number, const Dims& extent) const;

 private:
  UnlimitedSelection() = default;
  [[nodiscard]] bool is_one_run() const;
  Status add(hid_t space, H5S_seloper_t how, std::uint64_t start, std::uint64_t count,
             std::uint64_t block) const;
  [[nodiscard]] Result<SpaceHandle> space_for(std::uint64_t end, const Dims& extent) const;

  unsigned dimension_ = 0;
  unsigned rank_ = 0;
  std::array<hsize_t, kMaxRank> start_{};
  std::array<hsize_t, kMaxRank> stride_{};
  std::array<hsize_t, kMaxRank> count_{};
  std::array<hsize_t, kMaxRank> block_{};
};

}  // namespace bento::vol
