// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/daemon_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
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

}  // namespace bento::transfer
