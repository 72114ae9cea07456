// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/comm/node.hpp"

#include <array>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bento {

std::string name_of_node(int rank) {
  std::string name;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> name;
  std::array<char, 128> host{};
  if (name.empty() && ::gethostname(host.data(), host.size() - 1) == 0) name = host.data();
  // Containers of one machine: a socket is seen only in its own network.
  struct stat network{};
  if (::stat("/proc/self/ns/net", &network) == 0) name += fmt::format(" {}", network.st_ino);
  if (const char* const pretended = std::getenv("H5BENTO_TEST_NODES"))
    if (const int nodes = std::atoi(pretended); nodes > 0) name += fmt::format(" {}", rank % nodes);
  return name;
}

}  // namespace bento
