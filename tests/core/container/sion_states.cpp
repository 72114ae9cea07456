// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/core/container/sion_states.hpp"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch_test_macros.hpp>

namespace bento::test {

void keep_sion_state(const MemoryFileSystem& disk, SionState state) {
  static const char* const folder = std::getenv("H5BENTO_SION_STATES");
  if (folder == nullptr) return;
  static const char* const every = std::getenv("H5BENTO_SION_STATES_EVERY");
  static const std::uint64_t stride = every == nullptr ? 1 : std::stoull(every);
  static std::uint64_t number = 0;
  if (number++ % stride != 0) return;
  constexpr const char* kNames[] = {"refused", "accepted", "whole"};
  const auto place = std::filesystem::path(folder) /
                     (std::to_string(number) + "." + kNames[static_cast<int>(state)]);
  std::filesystem::create_directories(place);
  for (const auto& name : disk.names()) {
    const auto content = disk.content(name);
    std::ofstream file(place / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(content.data()),
               static_cast<std::streamsize>(content.size()));
    REQUIRE(file.flush());
  }
}

}  // namespace bento::test
