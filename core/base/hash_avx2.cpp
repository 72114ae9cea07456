// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <cstring>
#include <new>

#include "core/base/hash_kernel.hpp"

#ifdef __x86_64__
#include <immintrin.h>
// From here on for AVX2: no header with inline functions of external linkage may follow.
#define XXH_VECTOR 2
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#include "core/base/hash_kernel.inc"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

namespace bento {

const HashKernel* avx2_hash_kernel() {
#ifdef __x86_64__
  static constexpr HashKernel kKernel{"avx2", kernel_once, kernel_reset, kernel_update,
                                      kernel_digest};
  static const bool usable = __builtin_cpu_supports("avx2") != 0;
  return usable ? &kKernel : nullptr;
#else
  return nullptr;
#endif
}

}  // namespace bento
