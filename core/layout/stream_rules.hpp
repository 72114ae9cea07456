// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What holds for all streams of a container, fixed when it is created: the hash of records, and
/// whether FTI itself may go on from a stream as it lies. Source: docs/format.md, "A rank's stream"
/// and "Streams for FTI".
#pragma once

#include <cstdint>

#include "core/base/hash_kind.hpp"

namespace bento {

struct StreamRules {
  HashKind hash = HashKind::kXxh3;  ///< of records; kMd5 or kXxh3
  /// No fillers, so that a large record's data lies right behind its header; and a gate, with which
  /// FTI is kept out of a stream that it could not continue.
  bool for_fti = false;

  StreamRules() = default;
  // Which hash is all there was to say before there were gates.
  StreamRules(HashKind kind, bool gated = false)  // NOLINT(google-explicit-constructor)
      : hash(kind), for_fti(gated) {}

  /// The gate: a block of one empty container, right behind the file block.
  [[nodiscard]] std::uint64_t gate_bytes() const { return for_fti ? kGateBytes : 0; }
  /// File block and gate: where the blocks of records begin.
  [[nodiscard]] std::uint64_t head_bytes() const { return kFileBlockBytes + gate_bytes(); }
  /// Containers of a large record's block: the record's, and a filler that aligns it.
  [[nodiscard]] std::uint32_t large_containers() const { return for_fti ? 1 : 2; }

  bool operator==(const StreamRules&) const = default;

  /// As core/fti has them, which this folder does not know.
  static constexpr std::uint64_t kFileBlockBytes = 96;
  static constexpr std::uint64_t kGateBytes = 12 + 64;
};

}  // namespace bento
