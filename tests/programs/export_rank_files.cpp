// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
//
// export_rank_files CONTAINER FOLDER 1.1|1.6: the library call that writes FTI-FF rank files, for
// judges.py.
#include <cstdio>
#include <cstring>

#include "core/offline/export_fti.hpp"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  bento::ExportFtiOptions options;
  options.layout =
      std::strcmp(argv[3], "1.1") == 0 ? bento::fti::Layout::kV11 : bento::fti::Layout::kV16;
  options.timestamp_ns = 1;
  const auto ranks = bento::export_fti(argv[1], argv[2], options);
  if (!ranks) {
    std::fprintf(stderr, "%s\n", ranks.error().text.c_str());
    return 1;
  }
  for (const auto& rank : *ranks) std::printf("%s\n", rank.path.c_str());
  return 0;
}
