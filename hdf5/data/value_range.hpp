// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Smallest and largest value of the elements of one type (minmax=on), in the form of
/// core/records/value_range.hpp. Which form a dataset's values have depends on its type alone:
/// unsigned integers as std::uint64_t, signed ones as std::int64_t, half, float and double as
/// double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include <hdf5.h>

#include "core/records/value_range.hpp"

namespace bento::vol {

using Number = std::variant<std::int64_t, std::uint64_t, double>;

/// The order of one file type's values. Types without one (anything but integers of up to 8 bytes
/// and IEEE floating point of 2, 4 and 8, in either byte order) have ranges of everything().
class ValueOrder {
 public:
  ValueOrder() = default;
  /// Asks the library about `file_type`; done once per dataset.
  explicit ValueOrder(hid_t file_type);

  [[nodiscard]] bool known() const { return kind_ != Kind::kNone; }
  /// Range of the elements, which are in the file type; everything() if one of them is NaN, or
  /// there is none. One pass.
  [[nodiscard]] ValueRange range_of(std::span<const std::byte> elements) const;
  /// The values of this type from `low` to `high`, both included; nothing if no value of the type
  /// lies there, or a bound is NaN. Numbers that the type does not have are rounded so that no
  /// value is missed.
  [[nodiscard]] std::optional<ValueRange> between(const Number& low, const Number& high) const;

 private:
  enum class Kind { kNone, kUnsigned, kSigned, kFloat };
  /// Integers of any size, place of the bits and byte order.
  [[nodiscard]] ValueRange range_of_bits(std::span<const std::byte> elements) const;

  Kind kind_ = Kind::kNone;
  std::size_t bytes_ = 0;
  bool swapped_ = false;    ///< not in the byte order of this machine
  bool all_bits_ = true;    ///< no padding: the bits that count are all there are
  unsigned offset_ = 0;     ///< of the lowest bit that counts
  unsigned precision_ = 0;  ///< bits that count
};

/// Do these filters give back the very values that went in? Known of those that come with HDF5 and
/// of widespread ones; of any other it is not assumed. A record whose values may come back changed
/// has a range of everything().
bool filters_keep_values(hid_t dcpl);

}  // namespace bento::vol
