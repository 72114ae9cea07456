// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/container_state.hpp"

#include "core/layout/overflow.hpp"

namespace bento {

std::vector<DatasetDeclaration> ContainerState::datasets() const {
  std::vector<DatasetDeclaration> all;
  for (const DatasetNumber number : index.datasets()) all.push_back(*index.find(number));
  return all;
}

const ChunkFill* ContainerState::fill_of(std::uint32_t writer) const {
  if (writer < fills.size()) return &fills[writer];
  const auto found = own_fills.find(writer);
  return found != own_fills.end() ? &found->second : nullptr;
}

Status ContainerState::add_writers() {
  if (!writable) return {};
  if (const auto group = overflow_at_open(plan, ranks, fills, root.step, options.logical_limit))
    return plan.add(*group);
  if (ranks <= plan.ranks()) return {};
  return plan.add({ranks - plan.ranks(), 1, plan.file(0).chunk_bytes, plan.ranks()});
}

}  // namespace bento
