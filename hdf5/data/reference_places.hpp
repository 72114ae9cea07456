// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where in a program's elements the references of HDF5 1.12 (H5T_STD_REF) are that a transfer
/// reads or writes, and the types by which elements are converted while these references are held
/// (hdf5/data/held_references.hpp): the library's own conversion would ask for their files.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/data/variable_elements.hpp"

namespace bento::vol {

class ReferencePlaces {
 public:
  /// What the file has at the place of one in memory: the same, or a reference of the older types,
  /// which can be read as one.
  enum class Stored { kReference, kObject, kRegion };
  using Visit = std::function<Status(std::byte* reference, Stored stored)>;

  /// Of elements of `memory`, only in what a transfer to or from elements of `file` moves.
  static Result<ReferencePlaces> of(hid_t memory, hid_t file);

  [[nodiscard]] bool none() const { return layout_.parts.empty(); }
  /// Visits them in order, those in sequences too; stops at the first error.
  Status visit(std::byte* elements, std::size_t count, const Visit& visit) const;
  /// Replaces sequences that hold references by copies in `arena`, which may be changed.
  void copy_sequences(std::byte* elements, std::size_t count, ValueArena& arena) const;

 private:
  struct Part;
  struct Layout {
    std::size_t bytes = 0;
    std::vector<Part> parts;
  };
  struct Part {
    enum class Kind { kReference, kSequence, kArray } kind = Kind::kReference;
    std::size_t offset = 0;
    Stored stored = Stored::kReference;  ///< kReference
    std::size_t count = 0;               ///< kArray
    Layout base;                         ///< kSequence, kArray
  };

  static Status describe(hid_t memory, hid_t file, std::size_t offset, Layout& out);
  static Status visit(const Layout& layout, std::byte* element, const Visit& visit);
  static void copy_sequences(const Layout& layout, std::byte* element, ValueArena& arena);

  Layout layout_;
};

/// The two types for a conversion while references are held. Their elements lie in memory as those
/// of `memory` and `file` do.
struct HeldTypes {
  TypeHandle memory;
  TypeHandle file;
};
Result<HeldTypes> held_types(hid_t memory, hid_t file);

}  // namespace bento::vol
