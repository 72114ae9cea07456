// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The same XXH3-128 compiled for several vector units. xxHash's own dispatcher is not used:
/// whether a distribution's libxxhash contains it differs, and a plugin should not bring one more
/// library along.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "core/base/hash.hpp"

namespace bento {

/// Room for xxHash's streaming state; a kernel's translation unit checks that it is enough.
struct alignas(64) HashState {
  std::array<std::byte, 640> bytes{};
};

/// One way of computing it. All give the same values, and each continues its own state only.
struct HashKernel {
  const char* name = nullptr;
  Hash128 (*once)(std::span<const std::byte> bytes) = nullptr;
  void (*reset)(HashState& state) = nullptr;
  void (*update)(HashState& state, std::span<const std::byte> bytes) = nullptr;
  Hash128 (*digest)(const HashState& state) = nullptr;
};

/// What every processor of this architecture can run.
const HashKernel& portable_hash_kernel();
/// The others are null where this build or this processor cannot run them.
const HashKernel* avx2_hash_kernel();
const HashKernel* avx512_hash_kernel();

/// The fastest that runs here.
const HashKernel& best_hash_kernel();

}  // namespace bento
