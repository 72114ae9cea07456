// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// References of HDF5 1.12 in the program's memory (H5R_ref_t), to held ones and back. Task-local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/data/held_references.hpp"
#include "hdf5/data/reference_places.hpp"
#include "hdf5/data/reference_region.hpp"
#include "hdf5/data/stored_reference.hpp"
#include "vol/file/object.hpp"

namespace bento::vol {

/// For one transfer of a dataset: inside one of the library's calls for it, or for another object
/// of the connector.
class ProgramReferences {
 public:
  /// `dataset` must outlive it.
  ProgramReferences(const Object* dataset, FileContext& file) : dataset_(dataset), file_(file) {}
  ~ProgramReferences();
  ProgramReferences(const ProgramReferences&) = delete;
  ProgramReferences& operator=(const ProgramReferences&) = delete;

  /// What the program has in `count` elements, to be written. Sequences are copied first. Errors:
  /// kUnsupported (a reference to another file), kInvalidArgument (it is none, or its dataset is
  /// gone, or another object has its place), kInternal.
  Status take(const ReferencePlaces& places, std::byte* elements, std::size_t count,
              HeldReferences& held);
  /// What was read, for the program, which must destroy it. After an error all are null. Errors:
  /// kCorrupt, kInternal.
  Status give(const ReferencePlaces& places, std::byte* elements, std::size_t count,
              HeldReferences& held);

 private:
  Result<StoredReference> taken(H5R_ref_t& reference);
  Status give_one(std::byte* at, ReferencePlaces::Stored stored, HeldReferences& held);
  Result<StoredReference> given(const std::byte* at, ReferencePlaces::Stored stored,
                                HeldReferences& held);
  Result<StoredReference> old_region(const std::byte* at);
  /// Has a dataset at that address this many dimensions? True, too, of what is no object.
  Result<bool> may_have_region(const StoredReference& reference);
  /// Of the object at that address, asked for once; see dimensions_.
  Result<std::optional<int>> dimensions_of_object(std::uint64_t address);
  /// An id of an object in the file, through the connectors that the program has.
  Result<hid_t> location();

  const Object* dataset_;
  FileContext& file_;
  hid_t location_ = H5I_INVALID_HID;
  ReferenceRegions regions_;
  std::map<std::uint64_t, std::optional<int>>
      dimensions_;  ///< of targets; -1: no dataset; nothing: no object
};

}  // namespace bento::vol
