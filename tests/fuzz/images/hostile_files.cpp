// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
//   hostile_files FIRST COUNT FOLDER    writes COUNT containers FOLDER/NUMBER.h5 that were edited
//   by
//                                       chance, their checksums made to agree, from seed FIRST on
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "tests/fuzz/vol/hostile_file.hpp"

int main(int argc, char** argv) {
  using namespace bento::fuzz;
  if (argc != 4) {
    std::fputs("usage: hostile_files FIRST COUNT FOLDER\n", stderr);
    return 2;
  }
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    std::mt19937_64 random(seed);
    Bytes script(3 + random() % 60);
    for (auto& byte : script) byte = static_cast<std::byte>(random());
    const Sample& sample = samples()[random() % samples().size()];
    const HostileFile hostile = make_hostile(sample, Dice(script), Edits::kOurs);
    const std::string name = std::string(argv[3]) + "/" + std::to_string(seed) + ".h5";
    put_files(name, hostile.files);
    if (hostile.grow_to > hostile.files[0].size())
      std::filesystem::resize_file(name, hostile.grow_to);
  }
  return 0;
}
