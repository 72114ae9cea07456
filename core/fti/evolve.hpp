// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How the structure of a checkpoint file follows from the previous one and the sizes of the
/// protected variables. Containers are never moved, resized or freed; growth appends one block.
/// Source: docs/formats/fti-ff.md, section 3.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/error.hpp"
#include "core/fti/model.hpp"

namespace bento::fti {

/// A variable that the next checkpoint shall hold.
struct Protected {
  std::int32_t id = 0;
  std::uint64_t bytes = 0;

  bool operator==(const Protected&) const = default;
};

/// Structure of the first checkpoint of `variables`: one block, one container each.
/// @return blocks, offsets and sizes as by place(); hashes and the rest of the meta are left to the
/// writer Errors: kInvalidArgument (no variable, an id twice, a filler's id, sizes that do not
/// fit).
Result<Checkpoint> first_checkpoint(Layout layout, std::span<const Protected> variables);

/// Structure of the checkpoint that follows `previous`. Old containers keep their hash until the
/// writer replaces it. @param variables  in protect order; every id of `previous` must be among
/// them, since FTI has no way to drop a variable. Errors: kInvalidArgument (as above; an id of
/// `previous` is missing).
Result<Checkpoint> next_checkpoint(const Checkpoint& previous,
                                   std::span<const Protected> variables);

}  // namespace bento::fti
