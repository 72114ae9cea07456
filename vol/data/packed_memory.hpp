// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A copy of selected elements of the program's memory, one behind the other in the order of the
/// selection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"

namespace bento::vol {

class PackedMemory {
 public:
  /// Those of `space`, whose elements in `buffer` are of the type `type`.
  static Result<PackedMemory> of(hid_t space, hid_t type, const void* buffer);
  /// Copies them back.
  Status give_back(hid_t space, void* buffer) const;

  /// Some of them, by their places here.
  [[nodiscard]] PackedMemory take(const std::vector<std::uint64_t>& places) const;
  /// The reverse.
  void put(const std::vector<std::uint64_t>& places, const PackedMemory& part);

  [[nodiscard]] void* data() { return bytes_.data(); }
  /// One dimension, all of it selected as a hyperslab.
  [[nodiscard]] Result<SpaceHandle> space() const;

 private:
  PackedMemory(hid_t type, std::size_t element_bytes, std::size_t elements)
      : type_(type), element_bytes_(element_bytes), bytes_(element_bytes * elements) {}

  hid_t type_;  ///< borrowed
  std::size_t element_bytes_;
  std::vector<std::byte> bytes_;
};

}  // namespace bento::vol
