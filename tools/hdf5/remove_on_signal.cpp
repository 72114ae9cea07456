// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/hdf5/remove_on_signal.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <utility>

namespace bento::tools {

RemoveOnSignal::RemoveOnSignal(std::string path) : path_(std::move(path)) {
  sigemptyset(&signals_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now{};
    if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN)
      sigaddset(&signals_, number);
  }
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  end_ = ::eventfd(0, EFD_CLOEXEC);
  if (end_ >= 0) thread_ = std::thread([this] { wait(); });
}

RemoveOnSignal::~RemoveOnSignal() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    if (::write(end_, &one, sizeof one) == sizeof one)
      thread_.join();
    else
      thread_.detach();
  }
  if (end_ >= 0) ::close(end_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);  // one that came meanwhile is taken now
}

void RemoveOnSignal::wait() {
  const int source = ::signalfd(-1, &signals_, SFD_CLOEXEC);
  if (source < 0) return;
  std::array<pollfd, 2> both{{{source, POLLIN, 0}, {end_, POLLIN, 0}}};
  while (::poll(both.data(), both.size(), -1) < 0 && errno == EINTR) {
  }
  signalfd_siginfo came{};
  const bool signalled = (both[0].revents & POLLIN) != 0 &&
                         ::read(source, &came, sizeof came) == static_cast<ssize_t>(sizeof came);
  ::close(source);
  if (!signalled) return;
  renames_.lock();  // and never unlocked: what has no name yet gets none any more
  // The other threads go on writing for this moment, and may make one more file in a folder.
  constexpr int kTries = 10;
  std::error_code failed;
  for (int tries = 0; tries < kTries; ++tries) {
    failed.clear();
    std::filesystem::remove_all(path_, failed);
    if (!failed && !std::filesystem::exists(std::filesystem::symlink_status(path_, failed))) break;
  }
  const int number = static_cast<int>(came.ssi_signo);
  (void)std::signal(number, SIG_DFL);
  sigset_t only{};
  sigemptyset(&only);
  sigaddset(&only, number);
  ::kill(::getpid(), number);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::pause();
}

}  // namespace bento::tools
