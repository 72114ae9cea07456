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

namespace bento::vol {

class ElementsInMemory {
 public:
  /// Of `elements` elements in one run of the buffer, from element `first` on.
  static ElementsInMemory run(std::uint64_t elements, std::uint64_t first);
  /// As the selection of `space` says, which is a MeantSelection. Errors: kInvalidArgument (it
  /// leaves the extent).
  static Result<ElementsInMemory> of(hid_t space);

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
  explicit ElementsInMemory(std::uint64_t elements) : elements_(elements) {}

  std::uint64_t elements_;
  std::optional<std::uint64_t> first_;
  std::optional<Box> box_;  ///< else: the selection
  Box extent_;              ///< of the buffer, then
};

}  // namespace bento::vol
