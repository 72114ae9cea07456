// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/skeleton/plain_file.hpp"

#include <algorithm>
#include <cerrno>
#include <string>

#include <H5FDdevelop.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hdf5/base/handle.hpp"

namespace bento::vol {

namespace {

struct Locking {
  hbool_t use = true;
  hbool_t ignore_disabled = false;
};

// The environment needs no look: the file from which the link leads was opened with it, and `fapl`
// shows what came of that.
Locking locking_of(hid_t fapl) {
  Locking locking;
  if (H5Pget_file_locking(fapl, &locking.use, &locking.ignore_disabled) < 0) return {};
  return locking;
}

FileIdentity identity_of(const struct stat& status) {
  return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino)};
}

// From the open descriptor, not from the name, which may mean another file by now.
Result<FileIdentity> identity_of(H5FD_t* file, const char* name) {
  void* handle = nullptr;
  struct stat status{};
  if (H5FDget_vfd_handle(file, H5P_DEFAULT, &handle) < 0 ||
      ::fstat(*static_cast<const int*>(handle), &status) != 0)
    return fail(Code::kIo, fmt::format("'{}': device and inode are unknown", name));
  return identity_of(status);
}

}  // namespace

Result<PlainFile> open_plain(const char* name, unsigned h5f_flags, hid_t fapl, haddr_t max_address,
                             PlainLock lock) {
  const Locking locking = locking_of(fapl);
  PlistHandle list(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fapl_sec2(list.get());
  H5Pset_file_locking(list.get(), locking.use, locking.ignore_disabled);
  errno = 0;
  H5FD_t* const file = H5FDopen(name, h5f_flags, list.get(), max_address);
  const int why = errno;
  {
    const ErrorStackKeeper keep;  // sec2's own records stay below ours
    list.reset();
  }
  if (file == nullptr) return fail(os_error(why, "opening ordinary file", name));

  auto identity = identity_of(file, name);
  if (!identity) {
    (void)close_plain(file);
    return fail(std::move(identity).error());
  }
  if (locking.use && lock != PlainLock::kHeldAlready &&
      H5FDlock(file, lock == PlainLock::kExclusive) < 0) {
    (void)close_plain(file);
    return fail(Code::kBusy, fmt::format("'{}' is locked: it is open elsewhere, by its own name in "
                                         "this program or in another one",
                                         name));
  }
  return PlainFile{file, *identity};
}

Status close_plain(H5FD_t* file) {
  const ErrorStackKeeper keep;
  if (H5FDclose(file) < 0) return fail(Code::kIo, "an ordinary file could not be closed");
  return {};
}

Status delete_plain(const char* name) {
  if (::unlink(name) != 0) return fail(os_error(errno, "deleting", name));
  return {};
}

FileIdentity identity_of_name(const char* name) {
  struct stat status{};
  return ::stat(name, &status) == 0 ? identity_of(status) : FileIdentity{};
}

namespace {

/// The first bytes of a file, as many as there are.
std::string beginning_of(const char* name) {
  std::string bytes(8, '\0');
  const int fd = ::open(name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t got = ::pread(fd, bytes.data(), bytes.size(), 0);
  ::close(fd);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
}

}  // namespace

bool starts_like_sion(const char* name) {
  return beginning_of(name).starts_with("sion");
}

bool starts_like_hdf5(const char* name) {
  return beginning_of(name).starts_with("\x89HDF\r\n\x1a\n");
}

}  // namespace bento::vol
