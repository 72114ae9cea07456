// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/open_source.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "vol/file/destination.hpp"
#include "vol/file/fapl.hpp"
#include "vol/file/file_context.hpp"
#include "vol/file/own_connector.hpp"
#include "vol/file/refresh.hpp"

namespace bento::vol {

namespace {

bool opening = false;

PlistHandle access_of(const Object* file) {
  H5VL_file_get_args_t args{};
  args.op_type = H5VL_FILE_GET_FAPL;
  if (H5VLfile_get(file->under, file->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
    return {};
  return PlistHandle(args.args.get_fapl.fapl_id);
}

/// The library gives the native file for an identifier.
const Object* wrapper_of(hid_t file) {
  const void* const native = H5VLobject(file);
  for (const Object* const object : open_objects())
    if (object->type == H5I_FILE && object->under == native) return object;
  return nullptr;
}

/// As natively: the access list of the file that the virtual dataset is in. That of ranks would be
/// collective; each of them opens the sources by itself.
Result<PlistHandle> source_access(const Object* holder) {
  const auto context = context_of(holder);
  const auto fileno = fileno_of(holder);
  const Object* const file = fileno ? open_file_with(*fileno) : nullptr;
  PlistHandle list;
  if (file != nullptr && !(context && context->access().parallel)) list = access_of(file);
  if (list.valid() && context) BENTO_TRY(show_user_access(list.get(), file, *context));
  if (!list.valid()) list = PlistHandle(H5Pcreate(H5P_FILE_ACCESS));
  // A page buffer is for this file's own pages; other files may have none.
  if (list.valid() && H5Pset_page_buffer_size(list.get(), 0, 0, 0) < 0)
    return fail(Code::kInternal, "no access list for the source of a virtual dataset");
  const ConnectorHandle connector = own_connector();
  if (!list.valid() || !connector.valid() ||
      H5Pset_fclose_degree(list.get(), H5F_CLOSE_DEFAULT) < 0 ||
      H5Pset_vol(list.get(), connector.get(), nullptr) < 0)
    return fail(Code::kInternal, "no access list for the source of a virtual dataset");
  return list;
}

/// How the file of `object` is open: flags of H5Fopen.
unsigned flags_of_file(const Object* object) {
  const auto fileno = fileno_of(object);
  const Object* const file = fileno ? open_file_with(*fileno) : nullptr;
  unsigned flags = 0;
  H5VL_file_get_args_t args{};
  args.op_type = H5VL_FILE_GET_INTENT;
  args.args.get_intent.flags = &flags;
  if (file == nullptr ||
      H5VLfile_get(file->under, file->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
    return 0;
  return flags;
}

/// Is the file of `object` open for SWMR? Its sources may be, too, in another process.
bool is_of_swmr(const Object* object) {
  const auto context = context_of(object);
  return (context && context->swmr() != Swmr::kNone) ||
         (flags_of_file(object) & (H5F_ACC_SWMR_READ | H5F_ACC_SWMR_WRITE)) != 0;
}

/// Has the program, or another virtual dataset, something open in the file of `file` and `dataset`?
/// (The library has a handle of its own for each open file, of the same native one.)
bool open_elsewhere(const Object* file, const Object* dataset) {
  const auto fileno = fileno_of(file);
  return std::any_of(open_objects().begin(), open_objects().end(), [&](const Object* other) {
    return other->under != nullptr && other->under != file->under && other != dataset &&
           fileno_of(other) == fileno;
  });
}

/// May the dataset stay open when the file is closed? Not where the program asked for another
/// degree of closing, nor where the last close is a meeting of ranks. A file that the program has
/// open as well shall be closed, and committed, when the program closes it.
bool may_stay(const Object* file, const Object* dataset) {
  if (open_elsewhere(file, dataset)) return false;
  const auto context = context_of(file);
  if (context && context->access().parallel) return false;
  const PlistHandle list = access_of(file);
  H5F_close_degree_t degree = H5F_CLOSE_DEFAULT;
  return list.valid() && H5Pget_fclose_degree(list.get(), &degree) >= 0 && degree == H5F_CLOSE_WEAK;
}

}  // namespace

bool is_opening_source() {
  return opening;
}

Result<Object*> open_source_dataset(const Object* where, const std::string& name, hid_t dapl) {
  const std::string path = name.empty() || name.front() != '/' ? "/" + name : name;
  const auto place = by_self(where->type);
  BENTO_TRY(check_not_outdated(where, place, path.c_str()));
  {
    const QuietErrors quiet;
    if (void* const under = H5VLdataset_open(where->under, &place, where->under_vol_id,
                                             path.c_str(), dapl, H5P_DATASET_XFER_DEFAULT, nullptr))
      return wrap_new(under, where->under_vol_id, H5I_DATASET);
  }
  if (const auto found = info_at(where, by_name(where->type, path.c_str())))
    return fail(
        Code::kInvalidArgument,
        fmt::format("'{}' {}", name,
                    found->type == H5O_TYPE_DATASET ? "cannot be opened" : "is no dataset"));
  H5Eclear2(H5E_DEFAULT);
  return nullptr;
}

Result<OpenSource> open_source_in(const std::string& path, const std::string& name,
                                  const SourceHolder& holder, SourcePurpose purpose) {
  OpenSource source;
  source.writable = purpose == SourcePurpose::kWriting;
  BENTO_ASSIGN(const PlistHandle access, source_access(holder.object));
  FileHandle file;
  {
    const QuietErrors quiet;
    opening = true;
    const unsigned flags = source.writable ? H5F_ACC_RDWR : H5F_ACC_RDONLY;
    if (!source.writable && is_of_swmr(holder.object))
      file = FileHandle(H5Fopen(path.c_str(), flags | H5F_ACC_SWMR_READ, access.get()));
    if (!file.valid()) file = FileHandle(H5Fopen(path.c_str(), flags, access.get()));
    opening = false;
  }
  if (!file.valid())
    return fail(Code::kIo, fmt::format("'{}' cannot be opened: {}", path, innermost_error()));
  const Object* const object = wrapper_of(file.get());
  if (object == nullptr) return fail(Code::kInternal, fmt::format("'{}' has no handle", path));
  BENTO_ASSIGN(source.dataset, open_source_dataset(object, name, holder.dapl));
  // Where the program may write to the holder's file it may follow a link into the source, which
  // HDF5 then opens for writing: it cannot, beside one that is open for reading.
  const bool in_the_way = !source.writable && (flags_of_file(holder.object) & H5F_ACC_RDWR) != 0;
  source.stays = source.dataset != nullptr && !in_the_way && may_stay(object, source.dataset);
  if (!source.stays && source.dataset != nullptr) source.file = std::move(file);
  return source;
}

}  // namespace bento::vol
