// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/daemon_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <span>

#include <fmt/format.h>

namespace bento::transfer {
namespace {

std::string lock_name(const std::string& transfer_file) {
  return transfer_file + ".daemon";
}

}  // namespace

Result<std::optional<DaemonLock>> DaemonLock::take(const std::string& transfer_file) {
  const std::string name = lock_name(transfer_file);
  BENTO_ASSIGN(Descriptor file, open_at(AT_FDCWD, name, O_RDWR | O_CREAT | O_NOFOLLOW, 0666, name));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::optional<DaemonLock>();
    return fail(os_error(errno, "lock of", name));
  }
  const std::string text = fmt::format("{}\n", ::getpid());
  if (::ftruncate(file.get(), 0) == 0)
    BENTO_TRY(write_whole(file.get(), 0, std::as_bytes(std::span(text)), name));
  return std::optional<DaemonLock>(DaemonLock(std::move(file)));
}

bool DaemonLock::held(const std::string& transfer_file) {
  const std::string name = lock_name(transfer_file);
  const auto file = open_at(AT_FDCWD, name, O_RDONLY | O_NOFOLLOW, 0, name);
  return file && ::flock(file->get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

// Who takes the lock writes its number at once.
bool DaemonLock::ending(const std::string& transfer_file) {
  struct stat about{};
  return ::stat(lock_name(transfer_file).c_str(), &about) == 0 && about.st_size == 0 &&
         held(transfer_file);
}

Result<Descriptor> DaemonLock::open_mark(const std::string& transfer_file) {
  const std::string name = lock_name(transfer_file);
  return open_at(AT_FDCWD, name, O_WRONLY | O_NOFOLLOW, 0, name);
}

void DaemonLock::say_ending(const Descriptor& mark) {
  const int before = errno;
  if (::ftruncate(mark.get(), 0) != 0) {  // then it is seen when the lock is free
  }
  errno = before;
}

// Through the kernel's view of the daemon: it may run in another mount namespace, or on another
// node.
bool DaemonLock::sees(const std::string& transfer_file, const std::string& path) {
  if (!held(transfer_file)) return true;
  const std::string name = lock_name(transfer_file);
  const auto file = open_at(AT_FDCWD, name, O_RDONLY | O_NOFOLLOW, 0, name);
  if (!file) return true;
  const auto text = read_whole(file->get(), 64, name);
  if (!text) return true;
  const std::string number(reinterpret_cast<const char*>(text->data()), text->size());
  const long pid = std::strtol(number.c_str(), nullptr, 10);
  struct stat here{};
  struct stat there{};
  return pid > 0 && ::stat(path.c_str(), &here) == 0 &&
         ::stat(fmt::format("/proc/{}/root{}", pid, path).c_str(), &there) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

}  // namespace bento::transfer
