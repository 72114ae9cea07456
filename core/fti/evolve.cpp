// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/fti/evolve.hpp"

#include <limits>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/base/checked.hpp"

namespace bento::fti {

namespace {

/// What the walk over the existing containers knows of one variable.
struct Walk {
  std::int32_t idx = 0;         ///< in protect order
  std::uint64_t left = 0;       ///< bytes that no container has taken yet
  std::uint64_t reserved = 0;   ///< sum of the containersizes so far
  std::int32_t containers = 0;  ///< count so far
  bool open = true;             ///< may the next container hold content?
};

using Walks = std::unordered_map<std::int32_t, Walk>;

Result<Walks> start(std::span<const Protected> variables) {
  if (variables.empty())
    return fail(Code::kInvalidArgument, "checkpoint without a protected variable");
  if (variables.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    return fail(Code::kInvalidArgument, fmt::format("{} protected variables", variables.size()));
  Walks walks;
  for (const Protected& variable : variables) {
    if (variable.id == kFillerId)
      return fail(Code::kInvalidArgument,
                  fmt::format("protected variable with id {}, which means filler", kFillerId));
    Walk walk;
    walk.idx = static_cast<std::int32_t>(walks.size());
    walk.left = variable.bytes;
    if (!walks.emplace(variable.id, walk).second)
      return fail(Code::kInvalidArgument, fmt::format("variable {} protected twice", variable.id));
  }
  return walks;
}

// Gives `container` its share of the variable. A container that takes the rest, be it nothing, is
// the last with content: so a variable of no bytes keeps its first container.
void refill(Container& container, Walk& walk) {
  ++walk.containers;
  if (!walk.open) {
    container.hascontent = false;
    container.chunksize = 0;
    return;
  }
  container.hascontent = true;
  if (walk.left > container.containersize) {
    container.chunksize = container.containersize;
    walk.left -= container.containersize;
  } else {
    container.chunksize = walk.left;
    walk.left = 0;
    walk.open = false;
  }
}

Container append(Layout layout, std::int32_t id, const Walk& walk) {
  Container container;
  container.id = id;
  if (layout == Layout::kV11) container.idx = walk.idx;
  container.containerid = walk.containers;
  container.hascontent = true;
  container.dptr = walk.reserved;
  container.chunksize = walk.left;
  container.containersize = walk.left;
  return container;
}

Result<Checkpoint> evolve(Checkpoint checkpoint, std::span<const Protected> variables) {
  BENTO_ASSIGN(Walks walks, start(variables));
  for (Block& block : checkpoint.blocks) {
    for (Container& container : block.containers) {
      if (is_filler(container)) continue;
      const auto found = walks.find(container.id);
      if (found == walks.end())
        return fail(Code::kInvalidArgument,
                    fmt::format("variable {} of the previous checkpoint is not protected any more",
                                container.id));
      Walk& walk = found->second;
      if (walk.containers == std::numeric_limits<std::int32_t>::max())
        return fail(Code::kInvalidArgument,
                    fmt::format("variable {}: too many containers", container.id));
      refill(container, walk);
      BENTO_ASSIGN(walk.reserved, checked_add(walk.reserved, container.containersize));
    }
  }

  Block added;
  for (const Protected& variable : variables) {
    const Walk& walk = walks.at(variable.id);
    if (walk.containers == 0 || walk.left > 0)
      added.containers.push_back(append(checkpoint.layout, variable.id, walk));
  }
  if (!added.containers.empty()) checkpoint.blocks.push_back(std::move(added));
  BENTO_TRY(place(checkpoint));
  return checkpoint;
}

}  // namespace

Result<Checkpoint> first_checkpoint(Layout layout, std::span<const Protected> variables) {
  Checkpoint empty;
  empty.layout = layout;
  return evolve(std::move(empty), variables);
}

Result<Checkpoint> next_checkpoint(const Checkpoint& previous,
                                   std::span<const Protected> variables) {
  return evolve(previous, variables);
}

}  // namespace bento::fti
