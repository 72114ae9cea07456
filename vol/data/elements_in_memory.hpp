// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The program's side of one H5Dwrite or H5Dread: where its elements lie in its buffer, and their
/// type. Elements are numbered in the order of the selection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/geometry/box.hpp"
#include "hdf5/data/meant_selection.hpp"

namespace bento::vol {

class ElementsInMemory {
 public:
  /// So many elements, in one run from the first of the buffer on.
  explicit ElementsInMemory(std::uint64_t elements = 0) : elements_(elements), first_(0) {}
  /// As the selection of `space` was meant (MeantSelection); `space` must outlive this, which is
  /// new: to hand one on would be a good part of a small transfer. Errors: kInvalidArgument (it
  /// leaves the extent), those of MeantSelection::of.
  Status take(hid_t space);

  /// Whose selection this is, for the library's own functions; of a run there is none.
  [[nodiscard]] hid_t space() const { return space_; }
  [[nodiscard]] std::uint64_t elements() const { return elements_; }
  /// Are they one run of the buffer? Its first element, if so.
  [[nodiscard]] const std::optional<std::uint64_t>& first() const { return first_; }
  /// Can a part of them be found without going through all? So it is with a run and with a box.
  [[nodiscard]] bool in_parts() const { return first_ || box_; }

  /// Copies elements [begin, begin + count) out of the buffer, or into it. in_parts() only.
  void gather(const void* buffer, std::size_t element_bytes, std::uint64_t begin,
              std::uint64_t count, std::byte* to) const;
  void scatter(const std::byte* from, std::size_t element_bytes, std::uint64_t begin,
               std::uint64_t count, void* buffer) const;

 private:
  /// Notes a selection that is a box.
  void place(const Box& box, const Box& extent);

  std::uint64_t elements_;
  hid_t space_ = H5I_INVALID_HID;
  MeantSelection meant_;  ///< if `space_` had to be made
  std::optional<std::uint64_t> first_;
  std::optional<Box> box_;  ///< else: the selection
  Box extent_;              ///< of the buffer, then
};

}  // namespace bento::vol
