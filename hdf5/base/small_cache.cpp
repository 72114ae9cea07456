// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/base/small_cache.hpp"

#include <cstddef>

namespace bento::vol {

Status keep_cache_small(hid_t fapl) {
  constexpr std::size_t kBytes = std::size_t{512} * 1024;  // about a thousand object headers
  H5AC_cache_config_t cache{};
  cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
  if (H5Pget_mdc_config(fapl, &cache) < 0)
    return fail(Code::kInternal, "metadata cache settings unreadable");
  cache.set_initial_size = true;
  cache.initial_size = kBytes;
  cache.min_size = kBytes;
  cache.max_size = kBytes;
  cache.incr_mode = H5C_incr__off;
  cache.decr_mode = H5C_decr__off;
  // What is larger than the cache by itself makes it grow, also beyond its largest size.
  cache.flash_incr_mode = H5C_flash_incr__off;
  if (H5Pset_mdc_config(fapl, &cache) < 0)
    return fail(Code::kInternal, "metadata cache settings refused");
  return {};
}

}  // namespace bento::vol
