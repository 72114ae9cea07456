// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
//   recover_file FILE    recover_container(); prints `step K sound` or `step K damaged`, then what
//                        was lost, or the error (exit status 1)
#include <hdf5.h>

#include <cstdio>

#include "vol/library/edited_view.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: recover_file FILE\n", stderr);
    return 2;
  }
  if (H5open() < 0) return 1;
  const auto report = bento::vol::recover_container(argv[1]);
  if (!report) {
    std::printf("error: %s\n", report.error().text.c_str());
    return 1;
  }
  std::printf("step %llu %s\n", static_cast<unsigned long long>(report->step),
              report->sound() ? "sound" : "damaged");
  for (const auto& spot : report->lost)
    std::printf("lost: %llu records, %llu bytes, in '%s' from byte %llu on\n",
                static_cast<unsigned long long>(spot.records),
                static_cast<unsigned long long>(spot.bytes), spot.file.c_str(),
                static_cast<unsigned long long>(spot.address));
  return 0;
}
