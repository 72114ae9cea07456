// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Elements on their way between the program's buffer and a box of a dataset, where they are
/// converted, gathered or scattered on the way: in strips that stay in the cache, so that no copy
/// of all of them is made. Task-local.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/bytes/byte_source.hpp"
#include "core/geometry/box.hpp"
#include "vol/data/elements_in_memory.hpp"
#include "vol/data/member_copy.hpp"
#include "vol/file/dataset_state.hpp"

namespace bento::vol {

/// The two types of a transfer.
struct ElementTypes {
  hid_t memory = H5I_INVALID_HID;
  std::size_t memory_bytes = 0;
  hid_t file = H5I_INVALID_HID;
  std::size_t file_bytes = 0;
  bool same = false;      ///< nothing is converted
  bool compound = false;  ///< there may be members that only one of them has
  hid_t dxpl = H5P_DEFAULT;
  std::string transform;  ///< of the transfer list (data_transform.hpp); not for strips

  /// Do the program's bytes go to the file, and back, as they are?
  [[nodiscard]] bool in_place() const { return same && transform.empty(); }
  [[nodiscard]] std::size_t larger() const { return std::max(memory_bytes, file_bytes); }
};

/// Converts `count` elements in place. `background`: of the target type, or empty if neither type
/// is a compound. Errors: kInvalidArgument.
Status convert_to_file(const ElementTypes& types, std::uint64_t count, std::byte* elements,
                       std::byte* background);
Status convert_to_memory(const ElementTypes& types, std::uint64_t count, std::byte* elements,
                         std::byte* background);

/// Parts of a box, one behind the other in its row-major order.
class StripsOfBox {
 public:
  StripsOfBox(const Box& box, std::uint64_t most_elements) : most_(most_elements), todo_{box} {}
  /// Nothing when there are no more.
  [[nodiscard]] std::optional<Box> next();

 private:
  std::uint64_t most_;
  std::vector<Box> todo_;
};

/// The elements of `box` for the file, as the program has them.
class StripsToFile final : public ByteSource {
 public:
  /// `memory` must be in_parts(). `keeps_members`: some are not written, and stay what they are in
  /// the file.
  StripsToFile(Object* object, DatasetState& state, const ElementTypes& types,
               const ElementsInMemory& memory, const void* buffer, const Box& box,
               bool keeps_members);

 private:
  /// Errors: those of read_box(), and kInvalidArgument (a conversion that fails).
  Result<std::span<const std::byte>> next(std::uint64_t most) override;
  Status next_strip();
  Status take_members(const Box& part);
  Status read_background(const Box& part, std::byte* to);

  Object* object_;
  DatasetState& state_;
  const ElementTypes& types_;
  const ElementsInMemory& memory_;
  const void* buffer_;
  bool keeps_members_;
  Box box_;
  StripsOfBox strips_;
  std::uint64_t done_ = 0;  ///< elements
  std::optional<MemberCopy> members_;
  std::vector<std::byte> room_;
  std::vector<std::byte> background_;
  std::span<const std::byte> strip_;  ///< what is left of it
};

/// Reads the elements of `box` into the program's buffer as `space` says, which is what `memory`
/// was made of. If it is not in_parts(), the types must be the same or no compounds. Errors: those
/// of read_box(), and kInvalidArgument (a conversion that fails).
Status read_in_strips(Object* object, DatasetState& state, const ElementTypes& types,
                      const ElementsInMemory& memory, hid_t space, const Box& box, void* buffer);

}  // namespace bento::vol
