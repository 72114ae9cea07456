// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include <fmt/format.h>

#include "core/layout/names.hpp"
#include "transfer/daemon_lock.hpp"
#include "transfer/descriptor.hpp"
#include "transfer/submit.hpp"

namespace bento::transfer {
namespace {

bool is_program(const std::string& path) {
  struct stat about{};
  return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

/// Closes what a parent may have open, so that nobody waits for the daemon to close it.
void close_descriptors_from(int first) {
#ifdef SYS_close_range  // glibc has it from 2.34 on
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, 0U) == 0) return;
#endif
  const long most = ::sysconf(_SC_OPEN_MAX);
  for (int fd = first; fd < (most > 0 ? most : 1024); ++fd) ::close(fd);
}

/// In a child of a process that may have threads: nothing but system calls. Tells `pipe` its
/// number.
[[noreturn]] void become_daemon(char* const* arguments, const char* log, int pipe) {
  if (::setsid() < 0) ::_exit(1);
  if (const pid_t again = ::fork(); again != 0) ::_exit(again < 0 ? 1 : 0);
  // First of all: the pipe may be one of the descriptors that are replaced below.
  const pid_t self = ::getpid();
  if (::write(pipe, &self, sizeof self) != ssize_t{sizeof self}) ::_exit(1);
  if (::chdir("/") != 0) ::_exit(1);
  // A program may block signals that end a daemon, or ignore them.
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGCHLD}) ::signal(signal, SIG_DFL);
  const int null = ::open("/dev/null", O_RDWR);
  int out = ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  if (out < 0) out = null;
  ::dup2(null, 0);
  ::dup2(out, 1);
  ::dup2(out, 2);
  close_descriptors_from(3);
  ::execvp(arguments[0], arguments);
  ::_exit(127);
}

/// On a busy node, or with a program on a network file system, it may take seconds.
constexpr std::chrono::seconds kLongestStart(30);

/// Becomes readable when that process ends; invalid where the kernel has no such thing.
Descriptor end_of(pid_t process) {
#ifdef SYS_pidfd_open
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0U)));
#else
  (void)process;
  return {};
#endif
}

/// Waits until the daemon holds its lock, or has ended. A second one would find the lock taken and
/// end; so this is about errors, not about doubles.
bool has_started(const std::string& transfer_file, pid_t daemon) {
  const Descriptor end = end_of(daemon);
  const auto until = std::chrono::steady_clock::now() + kLongestStart;
  bool ended = !end && errno == ESRCH;
  for (;;) {
    if (DaemonLock::held(transfer_file)) return true;
    if (ended || std::chrono::steady_clock::now() > until) return false;
    constexpr int kMilliseconds = 10;
    pollfd one{end.get(), POLLIN, 0};  // none if it is invalid
    ended = ::poll(&one, 1, kMilliseconds) > 0;
  }
}

}  // namespace

Result<std::string> find_program() {
  constexpr const char* kSetIt = "set H5BENTO_PROGRAM to the program h5bento, or give flush=off";
  if (const char* const named = std::getenv("H5BENTO_PROGRAM"); named != nullptr && *named != 0) {
    if (is_program(named)) return absolute_name(named);
    return fail(Code::kNotFound,
                fmt::format("H5BENTO_PROGRAM: '{}' is no program; {}", named, kSetIt), ENOENT);
  }
  Dl_info module{};
  if (::dladdr(reinterpret_cast<const void*>(&find_program), &module) == 0 ||
      module.dli_fname == nullptr)
    return fail(Code::kNotFound, fmt::format("the place of this module is unknown; {}", kSetIt));
  // build/plugins and build/bin; lib/h5bento/plugins, or lib/ARCH/h5bento/plugins, and bin.
  constexpr int kLevels = 5;
  const std::string begin = folder_of(absolute_name(module.dli_fname));
  std::string folder = begin;
  for (int level = 0; level < kLevels && folder != "/" && folder != "."; ++level) {
    if (std::string program = folder + "/bin/h5bento"; is_program(program)) return program;
    folder = folder_of(folder);
  }
  return fail(Code::kNotFound,
              fmt::format("the program h5bento, which copies from the cache, is in no folder bin "
                          "above '{}'; {}",
                          begin, kSetIt),
              ENOENT);
}

Result<bool> start_daemon(const std::string& program, const std::string& transfer_file,
                          const std::vector<std::string>& arguments) {
  // One that ends does not see what was just submitted.
  for (const auto until = std::chrono::steady_clock::now() + kLongestStart;
       DaemonLock::ending(transfer_file) && std::chrono::steady_clock::now() < until;)
    ::usleep(10'000);
  if (DaemonLock::held(transfer_file)) return false;
  std::vector<std::string> words{program, "transfer", "run", "--file", transfer_file};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const std::string log = transfer_file + ".log";
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(os_error(errno, "pipe to the daemon of", transfer_file));
  const Descriptor here(ends[0]);
  Descriptor there(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return fail(os_error(errno, "fork for the daemon of", transfer_file));
  if (child == 0) become_daemon(pointers.data(), log.c_str(), there.get());
  there = Descriptor();
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  pid_t daemon = 0;
  ssize_t got = 0;
  do got = ::read(here.get(), &daemon, sizeof daemon);
  while (got < 0 && errno == EINTR);
  if (got == ssize_t{sizeof daemon} && has_started(transfer_file, daemon)) return true;
  return fail(Code::kIo, fmt::format("the daemon for '{}' did not start ('{}'); '{}' may say why",
                                     transfer_file, program, log));
}

}  // namespace bento::transfer
