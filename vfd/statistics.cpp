// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vfd/statistics.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/io/private_descriptor.hpp"

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
  // One write in append mode: lines of several processes do not mix.
  const int fd = ::open(all.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0 || ::write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    fmt::print(stderr, "h5bento: statistics could not be written to '{}'\n", all.path);
  if (fd >= 0) ::close(fd);
  all = {};
}

}  // namespace bento::vfd
