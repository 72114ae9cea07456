// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/refresh.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <H5VLnative.h>
#include <fmt/format.h>

#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "vol/file/dataset_state.hpp"
#include "vol/file/destination.hpp"
#include "vol/file/file_context.hpp"

namespace bento::vol {

namespace {

std::optional<DatasetNumber> number_at(const FileContext& file, const TokenBytes& token) {
  const DatasetDeclaration* const found = file.find(token);
  if (found == nullptr) return std::nullopt;
  return found->number;
}

// HDF5 1.14.5 takes a dataset apart for good when it refreshes one that is open more than once and
// has chunks in a version 1 B-tree: neither can be closed afterwards (docs/hdf5-traps.md).
Status check_refreshable(const Object* object) {
  if (object->type != H5I_DATASET) return {};
  H5D_chunk_index_t index = H5D_CHUNK_IDX_BT2;
  H5VL_native_dataset_optional_args_t native{};
  native.get_chunk_idx_type.idx_type = &index;
  H5VL_optional_args_t args{H5VL_NATIVE_DATASET_GET_CHUNK_INDEX_TYPE, &native};
  {
    const QuietErrors quiet;
    const ErrorStackKeeper keep;  // fails for datasets without chunks
    if (H5VLdataset_optional(object->under, object->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT,
                             nullptr) < 0)
      return {};
  }
  if (index != H5D_CHUNK_IDX_BTREE) return {};
  BENTO_ASSIGN(const ObjectIdentity mine, identity_of(object));
  for (const Object* const other : open_objects()) {
    if (other == object || other->type != H5I_DATASET || other->under == nullptr) continue;
    const auto identity = identity_of(other);
    if (identity && identity->fileno == mine.fileno && identity->token == mine.token)
      return fail(Code::kUnsupported,
                  "HDF5 cannot refresh a chunked dataset of the old format that is open more than "
                  "once: close the others, or close and open it again");
  }
  return {};
}

/// The native file below some open file id. Null if there is none: the program has closed it, or
/// the file was opened through an external link.
Object* open_file_of(const FileContext& file) {
  for (Object* const object : open_objects())
    if (object->type == H5I_FILE && object->under != nullptr && context_of(object).get() == &file)
      return object;
  return nullptr;
}

Status cache_config(Object* file, int what, H5AC_cache_config_t& config) {
  H5VL_native_file_optional_args_t native{};
  if (what == H5VL_NATIVE_FILE_GET_MDC_CONF)
    native.get_mdc_config.config = &config;
  else
    native.set_mdc_config.config = &config;
  H5VL_optional_args_t args{what, &native};
  if (H5VLfile_optional(file->under, file->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT, nullptr) <
      0)
    return fail(Code::kInternal, "the library's metadata cache cannot be configured");
  return {};
}

// The library has no call that empties the cache of a file. But its cache can be told to give up
// each entry that was not used for an epoch of some accesses; then only what open objects hold
// stays, and the entries that were accessed meanwhile: of the object that is refreshed next, which
// the library reads anew itself.
Status forget_metadata(Object* file, const Object* refreshed) {
  constexpr int kEpoch = 100;  // H5C__MIN_AR_EPOCH_LENGTH, in accesses
  constexpr int kEpochs = 3;
  H5AC_cache_config_t before{};
  before.version = H5AC__CURR_CACHE_CONFIG_VERSION;
  BENTO_TRY(cache_config(file, H5VL_NATIVE_FILE_GET_MDC_CONF, before));
  H5AC_cache_config_t forgetful = before;
  forgetful.set_initial_size = false;
  // The library may say that they are off where its own sizes change by themselves, and refuses
  // just that when it is set.
  forgetful.evictions_enabled = true;
  forgetful.incr_mode = H5C_incr__off;
  forgetful.flash_incr_mode = H5C_flash_incr__off;
  forgetful.decr_mode = H5C_decr__age_out;
  forgetful.epochs_before_eviction = 1;
  forgetful.epoch_length = kEpoch;
  forgetful.apply_max_decrement = false;
  forgetful.apply_empty_reserve = false;
  forgetful.upper_hr_threshold = 0;
  forgetful.min_size = 1024;  // H5C__MIN_MAX_CACHE_SIZE
  BENTO_TRY(cache_config(file, H5VL_NATIVE_FILE_SET_MDC_CONFIG, forgetful));
  // An object that was deleted has no header any more.
  const H5VL_loc_params_t itself = by_self(refreshed->type);
  const H5VL_loc_params_t place =
      info_at(refreshed, itself) ? itself : by_name(refreshed->type, "/");
  for (int i = 0; i < kEpochs * kEpoch; ++i) (void)info_at(refreshed, place);
  before.set_initial_size = true;
  const bool resizes = before.incr_mode != H5C_incr__off ||
                       before.flash_incr_mode != H5C_flash_incr__off ||
                       before.decr_mode != H5C_decr__off;
  before.evictions_enabled = before.evictions_enabled || resizes;
  return cache_config(file, H5VL_NATIVE_FILE_SET_MDC_CONFIG, before);
}

// Asked while the object can still be read: later there may be another one at its place.
const ObjectIdentity* identity_kept(Object* object) {
  if (object->under == nullptr || object->type == H5I_FILE) return nullptr;
  if (!object->identity) {
    auto identity = identity_of(object);
    if (!identity) return nullptr;
    object->identity = std::make_shared<ObjectIdentity>(*identity);
  }
  return object->identity.get();
}

bool same_place(const ObjectIdentity& a, const ObjectIdentity& b) {
  return a.fileno == b.fileno && a.token == b.token;
}

// An open dataset that is still the same one is not outdated: its handle and a new one agree.
Status go_to_newest(FileContext& file, const Object* refreshed, unsigned long fileno) {
  Object* const handle = open_file_of(file);
  if (handle == nullptr)
    return fail(Code::kUnsupported,
                fmt::format("'{}': an object can be refreshed only while its file is open by an "
                            "identifier of its own: open the file again, and let it be open",
                            file.name()));
  std::vector<std::pair<Object*, std::optional<DatasetNumber>>> open;
  for (Object* const object : open_objects()) {
    const ObjectIdentity* const identity = identity_kept(object);
    if (identity != nullptr && identity->fileno == fileno)
      open.emplace_back(object, number_at(file, identity->token));
  }
  BENTO_ASSIGN(const bool newer, file.refresh());
  if (!newer) return {};
  for (const auto& [object, before] : open) {
    const auto now = number_at(file, object->identity->token);
    if (!now || now != before) object->outdated = true;
  }
  return forget_metadata(handle, refreshed);
}

}  // namespace

// First what all ranks do. The library then reads the object anew, for all its handles.
Status refresh_file(Object* object) {
  const auto context = context_of(object);
  if (!context || context->writable()) return {};
  const ObjectIdentity* const mine = identity_kept(object);
  if (mine == nullptr)
    return fail(Code::kInternal, "the native connector does not know the object");
  BENTO_TRY(go_to_newest(*context, object, mine->fileno));
  BENTO_TRY(check_refreshable(object));
  for (Object* const other : open_objects())
    if (other->outdated && other->identity && same_place(*other->identity, *mine))
      other->outdated = false;
  return {};
}

bool refreshed_file(Object* object) noexcept {
  return guard<herr_t>("refresh", [&] { return refresh_file(object); }) >= 0;
}

Status check_not_outdated(const Object* where, const H5VL_loc_params_t& from, const char* name) {
  const H5VL_loc_params_t place = name != nullptr ? by_name(from.obj_type, name) : from;
  std::vector<const Object*> outdated;
  for (const Object* const object : open_objects())
    if (object->outdated && object->under != nullptr) outdated.push_back(object);
  if (outdated.empty()) return {};
  H5O_info2_t info{};
  if (place.type == H5VL_OBJECT_BY_TOKEN) {
    BENTO_ASSIGN(const ObjectIdentity file, identity_of(where));
    info.fileno = file.fileno;
    info.token = *place.loc_data.loc_by_token.token;
    info.type = H5O_TYPE_UNKNOWN;
  } else if (const auto found = info_at(where, place)) {
    info = *found;
  } else {
    return {};  // fails when it is opened
  }
  const ObjectIdentity wanted{token_bytes(info.token), info.fileno};
  for (const Object* const other : outdated) {
    // Of a group the library keeps nothing but its address.
    if (other->type == H5I_GROUP && info.type == H5O_TYPE_GROUP) continue;
    if (same_place(*other->identity, wanted))
      return fail(Code::kBusy,
                  "an object is still open that lay at this one's place in an earlier step: "
                  "refresh it or close it first");
  }
  return {};
}

bool may_open(const Object* where, const H5VL_loc_params_t* place, const char* name) noexcept {
  return guard<herr_t>("open", [&] { return check_not_outdated(where, *place, name); }) >= 0;
}

}  // namespace bento::vol
