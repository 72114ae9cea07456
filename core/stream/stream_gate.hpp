// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The gate of a stream for FTI: the block of one empty container behind the file block. Closed,
/// its container has an id that no application protects, and FTI restarts from nothing. Open, it is
/// the first container of the smallest id, and FTI may restart and go on. Source: docs/format.md,
/// "Streams for FTI".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/fti/v11.hpp"
#include "core/records/record.hpp"
#include "core/stream/fti_shares.hpp"
#include "core/stream/stream_walk.hpp"

namespace bento {

/// Whose smallest id an open gate carries; nothing: it is closed.
using Gate = std::optional<std::int32_t>;

/// The container record of a gate. A closed one has a hash of zeros, which no data has: so FTI
/// refuses also where it does not count the ids.
fti::v11::DbVar make_gate(Gate gate);
/// The block: head and container record.
std::vector<std::byte> encode_gate(Gate gate);
/// Writes it into a stream for FTI. The checksum in FB covers it. Errors: kIo, kNoSpace.
Status write_gate(const StreamPlace& place, Gate gate);

/// Numbers the containers of one stream, which it is told of in file order, and finds whether FTI
/// could go on from them: docs/format.md, "Streams for FTI". Makes no file call.
class GateKeeper {
 public:
  /// `shares` is what the index says; null: nothing is known, and the gate stays closed.
  GateKeeper(const FtiShares* shares, std::uint32_t writer);

  /// Sets idx, containerid and dptr of the next container that is no filler; the other fields say
  /// already what is live.
  void number(fti::v11::DbVar& var);
  /// A filler: something that FTI takes for one more variable.
  void filler() { closed_ = true; }
  /// After all containers.
  [[nodiscard]] Gate verdict() const;

 private:
  struct Variable {
    std::int32_t containers = 0;
    std::uint64_t live = 0;      ///< bytes
    std::uint64_t reserved = 0;  ///< capacities
    /// Capacities in front of the first container that FTI would fill with other bytes of the
    /// variable than it restores from it.
    std::optional<std::uint64_t> astray;
  };

  const FtiShares* shares_;
  bool closed_;
  std::int32_t smallest_ = 0;
  std::unordered_map<std::int32_t, Variable> variables_;
  std::vector<std::int32_t> ids_;  ///< in the order in which they appear
};

}  // namespace bento
