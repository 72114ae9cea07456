// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How many bytes values of variable length take in memory, found out by reading them.
#pragma once

#include <cstdlib>

#include <hdf5.h>

namespace bento::vol {

/// Reads with this transfer list add the bytes of what they allocate to `bytes`, which must outlive
/// them. H5Treclaim() with the same list gives it back. False: the list is refused.
inline bool count_values(hid_t list, hsize_t& bytes) {
  const H5MM_allocate_t allocate = [](size_t size, void* sum) {
    *static_cast<hsize_t*>(sum) += size;
    return std::malloc(size);
  };
  const H5MM_free_t give_back = [](void* memory, void*) { std::free(memory); };
  return H5Pset_vlen_mem_manager(list, allocate, &bytes, give_back, nullptr) >= 0;
}

}  // namespace bento::vol
