// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The members of a dataset's type, at any depth, and which of them a write brings.
#pragma once

#include <cstddef>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/container/container.hpp"

namespace bento::vol {

class TypeMembers {
 public:
  TypeMembers() = default;
  /// `file_type` must live as long as this.
  explicit TypeMembers(hid_t file_type);

  /// All of them.
  [[nodiscard]] const WrittenMembers& all() const { return all_; }
  /// Those that a conversion from `mem_type` sets; the others it leaves as they are in the
  /// background. HDF5 itself is asked: one element is converted over two backgrounds. Errors:
  /// kInvalidArgument (no conversion).
  [[nodiscard]] Result<WrittenMembers> written_by(hid_t mem_type) const;

 private:
  /// Bytes of a member; one in an array of compounds has some for each element.
  struct Part {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    std::size_t member = 0;
  };
  void add_parts(hid_t type, std::size_t offset, std::vector<Part>& parts);

  hid_t file_type_ = H5I_INVALID_HID;
  std::vector<Part> parts_;
  std::size_t members_ = 0;
  WrittenMembers all_;
};

}  // namespace bento::vol
