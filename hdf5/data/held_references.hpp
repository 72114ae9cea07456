// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// References on the way between records and the program's memory: in the place of each are a
/// pointer to its stored bytes and their number. They may be moved, and left, like plain values.
#pragma once

#include <cstddef>
#include <span>

#include "core/base/error.hpp"
#include "hdf5/data/reference_values.hpp"
#include "hdf5/data/variable_elements.hpp"

namespace bento::vol {

class HeldReferences final : public ReferenceValues {
 public:
  Result<std::span<const std::byte>> get(const std::byte* reference) override;
  Status put(std::span<const std::byte> stored, std::byte* reference) override;
  /// Forgets the bytes of all that were put.
  void clear() { bytes_.clear(); }
  /// For more that live as long.
  ValueArena& arena() { return bytes_; }

 private:
  ValueArena bytes_;
};

}  // namespace bento::vol
