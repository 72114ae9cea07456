// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// MD5, which FTI-FF prescribes. It guards against accidents only; what is ours is hashed with XXH3
/// (core/base/hash.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace bento::fti {

/// A 16-byte hash in the order in which FTI-FF stores it. MD5 and XXH3-128 (canonical form) share
/// the field.
using Digest = std::array<std::byte, 16>;

/// MD5 of one buffer. Thread-safe.
Digest md5(std::span<const std::byte> bytes);

/// MD5 of data that arrives in pieces; how it is cut does not matter.
class Md5 {
 public:
  Md5();
  ~Md5();
  Md5(const Md5& other);
  Md5& operator=(const Md5& other);
  Md5(Md5&&) noexcept;
  Md5& operator=(Md5&&) noexcept;

  void update(std::span<const std::byte> bytes);
  /// Feeds `count` zero bytes.
  void update_zeros(std::uint64_t count);
  /// Digest of what was fed so far; more may follow.
  [[nodiscard]] Digest digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bento::fti
