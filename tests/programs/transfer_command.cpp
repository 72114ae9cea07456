// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// transfer_command FILE WORD: sets COMMAND, as SCR's library does.
#include <cstdio>

#include "transfer/kvtree_file.hpp"
#include "transfer/transfer_file.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto done =
      bento::transfer::update_kvfile(argv[1], [&](bento::transfer::KvTree& tree) -> bento::Status {
        bento::transfer::set_command(tree, argv[2]);
        return {};
      });
  if (!done) std::fprintf(stderr, "%s\n", done.error().text.c_str());
  return done ? 0 : 1;
}
