// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The collective calls that a rank has made on a file. All ranks must make the same ones: a commit
/// compares a running hash, and only when hashes differ do the ranks send what they did, to find
/// the first call that was not the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm/communicator.hpp"

namespace bento {

class OperationLog {
 public:
  /// `what` names the call ("attr_create"), `detail` its argument, often a name or path.
  void note(std::string_view what, std::string_view detail);
  /// Equal on ranks that have made the same calls.
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  /// The calls so far were found equal: their texts are needed no more.
  void agreed();

  /// The calls since the last agreement, the first kKept of them, to be sent to rank 0.
  [[nodiscard]] Bytes encode() const;

  /// Texts are kept of so many calls.
  static constexpr std::size_t kKept = 1u << 16;

 private:
  struct Call {
    std::uint64_t hash;  ///< of all calls up to here
    std::string text;
  };
  std::uint64_t hash_ = 0;
  std::uint64_t calls_ = 0;  ///< since the last agreement
  std::vector<Call> kept_;
};

/// One sentence on the first call that two ranks do not share, from each rank's encode().
std::string first_difference(std::span<const Bytes> logs);

}  // namespace bento
