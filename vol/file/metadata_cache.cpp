// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/metadata_cache.hpp"

#include <algorithm>

#include <H5VLnative.h>

#include "hdf5/base/cache_settings.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "vol/file/destination.hpp"

namespace bento::vol {

namespace {

Result<H5AC_cache_config_t> cache_of(Object* file) {
  H5AC_cache_config_t config{};
  config.version = H5AC__CURR_CACHE_CONFIG_VERSION;
  H5VL_native_file_optional_args_t native{};
  native.get_mdc_config.config = &config;
  H5VL_optional_args_t args{H5VL_NATIVE_FILE_GET_MDC_CONF, &native};
  if (H5VLfile_optional(file->under, file->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT, nullptr) <
      0)
    return fail(Code::kInternal, "the settings of the library's metadata cache cannot be read");
  return config;
}

Result<std::uint32_t> cache_entries(Object* file) {
  H5VL_native_file_optional_args_t native{};
  std::size_t largest = 0;
  std::size_t clean = 0;
  std::size_t bytes = 0;
  std::uint32_t entries = 0;
  native.get_mdc_size = {&largest, &clean, &bytes, &entries};
  H5VL_optional_args_t args{H5VL_NATIVE_FILE_GET_MDC_SIZE, &native};
  if (H5VLfile_optional(file->under, file->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT, nullptr) <
      0)
    return fail(Code::kInternal, "the library's metadata cache cannot be asked for its size");
  return entries;
}

/// Makes the cache look `times` times at the object at `place`. By its token, that takes the
/// library a third of the time; but it refuses that of an object that no link leads to.
void touch(const Object* where, const H5VL_loc_params_t& place, int times) {
  H5O_info2_t info{};
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  if (!ask_info(where, place, info)) return;  // nor will it be there the next time
  const H5VL_loc_params_t same = by_token(where->type, info.token);
  H5O_type_t type = H5O_TYPE_UNKNOWN;
  H5VL_object_get_args_t args{};
  args.op_type = H5VL_OBJECT_GET_TYPE;
  args.args.get_type.obj_type = &type;
  int seen = 1;
  while (seen < times && H5VLobject_get(where->under, &same, where->under_vol_id, &args,
                                        H5P_DATASET_XFER_DEFAULT, nullptr) >= 0)
    ++seen;
  for (; seen < times; ++seen)
    if (!ask_info(where, place, info)) return;
}

}  // namespace

Object* open_file_of(const FileContext& file) {
  for (Object* const object : open_objects())
    if (object->type == H5I_FILE && object->under != nullptr && context_of(object).get() == &file)
      return object;
  return nullptr;
}

// Every rank replays the same metadata calls into its own skeleton, and addresses must come out
// equal. What the cache evicts depends on local reads, temporary addresses are resolved when a
// changed entry is evicted, and an entry that is loaded again has its free space in another order
// than one that has stayed. So nothing is evicted by itself.
H5AC_cache_config_t without_eviction(H5AC_cache_config_t config) {
  config.evictions_enabled = false;
  config.incr_mode = H5C_incr__off;
  config.flash_incr_mode = H5C_flash_incr__off;
  config.decr_mode = H5C_decr__off;
  return config;
}

Status forbid_eviction(hid_t fapl) {
  BENTO_ASSIGN(const H5AC_cache_config_t cache, cache_settings(fapl));
  return set_cache_settings(fapl, without_eviction(cache));
}

Status set_cache(Object* file, const H5AC_cache_config_t& config) {
  H5VL_native_file_optional_args_t native{};
  native.set_mdc_config.config = &config;
  H5VL_optional_args_t args{H5VL_NATIVE_FILE_SET_MDC_CONFIG, &native};
  if (H5VLfile_optional(file->under, file->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT, nullptr) <
      0)
    return fail(Code::kInternal, "the library's metadata cache cannot be configured");
  return {};
}

// The library has no call that empties the cache of a file. But its cache can be told to give up
// each entry that was not used for an epoch of some accesses; then only the entries stay that were
// accessed meanwhile: of the object at `place`, seen from `where`.
Status forget_metadata(Object* file, const Object* where, const H5VL_loc_params_t& place) {
  constexpr int kEpoch = 100;  // H5C__MIN_AR_EPOCH_LENGTH, in accesses
  constexpr int kEpochs = 3;
  constexpr std::uint32_t kStay = 2;  // the superblock, and what is asked for
  BENTO_ASSIGN(H5AC_cache_config_t before, cache_of(file));
  H5AC_cache_config_t forgetful = before;
  forgetful.evictions_enabled = true;  // off in files that ranks open together (forbid_eviction)
  forgetful.incr_mode = H5C_incr__off;
  forgetful.flash_incr_mode = H5C_flash_incr__off;
  forgetful.epochs_before_eviction = 1;
  forgetful.epoch_length = kEpoch;
  forgetful.apply_max_decrement = false;
  forgetful.apply_empty_reserve = false;
  forgetful.upper_hr_threshold = 0;
  forgetful.min_size = 1024;  // H5C__MIN_MAX_CACHE_SIZE
  // It gives up entries while it becomes smaller, so it must be larger, whatever a program has set.
  forgetful.max_size = std::max(forgetful.max_size, std::size_t{1} << 20);
  forgetful.initial_size = forgetful.max_size;
  touch(where, place, 1);  // so that it is among those that are counted
  BENTO_ASSIGN(std::uint32_t entries, cache_entries(file));
  for (bool more = true; more;) {
    // Without the marks of epochs that were left behind: the cache evicts in one epoch only, in the
    // one in which it comes to its smallest size, and that must not be the first.
    forgetful.decr_mode = H5C_decr__off;
    BENTO_TRY(set_cache(file, forgetful));
    forgetful.decr_mode = H5C_decr__age_out;
    forgetful.set_initial_size = true;
    BENTO_TRY(set_cache(file, forgetful));
    // Some entries hold others, which can go only after them: pieces of an object header the
    // header.
    const std::uint32_t had = entries;
    for (int epoch = 0; epoch < kEpochs && entries >= had; ++epoch) {
      touch(where, place, kEpoch);
      BENTO_ASSIGN(entries, cache_entries(file));
    }
    more = entries < had && entries > kStay;
  }
  before.set_initial_size = true;
  return set_cache(file, before);
}

// All of it, on all ranks: what stayed here and went elsewhere would later be put in other places.
// Each later flush looks at every entry that is left (H5C_set_slist_enabled).
Status evict_flushed(Object* file) {
  BENTO_ASSIGN(const H5AC_cache_config_t config, cache_of(file));
  if (config.evictions_enabled) return {};
  return forget_metadata(file, file, by_name(H5I_FILE, "/"));
}

}  // namespace bento::vol
