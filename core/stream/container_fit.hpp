// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which records go into which containers of a block whose containers were made for others. Of
/// compressed data no step has the sizes of the one before, but nearly all of its records fit
/// containers of that one, if each goes to one that is hardly larger. No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bento {

struct ContainerFit {
  static constexpr std::size_t kNone = ~std::size_t{0};
  /// Of each container: the number of its record, or kNone.
  std::vector<std::size_t> record_of;
  std::uint64_t bytes = 0;  ///< of the records that have found one
};

/// The numbers of these sizes, the largest first; of equal ones the first first.
std::vector<std::size_t> largest_first(std::span<const std::uint64_t> sizes);

/// Each container takes the largest record that fits and has none yet, the largest container
/// first. `order` is largest_first() of the records' `sizes`.
ContainerFit fit_records(std::span<const std::uint64_t> sizes, std::span<const std::size_t> order,
                         std::span<const std::uint64_t> capacities);

}  // namespace bento
