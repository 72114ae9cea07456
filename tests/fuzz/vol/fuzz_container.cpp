// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Whole containers, opened through the connector as a program opens them. The first byte chooses a
/// sample, the second what is done with it, the rest is a script of edits whose checksums are made
/// to agree. What the HDF5 library itself reads, skeleton and view, stays as it is.
#include <filesystem>

#include "tests/fuzz/vol/hostile_file.hpp"
#include "tests/fuzz/vol/targets.hpp"
#include "tests/fuzz/vol/walk_file.hpp"

namespace bento::fuzz {

Seen container_seen(Input input) {
  Seen seen;
  Dice dice(input);
  const auto& sample = samples()[dice.number(1) % samples().size()];
  const bool work = dice.number(1) % 8 == 7;
  const std::string name = in_folder("hostile.h5");
  const HostileFile hostile = make_hostile(sample, dice, Edits::kOurs);
  put_files(name, hostile.files);
  if (hostile.grow_to > hostile.files[0].size())
    std::filesystem::resize_file(name, hostile.grow_to);
  const QuietFor quiet;
  walk_container(name, seen);
  if (work) work_on_container(name);
  return seen;
}

void container(Input input) {
  (void)container_seen(input);
}

}  // namespace bento::fuzz

BENTO_FUZZ_MAIN(container)
