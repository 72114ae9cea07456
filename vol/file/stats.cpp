// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/stats.hpp"

#include <cstdio>
#include <map>

#include <fmt/format.h>
#include <unistd.h>

#include "core/io/append_line.hpp"
#include "core/io/private_descriptor.hpp"

namespace bento::vol {

namespace {

// Never destroyed: the library may terminate us after static destructors have run.
struct Files {
  struct Seen {
    bool container = false;
    std::uint64_t servers = 0;
    std::uint64_t stripe_bytes = 0;
  };
  std::map<std::string, Seen> seen;
  std::string output;
};
Files& files() {
  static auto* const instance = new Files;
  return *instance;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

std::string json(const CallCounts& counts) {
  return fmt::format(R"({{"writes":{},"bytes_written":{},"reads":{},"bytes_read":{}}})",
                     counts.writes, counts.bytes_written, counts.reads, counts.bytes_read);
}

}  // namespace

Stats& Stats::get() {
  static auto* const instance = [] {
    auto* const made = new Stats;
    on_fork_in_child([] { Stats::get() = {}; });
    return made;
  }();
  return *instance;
}

void Stats::note_file(const std::string& path, bool container) {
  if (!files().output.empty()) files().seen[path].container = container;
}

void Stats::note_striping(const std::string& path, std::uint64_t servers, std::uint64_t bytes) {
  const auto found = files().seen.find(path);
  if (found == files().seen.end()) return;
  found->second.servers = servers;
  found->second.stripe_bytes = bytes;
}

bool Stats::wanted() const {
  return !files().output.empty();
}

void Stats::set_output(const std::string& path) {
  if (!path.empty()) files().output = path;
}

void Stats::write_out() const {
  const std::string& path = files().output;
  if (path.empty()) return;
  std::string line = fmt::format(R"({{"pid":{},"files":[)", ::getpid());
  const char* separator = "";
  for (const auto& [name, seen] : files().seen) {
    line += fmt::format(R"({}{{"path":{},"container":{})", separator, quoted(name), seen.container);
    if (seen.servers != 0) line += fmt::format(R"(,"striping_factor":{})", seen.servers);
    if (seen.stripe_bytes != 0) line += fmt::format(R"(,"striping_unit":{})", seen.stripe_bytes);
    line += "}";
    separator = ",";
  }
  line += fmt::format(
      R"(],"diverted":{},"skeleton":{},"passed_through":{},"elements_converted":{},"unordered_overlaps":{}}})",
      json(diverted), json(skeleton), json(passed_through), elements_converted, unordered_overlaps);
  line += '\n';
  if (!append_line(path, line))
    std::fprintf(stderr, "h5bento: statistics could not be written to '%s'\n", path.c_str());
}

}  // namespace bento::vol
