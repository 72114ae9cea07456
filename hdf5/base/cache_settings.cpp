// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/base/cache_settings.hpp"

#include <cstddef>

namespace bento::vol {

Result<H5AC_cache_config_t> cache_settings(hid_t fapl) {
  H5AC_cache_config_t settings{};
  settings.version = H5AC__CURR_CACHE_CONFIG_VERSION;
  if (H5Pget_mdc_config(fapl, &settings) < 0)
    return fail(Code::kInternal, "metadata cache settings unreadable");
  return settings;
}

Status set_cache_settings(hid_t fapl, H5AC_cache_config_t settings) {
  if (H5Pset_mdc_config(fapl, &settings) < 0)
    return fail(Code::kInternal, "metadata cache settings refused");
  return {};
}

Status keep_cache_small(hid_t fapl) {
  // As they lie in the file. In memory the library takes some twenty times as much:
  // docs/benchmarks.md.
  constexpr std::size_t kBytes = std::size_t{128} * 1024;
  constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  BENTO_ASSIGN(H5AC_cache_config_t cache, cache_settings(fapl));
  cache.set_initial_size = true;
  cache.initial_size = kBytes;
  cache.min_size = kBytes;
  cache.max_size = kMostBytes;
  cache.incr_mode = H5C_incr__off;
  cache.decr_mode = H5C_decr__off;
  // For each large piece (the names of a group with many links, a block of many attributes) the
  // cache grows by its size: in a cache that it does not fit into, it would be read and decoded at
  // every access.
  cache.flash_incr_mode = H5C_flash_incr__add_space;
  cache.flash_multiple = 1;
  cache.flash_threshold = 0.25;
  return set_cache_settings(fapl, cache);
}

}  // namespace bento::vol
