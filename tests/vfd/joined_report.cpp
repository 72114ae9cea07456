// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
// joined_report [--repair] CONTAINER: what a joined container says, as lines; or what repair makes
// of it. Exit status 1, and the reason on stderr, if it cannot.
#include <cstdio>
#include <cstring>

#include "core/joined/joined_report.hpp"

int main(int argc, char** argv) {
  const bool repair = argc == 3 && std::strcmp(argv[1], "--repair") == 0;
  if (argc != 2 && !repair) return 2;
  const auto report = repair ? bento::repair_joined(argv[2], 30) : bento::inspect_joined(argv[1]);
  if (!report) {
    std::fprintf(stderr, "%s\n", report.error().text.c_str());
    return 1;
  }
  std::printf("container %u %u %llu %s %s %s\n", report->tasks, report->files,
              static_cast<unsigned long long>(report->chunk_bytes),
              report->finished ? "finished" : "unfinished", report->in_use ? "used" : "free",
              report->job.c_str());
  for (const auto& stream : report->streams)
    std::printf("stream %u %u %llu %s %s\n", stream.task, stream.rank,
                static_cast<unsigned long long>(stream.bytes), stream.writing ? "cut" : "whole",
                stream.name.c_str());
  return 0;
}
