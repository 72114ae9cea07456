// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/core/fti/golden.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "core/fti/md5.hpp"

namespace bento::test {

namespace {

Bytes load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) FAIL("golden file missing: " << path);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return to_bytes(text);
}

std::vector<Golden> load_all() {
  const std::string folder = H5BENTO_SOURCE_DIR "/tests/data/fti/";
  const Bytes manifest = load(folder + "manifest.json");
  const Json root = parse_json({reinterpret_cast<const char*>(manifest.data()), manifest.size()});
  std::vector<Golden> all;
  for (const Json& entry : root["files"].array) {
    Golden file;
    file.path = entry["path"].text;
    file.layout = entry["format"].text == "FTI-FF v1.1" ? fti::Layout::kV11 : fti::Layout::kV16;
    file.scenario = entry["scenario"].text;
    file.kind = entry["kind"].text;
    file.checkpoint = static_cast<int>(entry["checkpoint"].number);
    file.rank = static_cast<int>(entry["rank"].number);
    file.bytes = load(folder + file.path);
    file.json = entry;
    if (hex(fti::md5(file.bytes)) != entry["md5"].text) FAIL("golden file changed: " << file.path);
    all.push_back(std::move(file));
  }
  return all;
}

}  // namespace

const std::vector<Golden>& golden_files() {
  static const std::vector<Golden> all = load_all();
  return all;
}

const Golden& golden(std::string_view path) {
  const auto& all = golden_files();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Golden& file) { return file.path == path; });
  if (found == all.end()) FAIL("no golden file " << path);
  return *found;
}

std::byte golden_byte(int id, int rank, std::uint64_t i) {
  return static_cast<std::byte>((static_cast<std::uint64_t>(id * 17 + rank * 31) + i) % 251);
}

fti::VariableData golden_data(int rank) {
  return [rank](std::int32_t id, std::uint64_t offset, std::span<std::byte> into) -> Status {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = golden_byte(id, rank, offset + i);
    return {};
  };
}

std::vector<fti::Protected> published_sizes(int checkpoint, std::uint64_t unit) {
  // In units, per checkpoint; the columns are the variables 1 to 5.
  static constexpr std::uint64_t kSizes[7][5] = {
      {4, 8, 12, 0, 0},    {4, 8, 12, 16, 0},   {4, 24, 28, 16, 0}, {4, 24, 28, 16, 20},
      {4, 20, 24, 16, 20}, {4, 32, 36, 16, 20}, {4, 4, 8, 16, 20}};
  std::vector<fti::Protected> variables;
  for (int id = 1; id <= 5; ++id) {
    const std::uint64_t size = kSizes[checkpoint - 1][id - 1];
    if (size > 0) variables.push_back({id, size * unit});
  }
  return variables;
}

std::vector<fti::Protected> mixed_sizes(int checkpoint, int rank) {
  const auto r = static_cast<std::uint64_t>(rank);
  switch (checkpoint) {
    case 1:
      return {{1, 101 + 10 * r}, {7, 1003}};
    case 2:
      return {{1, 333 + 7 * r}, {7, 1003}, {2, 517}};
    case 3:
      return {{1, 50 + r}, {7, 1003}, {2, 517}};
    default:
      return {{1, 900 + 3 * r}, {7, 1003}, {2, 600}};
  }
}

ScratchFile::ScratchFile() : file_(value_of(files_.open("scratch", OpenMode::kCreate))) {}

Bytes to_bytes(std::string_view text) {
  Bytes out(text.size());
  std::transform(text.begin(), text.end(), out.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  return out;
}

std::string hex(std::span<const std::byte> bytes) {
  std::string out;
  for (const std::byte b : bytes) {
    out += "0123456789abcdef"[std::to_integer<unsigned>(b) >> 4];
    out += "0123456789abcdef"[std::to_integer<unsigned>(b) & 15u];
  }
  return out;
}

}  // namespace bento::test
