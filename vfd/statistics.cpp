// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vfd/statistics.hpp"

#include <fmt/format.h>

#include "core/io/append_line.hpp"

namespace bento::vfd {

namespace {

std::string text(const char* name, const Counts& counts) {
  return fmt::format(
      R"("{}": {{"opens": {}, "writes": {}, "bytes_written": {}, "reads": {}, "bytes_read": {}}})",
      name, counts.opens, counts.writes, counts.bytes_written, counts.reads, counts.bytes_read);
}

}  // namespace

Statistics& statistics() {
  static auto* const instance = new Statistics;
  return *instance;
}

void write_statistics() {
  Statistics& all = statistics();
  if (all.path.empty()) return;
  const std::string line = fmt::format("{{\"driver\": {{{}, {}}}}}\n", text("streams", all.streams),
                                       text("plain", all.plain));
  if (!append_line(all.path, line))
    fmt::print(stderr, "h5bento: statistics could not be written to '{}'\n", all.path);
  all = {};
}

}  // namespace bento::vfd
