// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Elements of two compound types whose common members have the same types: nothing is converted,
/// so members are copied, without HDF5's conversion of each element. Members go together by their
/// names, and those that only one of the types has stay as they are (HDF5 User Guide, "Compound
/// Datatypes").
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <hdf5.h>

namespace bento::vol {

class MemberCopy {
 public:
  /// Nothing where a common member is converted, or has references, or a type is no compound, or
  /// the program has registered a conversion of its own between the two types.
  static std::optional<MemberCopy> between(hid_t memory_type, hid_t file_type);

  /// `count` elements each, one behind the other.
  void to_file(std::uint64_t count, const std::byte* memory, std::byte* file) const;
  void to_memory(std::uint64_t count, const std::byte* file, std::byte* memory) const;

 private:
  /// Bytes of an element that are the same in both.
  struct Run {
    std::size_t memory_offset = 0;
    std::size_t file_offset = 0;
    std::size_t bytes = 0;
  };
  void join_neighbours();

  std::size_t memory_bytes_ = 0;  ///< of an element
  std::size_t file_bytes_ = 0;
  std::vector<Run> runs_;
};

}  // namespace bento::vol
