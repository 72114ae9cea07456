// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vfd/plain.hpp"

#include <cerrno>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hdf5/base/handle.hpp"
#include "hdf5/base/quiet_errors.hpp"

namespace bento::vfd {

namespace {

/// The locking settings of a list, on one for sec2.
vol::PlistHandle sec2_list(hid_t fapl) {
  vol::PlistHandle list(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fapl_sec2(list.get());
  hbool_t use = true;
  hbool_t ignore_disabled = false;
  if (fapl != H5P_DEFAULT && H5Pget_file_locking(fapl, &use, &ignore_disabled) >= 0)
    H5Pset_file_locking(list.get(), use, ignore_disabled);
  return list;
}

}  // namespace

Result<PlainFile> open_plain(const char* name, unsigned flags, hid_t fapl, haddr_t max_address) {
  const vol::QuietErrors quiet;
  vol::PlistHandle list = sec2_list(fapl);
  errno = 0;
  H5FD_t* const file = H5FDopen(name, flags, list.get(), max_address);
  const int why = errno;
  {
    const vol::ErrorStackKeeper keep;
    list.reset();
  }
  if (file == nullptr) return fail(os_error(why, "opening ordinary file", name));
  void* handle = nullptr;
  struct stat status{};
  if (H5FDget_vfd_handle(file, H5P_DEFAULT, &handle) < 0 ||
      ::fstat(*static_cast<const int*>(handle), &status) != 0) {
    (void)close_plain(file);
    return fail(Code::kIo, fmt::format("'{}': device and inode are unknown", name));
  }
  return PlainFile{file, {status.st_dev, status.st_ino}};
}

Status close_plain(H5FD_t* file) {
  const vol::ErrorStackKeeper keep;
  if (H5FDclose(file) < 0) return fail(Code::kIo, "an ordinary file could not be closed");
  return {};
}

Status delete_plain(const char* name) {
  if (::unlink(name) != 0) return fail(os_error(errno, "deleting", name));
  return {};
}

bool exists(const char* name) {
  struct stat status{};
  return ::stat(name, &status) == 0;
}

}  // namespace bento::vfd
