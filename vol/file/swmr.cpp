// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/swmr.hpp"

#include <algorithm>

#include <H5VLnative.h>
#include <fmt/format.h>

#include "hdf5/base/error_bridge.hpp"
#include "vol/file/flush.hpp"
#include "vol/file/refresh.hpp"
#include "vol/file/virtual_sources.hpp"

namespace bento::vol {

namespace {

constexpr unsigned kOldestSuperblock = 3;                // of HDF5 1.10, the first with SWMR
constexpr H5F_libver_t kOldestFormat = H5F_LIBVER_V110;  // the same as a bound

Result<unsigned> superblock_version(const Object* file) {
  H5F_info2_t info{};
  H5VL_native_file_optional_args_t native{};
  native.get_info = {H5I_FILE, &info};
  H5VL_optional_args_t args{H5VL_NATIVE_FILE_GET_INFO, &native};
  if (H5VLfile_optional(file->under, file->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT, nullptr) <
      0)
    return fail(Code::kInternal, "the file's format cannot be asked for");
  return info.super.version;
}

Result<H5F_libver_t> low_bound(const Object* file) {
  H5VL_file_get_args_t args{};
  args.op_type = H5VL_FILE_GET_FAPL;
  if (H5VLfile_get(file->under, file->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
    return fail(Code::kInternal, "the file's access list cannot be asked for");
  const PlistHandle list(args.args.get_fapl.fapl_id);
  H5F_libver_t low{};
  H5F_libver_t high{};
  if (H5Pget_libver_bounds(list.get(), &low, &high) < 0)
    return fail(Code::kInternal, "the bounds of the file's format cannot be asked for");
  return low;
}

// HDF5's driver for MPI has no SWMR either.
Status refuse_parallel(const std::string& name) {
  return fail(Code::kUnsupported,
              fmt::format("'{}': SWMR access is not possible in a file that is opened with mpio; "
                          "readers see the last commit without it",
                          name));
}

}  // namespace

Status check_swmr(const char* name, unsigned flags, const UserAccess& access) {
  if (swmr_of(flags) == Swmr::kNone || !access.parallel) return {};
  return refuse_parallel(name);
}

// The library itself compares what else there is in the flags.
Status check_swmr_again(const char* name, unsigned flags, const FileContext& open) {
  BENTO_TRY(check_swmr(name, flags, open.access()));
  if (swmr_of(flags) == Swmr::kWriter && open.writable() && open.swmr() != Swmr::kWriter)
    return fail(
        Code::kInvalidArgument,
        fmt::format("'{}': SWMR write access flag not the same for file that is already open",
                    name));
  return {};
}

Status ask_for_swmr_format(hid_t fapl) {
  H5F_libver_t low{};
  H5F_libver_t high{};
  if (H5Pget_libver_bounds(fapl, &low, &high) < 0)
    return fail(Code::kInternal, "the bounds of the file's format cannot be asked for");
  if (high < kOldestFormat) return fail(Code::kInvalidArgument, "superblock version out of bounds");
  if (H5Pset_libver_bounds(fapl, std::max(low, kOldestFormat), high) < 0)
    return fail(Code::kInternal, "the bounds of the file's format cannot be set");
  return {};
}

Status check_swmr_format(const Object* file) {
  BENTO_ASSIGN(const unsigned version, superblock_version(file));
  if (version >= kOldestSuperblock) return {};
  return fail(Code::kInvalidArgument, "superblock version for SWMR is less than 3");
}

void begin_swmr_writing(FileContext& file) {
  constexpr double kSeconds = 2;
  file.set_swmr(Swmr::kWriter);
  file.container().keep_for(kSeconds);
}

Status start_swmr_write(Object* file) {
  const auto context = context_of(file);
  if (!context) return fail(Code::kInternal, "the file is no container");
  if (context->access().parallel) return refuse_parallel(context->name());
  if (!context->writable()) return fail(Code::kInvalidArgument, "no write intent on file");
  BENTO_ASSIGN(const unsigned version, superblock_version(file));
  if (version < kOldestSuperblock)
    return fail(Code::kInvalidArgument, "file superblock version - should be at least 3");
  BENTO_ASSIGN(const H5F_libver_t low, low_bound(file));
  if (low < kOldestFormat)
    return fail(Code::kInvalidArgument,
                "file format version does not support SWMR - needs to be 1.10 or greater");
  if (context->swmr() == Swmr::kWriter)
    return fail(Code::kInvalidArgument, "file already in SWMR writing mode");
  BENTO_TRY(flush(file, H5F_SCOPE_LOCAL));
  begin_swmr_writing(*context);
  return {};
}

Status begin_object_flush(Object* object) {
  BENTO_TRY(let_go_of_sources());
  const auto context = context_of(object);
  if (!context) return {};
  if (context->access().parallel)
    return fail(Code::kUnsupported, "H5Oflush isn't supported for parallel");
  if (context->swmr() != Swmr::kWriter) return {};
  return flush(object, H5F_SCOPE_LOCAL);
}

bool begun_object_flush(Object* object) noexcept {
  return guard<herr_t>("flush of an object", [&] { return begin_object_flush(object); }) >= 0;
}

bool follow_writer(Object* dataset) {
  const auto context = context_of(dataset);
  if (!context || context->swmr() != Swmr::kReader || !context->container().step_is_gone())
    return false;
  const ErrorStackKeeper keep;
  const auto newer = go_to_newest(dataset);
  return newer && *newer;
}

}  // namespace bento::vol
