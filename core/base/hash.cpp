// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/base/hash.hpp"

#include "core/base/hash_kernel.hpp"

namespace bento {

const HashKernel& best_hash_kernel() {
  static const HashKernel& best = []() -> const HashKernel& {
    if (const HashKernel* wide = avx512_hash_kernel()) return *wide;
    if (const HashKernel* middle = avx2_hash_kernel()) return *middle;
    return portable_hash_kernel();
  }();
  return best;
}

Hash128 hash128(std::span<const std::byte> bytes) {
  return best_hash_kernel().once(bytes);
}

// Aligned as the vector units want it: `new` honours the alignment of HashState.
struct Hasher::State {
  const HashKernel& kernel = best_hash_kernel();
  HashState state;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  reset();
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::reset() {
  state_->kernel.reset(state_->state);
}
void Hasher::update(std::span<const std::byte> bytes) {
  state_->kernel.update(state_->state, bytes);
}
Hash128 Hasher::digest() const {
  return state_->kernel.digest(state_->state);
}

}  // namespace bento
