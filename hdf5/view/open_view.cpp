// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/view/open_view.hpp"

#include <fmt/format.h>

#include "hdf5/base/cache_settings.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/library_version.hpp"
#include "hdf5/base/relaxed_checks.hpp"
#include "hdf5/view/symbol_table.hpp"

namespace bento::vol {

OpenView::~OpenView() {
  const ErrorStackKeeper keep;
  view_->give_up();
  (void)close();
}

Status OpenView::create(const std::string& name, hid_t like, ObjectTimes times, LinkTables tables,
                        FreedSpace freed) {
  bool as_old = false;
  const PlistHandle creation(H5Pcreate(H5P_FILE_CREATE));
  const PlistHandle access(H5Pcreate(H5P_FILE_ACCESS));
  if ((view_->base() != 0 && H5Pset_userblock(creation.get(), view_->base()) < 0) ||
      set_fapl_view(access.get(), view_) < 0 ||
      (freed == FreedSpace::kLeft &&
       H5Pset_file_space_strategy(creation.get(), H5F_FSPACE_STRATEGY_NONE, false, 1) < 0))
    return fail(Code::kInternal, fmt::format("{}: its driver is refused", name));
  BENTO_TRY(keep_cache_small(access.get()));
  BENTO_TRY(relax_integrity_checks(access.get()));
  if (like >= 0) {
    const GroupHandle root(H5Gopen2(like, "/", H5P_DEFAULT));
    BENTO_TRY(copy_group_properties(root.get(), creation.get(), times));
    as_old = tables == LinkTables::kKept && has_symbol_table(root.get());
    if (as_old && H5Pset_libver_bounds(access.get(), H5F_LIBVER_EARLIEST, newest_format()) < 0)
      return fail(Code::kInternal, fmt::format("{}: the oldest format is refused", name));
  }
  file_ = FileHandle(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()));
  BENTO_TRY(view_->failure());
  // Only the root group is to be as before 1.8.
  if (file_.valid() &&
      (!as_old || H5Fset_libver_bounds(file_.get(), H5F_LIBVER_V18, newest_format()) >= 0))
    return {};
  return fail(Code::kInternal,
              fmt::format("{}: no HDF5 file can be made ({})", name, innermost_error()));
}

// A file that the library could not close is open still, and can be once more, with nothing behind
// it.
Status OpenView::close() {
  view_->forget_kept();
  const hid_t id = file_.release();
  if (id < 0 || H5Fclose(id) >= 0) return {};
  const std::string why = innermost_error();
  view_->give_up();
  if (H5Iis_valid(id) > 0) (void)H5Fclose(id);
  return fail(Code::kInternal, fmt::format("an HDF5 file cannot be closed ({})", why));
}

Status OpenView::complete() {
  Status closed = close();
  // What the driver met says more than what came of it.
  BENTO_TRY(view_->failure());
  return closed;
}

Result<Superblock> OpenView::finish(const Last& last) {
  BENTO_TRY(complete());
  if (last) BENTO_TRY(last());
  BENTO_TRY(view_->failure());
  BENTO_TRY(view_->store());
  return view_->superblock();
}

}  // namespace bento::vol
