// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Two MD5 hashes over the same bytes in one pass. FTI hashes the content of each container, and
/// then the whole file, so every byte has to be hashed twice to verify a file. Each step of MD5
/// waits for the one before: a processor that works on two hashes in turns needs hardly longer
/// than for one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/fti/md5.hpp"
#include "core/fti/md5_steps.hpp"

namespace bento::fti {

/// The first hash runs over everything, the second over some parts of it, one after the other.
class Md5Pair {
 public:
  Md5Pair();  ///< with the fastest kernel that runs here
  explicit Md5Pair(md5_steps::PairKernel kernel) : kernel_(kernel) {}

  /// Bytes that only the first hash sees.
  void update_first(std::span<const std::byte> bytes);
  /// Bytes that both see.
  void update_both(std::span<const std::byte> bytes);
  /// The second begins anew.
  void restart_second() { second_ = {}; }

  /// Digests of what was fed so far; more may follow.
  [[nodiscard]] Digest first() const { return finish(first_); }
  [[nodiscard]] Digest second() const { return finish(second_); }

 private:
  struct Lane {
    md5_steps::Words state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    std::uint64_t bytes = 0;
    std::array<std::byte, md5_steps::kBlockBytes> waiting{};  ///< of a block that is not full yet
  };

  static std::span<const std::byte> fill_block(Lane& lane, std::span<const std::byte> bytes);
  static void blocks_and_rest(Lane& lane, std::span<const std::byte> bytes);
  static void update(Lane& lane, std::span<const std::byte> bytes);
  static Digest finish(Lane lane);

  md5_steps::PairKernel kernel_;
  Lane first_;
  Lane second_;
};

}  // namespace bento::fti
