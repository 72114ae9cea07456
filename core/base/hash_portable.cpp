// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <cstring>
#include <new>

#include "core/base/hash_kernel.hpp"
#include "core/base/hash_kernel.inc"

namespace bento {

const HashKernel& portable_hash_kernel() {
  static constexpr HashKernel kKernel{"portable", kernel_once, kernel_reset, kernel_update,
                                      kernel_digest};
  return kKernel;
}

}  // namespace bento
