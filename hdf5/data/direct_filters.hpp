// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The filters shuffle and deflate without HDF5's filter pipeline, by libdeflate in the place of
/// zlib. What one of the two ways has filtered the other reads; the compressed bytes are not the
/// same. Whatever does not go well here is left to HDF5, which knows what to make of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <hdf5.h>

namespace bento::vol {

class DirectFilters {
 public:
  /// Nothing if the creation list has other filters than deflate, or shuffle and then deflate, or
  /// has them with parameters that HDF5 refuses, or the HDF5 library has not got them.
  /// @param element_bytes  size of the dataset's type, which is what HDF5 shuffles by
  static std::optional<DirectFilters> of(hid_t dcpl, std::size_t element_bytes);

  /// All filters over the elements of one chunk; none is ever skipped, so its filter mask is 0.
  /// False, and `stored` unchanged, if that did not succeed.
  bool filter(std::span<const std::byte> elements, std::vector<std::byte>& stored) const;
  /// The reverse, without the filters of `mask`; one is left. False, and `elements` of no known
  /// value, if the stored bytes are not sound or decode to more or less than `elements` holds.
  bool unfilter(std::span<const std::byte> stored, std::uint32_t mask,
                std::span<std::byte> elements) const;

 private:
  DirectFilters() = default;

  std::size_t element_bytes_ = 0;
  bool shuffles_ = false;
  int level_ = 0;
};

}  // namespace bento::vol
