// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <cstring>
#include <new>

#include "core/base/hash_kernel.hpp"

#ifdef __x86_64__
#ifndef __clang__
// GCC 12's AVX-512 intrinsics spell "undefined vector" in a way that it warns about itself.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
// From here on for AVX-512: no header with inline functions of external linkage may follow.
#define XXH_VECTOR 3
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f")
#endif
#include "core/base/hash_kernel.inc"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

namespace bento {

const HashKernel* avx512_hash_kernel() {
#ifdef __x86_64__
  static constexpr HashKernel kKernel{"avx512", kernel_once, kernel_reset, kernel_update,
                                      kernel_digest};
  static const bool usable = __builtin_cpu_supports("avx512f") != 0;
  return usable ? &kKernel : nullptr;
#else
  return nullptr;
#endif
}

}  // namespace bento
