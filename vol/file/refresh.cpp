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
#include "hdf5/data/selection.hpp"
#include "hdf5/skeleton/contiguous_header.hpp"
#include "hdf5/skeleton/header_bytes.hpp"
#include "vol/file/dataset_state.hpp"
#include "vol/file/destination.hpp"
#include "vol/file/file_context.hpp"
#include "vol/file/metadata_cache.hpp"
#include "vol/file/native_dataset.hpp"
#include "vol/file/virtual_sources.hpp"

namespace bento::vol {

namespace {

std::optional<DatasetNumber> number_at(const FileContext& file, const TokenBytes& token) {
  const DatasetDeclaration* const found = file.find(token);
  if (found == nullptr) return std::nullopt;
  return found->number;
}

bool has_version_1_tree(const Object* dataset) {
  H5D_chunk_index_t index = H5D_CHUNK_IDX_BT2;
  H5VL_native_dataset_optional_args_t native{};
  native.get_chunk_idx_type.idx_type = &index;
  H5VL_optional_args_t args{H5VL_NATIVE_DATASET_GET_CHUNK_INDEX_TYPE, &native};
  const QuietErrors quiet;
  const ErrorStackKeeper keep;  // fails for datasets without chunks
  return H5VLdataset_optional(dataset->under, dataset->under_vol_id, &args,
                              H5P_DATASET_XFER_DEFAULT, nullptr) >= 0 &&
         index == H5D_CHUNK_IDX_BTREE;
}

// Of a dataset that is open more than once the library reads extent and layout anew, and keeps all
// else: another dataset at its place would have the old one's type. One that has chunks in a
// version 1 B-tree it takes apart for good: neither can be closed afterwards (docs/hdf5-traps.md).
// A committed type it does not read anew at all.
Status check_refreshable(const Object* object) {
  if (object->type == H5I_DATATYPE && object->outdated)
    return fail(Code::kUnsupported,
                "this committed type was changed or deleted by its writer, and HDF5 keeps a type "
                "as it is while it is open: close it");
  if (object->type != H5I_DATASET || (!object->replaced && !has_version_1_tree(object))) return {};
  BENTO_ASSIGN(const ObjectIdentity mine, identity_of(object));
  for (const Object* const other : open_objects()) {
    if (other == object || other->type != H5I_DATASET || other->under == nullptr) continue;
    const auto identity = identity_of(other);
    if (identity && *identity == mine)
      return fail(
          Code::kUnsupported,
          object->replaced
              ? "HDF5 cannot refresh a dataset that was deleted by its writer, whose values "
                "lie in metadata, or that is a virtual one, while it is open more than "
                "once: close the others, or close and open it again"
              : "HDF5 cannot refresh a chunked dataset of the old format that is open more "
                "than once: close the others, or close and open it again");
  }
  return {};
}

std::vector<std::byte> bytes_at(FileContext& file, const ObjectIdentity& place, std::size_t count) {
  std::vector<std::byte> bytes(count);
  file.image().read(header_address(place.token), bytes);
  return bytes;
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

/// The bytes of an open committed type's object header, empty if it is not one run.
std::vector<std::byte> header_of(FileContext& file, const Object* type) {
  H5O_native_info_t info{};
  H5VL_native_object_optional_args_t native{};
  native.get_native_info = {H5O_NATIVE_INFO_HDR, &info};
  H5VL_optional_args_t args{H5VL_NATIVE_OBJECT_GET_NATIVE_INFO, &native};
  const auto here = by_self(H5I_DATATYPE);
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  if (H5VLobject_optional(type->under, &here, type->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT,
                          nullptr) < 0 ||
      info.hdr.nchunks != 1)
    return {};
  return bytes_at(file, *type->identity, info.hdr.space.total);
}

/// What is known of an object that is open in the step that the file is about to leave.
struct OpenBefore {
  Object* object = nullptr;
  std::optional<DatasetNumber> number;
  std::vector<std::byte> header;  ///< of committed types
};

/// Has the dataset lost elements that its handle still has, of which the library keeps the old
/// extent? They would be read as if nobody had written them. An extent that cannot be read from the
/// header counts as smaller if it has to.
Result<bool> is_smaller_now(FileContext& file, const Object* dataset) {
  BENTO_ASSIGN(const SpaceHandle space, native_space(dataset));
  BENTO_ASSIGN(const Dims before, extent_of(space.get()));
  const auto now =
      read_header_extent(file.image().bytes(), header_address(dataset->identity->token));
  if (!now) return before.rank() > 0;
  if (now->rank() != before.rank()) return true;
  for (unsigned d = 0; d < now->rank(); ++d)
    if ((*now)[d] < before[d]) return true;
  return false;
}

// An open dataset that is still the same one is not outdated: its handle and a new one agree. Nor
// is a committed type that is still described by the same bytes.
bool is_same_still(FileContext& file, const OpenBefore& before) {
  const ObjectIdentity& identity = *before.object->identity;
  if (before.object->type == H5I_DATATYPE)
    return !before.object->outdated && !before.header.empty() &&
           bytes_at(file, identity, before.header.size()) == before.header;
  const auto now = number_at(file, identity.token);
  return now && now == before.number;
}

/// An object that can be read in the step that the file has come to: the refreshed one unless it
/// was deleted, else another open one. Null if there is none.
const Object* readable_object(const FileContext& file, const Object* refreshed) {
  if (info_at(refreshed, by_self(refreshed->type))) return refreshed;
  for (const Object* const other : open_objects())
    if (other->under != nullptr && !other->outdated && other->type != H5I_FILE &&
        context_of(other).get() == &file && info_at(other, by_self(other->type)))
      return other;
  return nullptr;
}

// What is asked for in one round stays and is given up in the other one. The library itself reads
// only what it refreshes anew, and that only if the refresh is not refused.
Status forget_old_step(const FileContext& file, Object* handle, const Object* refreshed) {
  if (const Object* const object = readable_object(file, refreshed))
    BENTO_TRY(forget_metadata(handle, object, by_self(object->type)));
  return forget_metadata(handle, handle, by_name(H5I_FILE, "/"));
}

/// `read_anew`: the place of the object that the library is about to read anew, if there is one.
Result<bool> leave_step(FileContext& file, const Object* refreshed, unsigned long fileno,
                        const ObjectIdentity* read_anew) {
  Object* const handle = open_file_of(file);
  if (handle == nullptr)
    return fail(Code::kUnsupported,
                fmt::format("'{}': an object can be refreshed only while its file is open by an "
                            "identifier of its own: open the file again, and let it be open",
                            file.name()));
  std::vector<OpenBefore> open;
  for (Object* const object : open_objects()) {
    const ObjectIdentity* const identity = identity_kept(object);
    if (identity == nullptr || identity->fileno != fileno) continue;
    open.push_back({object, number_at(file, identity->token), {}});
    if (object->type == H5I_DATATYPE) open.back().header = header_of(file, object);
  }
  BENTO_ASSIGN(const bool newer, file.refresh());
  if (!newer) return false;
  for (const OpenBefore& before : open) {
    const bool replaced = !is_same_still(file, before);
    bool outdated = replaced;
    const bool anew = read_anew != nullptr && *read_anew == *before.object->identity;
    if (!outdated && !anew && before.number && before.object->type == H5I_DATASET) {
      BENTO_ASSIGN(outdated, is_smaller_now(file, before.object));
    }
    if (outdated) mark_outdated(before.object, true);
    before.object->replaced |= replaced;
  }
  BENTO_TRY(forget_old_step(file, handle, refreshed));
  return true;
}

Result<bool> go_on(Object* object, bool is_read_anew) {
  const auto context = context_of(object);
  if (!context || context->writable()) return false;
  const ObjectIdentity* const mine = identity_kept(object);
  if (mine == nullptr)
    return fail(Code::kInternal, "the native connector does not know the object");
  return leave_step(*context, object, mine->fileno, is_read_anew ? mine : nullptr);
}

}  // namespace

Result<bool> go_to_newest(Object* object) {
  return go_on(object, false);
}

// First what all ranks do. The library then reads the object anew, for all its handles.
Status refresh_file(Object* object) {
  let_go_of_sources_aloud();
  const auto context = context_of(object);
  if (!context || context->writable()) return {};
  BENTO_TRY(go_on(object, true));
  BENTO_TRY(check_refreshable(object));
  context->note_extent_unknown();  // the library keeps one extent for all handles
  // What is known of the dataset that lay there before goes with it. The object itself may be
  // another one when the library has closed and opened it.
  const ObjectIdentity place = *object->identity;
  for (Object* const other : open_objects()) {
    if (!other->outdated || !other->identity || *other->identity != place) continue;
    mark_outdated(other, false);
    unresolve(other);
  }
  return {};
}

bool refreshed_file(Object* object) noexcept {
  return guard<herr_t>("refresh", [&] { return refresh_file(object); }) >= 0;
}

Status check_not_outdated(const ObjectIdentity& wanted, H5I_type_t type) {
  if (!any_outdated()) return {};
  for (const Object* const other : open_objects()) {
    if (!other->outdated || other->under == nullptr || *other->identity != wanted) continue;
    // Of a group the library keeps nothing but its address.
    if (other->type == H5I_GROUP && type == H5I_GROUP) continue;
    return fail(Code::kBusy,
                "an object is still open that lay at this one's place in an earlier step: refresh "
                "it or close it first");
  }
  return {};
}

Status check_not_outdated(const Object* where, const H5VL_loc_params_t& from, const char* name) {
  const H5VL_loc_params_t place = name != nullptr ? by_name(from.obj_type, name) : from;
  if (!any_outdated()) return {};
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
  return check_not_outdated(ObjectIdentity{token_bytes(info.token), info.fileno},
                            info.type == H5O_TYPE_GROUP ? H5I_GROUP : H5I_BADID);
}

bool may_open(const Object* where, const H5VL_loc_params_t* place, const char* name) noexcept {
  return guard<herr_t>("open", [&] { return check_not_outdated(where, *place, name); }) >= 0;
}

}  // namespace bento::vol
