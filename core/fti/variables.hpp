// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The content of a checkpoint by variable: the bytes of one id, put together from its containers.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/fti/evolve.hpp"
#include "core/fti/model.hpp"
#include "core/fti/source.hpp"

namespace bento::fti {

class Variables {
 public:
  /// Errors: kCorrupt (the chunks of a variable overlap or leave a gap; names the record's offset).
  /// Keeps nothing of `checkpoint`.
  static Result<Variables> of(const Checkpoint& checkpoint);

  /// Ids and sizes, ascending by id: what a program must protect to get this checkpoint back, and
  /// what first_checkpoint() takes to make an ordinary file of it.
  [[nodiscard]] std::vector<Protected> list() const;

  /// Fills `into` with the bytes [offset, offset + into.size()) of variable `id`.
  /// Errors: kNotFound (no such id), kInvalidArgument (range past the end), those of `source`.
  Status read(Source& source, std::int32_t id, std::uint64_t offset,
              std::span<std::byte> into) const;

 private:
  struct Piece {
    std::uint64_t dptr = 0, fptr = 0, bytes = 0, record_offset = 0;
  };
  std::map<std::int32_t, std::vector<Piece>>
      pieces_;  // each ascending by dptr, without gap from 0 on
};

}  // namespace bento::fti
