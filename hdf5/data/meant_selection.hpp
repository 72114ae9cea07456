// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a program has selected by a union of hyperslabs, where the library takes it for other
/// elements: some unions it calls regular ones that they are not (docs/hdf5-traps.md). Its count of
/// elements and its tree of spans are right then, its regular form and all that goes by that is
/// not.
#pragma once

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"

namespace bento::vol {

class MeantSelection {
 public:
  MeantSelection() = default;
  MeantSelection(MeantSelection&&) = default;
  MeantSelection& operator=(MeantSelection&&) = default;
  ~MeantSelection() {
    if (!rebuilt()) return;
    const ErrorStackKeeper keep;
    rebuilt_.reset();
  }
  /// Of `space`, which must outlive this and may be H5S_ALL, H5S_BLOCK or H5S_PLIST. Errors:
  /// kInvalidArgument (the selection's offset moves it below 0), kUnsupported (the library has lost
  /// a part of it).
  static Result<MeantSelection> of(hid_t space);
  /// The same of a selection of hyperslabs, of so many elements. Who knows that it is a
  /// single_block() need not ask.
  static Result<MeantSelection> of_hyperslabs(hid_t space, hssize_t selected);

  /// With the elements that were selected: `space` itself, if that has them. Extent and offset are
  /// those of `space`.
  [[nodiscard]] hid_t get() const { return rebuilt() ? rebuilt_.get() : space_; }
  [[nodiscard]] bool rebuilt() const { return rebuilt_.valid(); }

 private:
  explicit MeantSelection(hid_t space) : space_(space) {}

  hid_t space_ = H5S_ALL;
  SpaceHandle rebuilt_;
};

}  // namespace bento::vol
