// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/container_fit.hpp"

#include <algorithm>
#include <numeric>

namespace bento {

std::vector<std::size_t> largest_first(std::span<const std::uint64_t> sizes) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  return order;
}

// What is too large for one container is too large for all smaller ones, so both sides are gone
// through once.
ContainerFit fit_records(std::span<const std::uint64_t> sizes, std::span<const std::size_t> order,
                         std::span<const std::uint64_t> capacities) {
  ContainerFit fit;
  fit.record_of.assign(capacities.size(), ContainerFit::kNone);
  auto next = order.begin();
  for (const std::size_t container : largest_first(capacities)) {
    next = std::find_if(next, order.end(),
                        [&](std::size_t record) { return sizes[record] <= capacities[container]; });
    if (next == order.end()) break;
    fit.record_of[container] = *next;
    fit.bytes += sizes[*next];
    ++next;
  }
  return fit;
}

}  // namespace bento
