// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/process_life.hpp"

#include <cerrno>
#include <fstream>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>

namespace bento {

std::string process_space() {
  std::string kernel;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> kernel;
  struct stat space{};
  if (kernel.empty() || ::stat("/proc/self/ns/pid", &space) != 0) return {};
  return fmt::format("{} {}", kernel, space.st_ino);
}

// A process that was killed loses its memory first, and is waited for much later.
bool has_memory(pid_t process, std::uint64_t address) {
  char byte = 0;
  iovec to{&byte, 1};
  iovec from{reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), 1};
  return ::process_vm_readv(process, &to, 1, &from, 1, 0) >= 0 || errno != ESRCH;
}

}  // namespace bento
