// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/file_lock.hpp"

#include <cerrno>
#include <limits>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/io/range_lock.hpp"

namespace bento {

namespace {

static_assert(std::numeric_limits<off_t>::max() > FileLock::kRangeAt);

int set_range(int fd, short kind) {
  return set_range_lock(fd, kind, FileLock::kRangeAt, 1);
}

/// Would an exclusive lock be refused?
bool somebody_holds(int fd) {
  bool held = false;
  return ask_range_lock(fd, FileLock::kRangeAt, 1, held) == 0 && held;
}

constexpr std::string_view kPlainWriter =
    "program, which uses HDF5 without h5bento and has locked all of it";

tl::unexpected<Error> held(const std::string& path, std::string_view by_whom) {
  return fail(Code::kBusy,
              fmt::format("'{}' is open for writing in another {}; wait for it to finish, or set "
                          "HDF5_USE_FILE_LOCKING=FALSE if it is known to be dead (errno = {})",
                          path, by_whom, EWOULDBLOCK),
              EWOULDBLOCK);
}

Status no_locks(int os_errno, const std::string& path, Locking locking) {
  if (locking != Locking::kRequired) return {};
  Error error = os_error(os_errno, "file lock of", path);
  error.code = Code::kUnsupported;
  return fail(std::move(error).with_context(
      "the file system has no working locks, and HDF5_USE_FILE_LOCKING or H5Pset_file_locking "
      "demand them; BEST_EFFORT or FALSE goes on without"));
}

}  // namespace

Result<std::unique_ptr<FileLock>> FileLock::begin(const File& file) {
  BENTO_ASSIGN(PrivateDescriptor own, open_again(file, O_RDWR));
  return std::unique_ptr<FileLock>(new FileLock(std::move(own), file.path()));
}

Result<std::unique_ptr<FileLock>> FileLock::take_alone(const File& file, Locking locking) {
  if (locking == Locking::kOff || file.descriptor() < 0) return std::unique_ptr<FileLock>{};
  BENTO_ASSIGN(auto lock, begin(file));
  const int fd = lock->descriptor();
  if (const int failed = set_range(fd, F_WRLCK); failed != 0) {
    if (says_held(failed)) return held(file.path(), "process");
    BENTO_TRY(no_locks(failed, file.path(), locking));
    return std::unique_ptr<FileLock>{};
  }
  const int failed = set_flock(fd, LOCK_SH);
  if (says_held(failed)) return held(file.path(), kPlainWriter);
  if (failed != 0) BENTO_TRY(no_locks(failed, file.path(), locking));
  return lock;
}

Result<std::unique_ptr<FileLock>> FileLock::take_shared(const File& file, Locking locking,
                                                        bool& sees_owner) {
  sees_owner = true;
  if (locking == Locking::kOff || file.descriptor() < 0) return std::unique_ptr<FileLock>{};
  BENTO_ASSIGN(auto lock, begin(file));
  const int fd = lock->descriptor();
  sees_owner = somebody_holds(fd);
  int failed = set_range(fd, F_RDLCK);
  if (failed == 0) failed = set_flock(fd, LOCK_SH);
  if (says_held(failed)) return held(file.path(), "program, which has taken it from this one");
  if (failed == 0) return lock;
  sees_owner = false;
  BENTO_TRY(no_locks(failed, file.path(), locking));
  return std::unique_ptr<FileLock>{};
}

Result<std::unique_ptr<FileLock>> FileLock::keep_writers_out(const File& file, Locking locking) {
  if (locking == Locking::kOff || file.descriptor() < 0) return std::unique_ptr<FileLock>{};
  BENTO_ASSIGN(PrivateDescriptor own, open_again(file, O_RDONLY));
  std::unique_ptr<FileLock> lock(new FileLock(std::move(own), file.path()));
  const int failed = set_range(lock->descriptor(), F_RDLCK);
  if (failed == 0) return lock;
  if (says_held(failed)) return held(file.path(), "process");
  BENTO_TRY(no_locks(failed, file.path(), locking));
  return std::unique_ptr<FileLock>{};
}

std::unique_ptr<FileLock> FileLock::handed_over(PrivateDescriptor descriptor) {
  return std::unique_ptr<FileLock>(new FileLock(std::move(descriptor), {}));
}

Status FileLock::share() {
  if (const int failed = set_range(descriptor(), F_RDLCK); failed != 0)
    return fail(os_error(failed, "sharing the lock of", path_));
  return {};
}

// A try that fails gives up what was held before.
Result<bool> FileLock::others_read() {
  const bool refused = says_held(set_flock(descriptor(), LOCK_EX));
  if (says_held(set_flock(descriptor(), LOCK_SH))) return held(path_, kPlainWriter);
  return refused;
}

Result<std::pair<std::uint64_t, std::uint64_t>> FileLock::identity() const {
  struct stat info{};
  if (::fstat(descriptor(), &info) != 0) return fail(os_error(errno, "fstat of", path_));
  return std::pair<std::uint64_t, std::uint64_t>{info.st_dev, info.st_ino};
}

bool is_locked(const File& file) {
  return file.descriptor() >= 0 && somebody_holds(file.descriptor());
}

bool is_locked_by_hdf5(const File& file) {
  if (file.descriptor() < 0) return false;
  const int failed = set_flock(file.descriptor(), LOCK_SH);
  if (failed == 0) (void)set_flock(file.descriptor(), LOCK_UN);
  return says_held(failed);
}

}  // namespace bento
