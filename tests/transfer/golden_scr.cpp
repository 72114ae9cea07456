// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/transfer/golden_scr.hpp"

#include <nettle/md5.h>

#include <array>
#include <fstream>
#include <iterator>
#include <span>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "tests/core/fti/json.hpp"

namespace bento::test {

namespace {

const std::string kFolder = std::string(H5BENTO_SOURCE_DIR) + "/tests/data/scr/";

std::string md5_hex(std::span<const std::byte> bytes) {
  md5_ctx state{};
  md5_init(&state);
  md5_update(&state, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
  std::array<std::uint8_t, 16> digest{};
  md5_digest(&state, digest.size(), digest.data());
  std::string text;
  for (const auto byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

std::string text_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  INFO(path);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::byte> bytes_of_file(const std::string& path) {
  const std::string text = text_of_file(path);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void write_file(const std::string& path, const std::vector<std::byte>& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  out.close();
  REQUIRE(out);
}

std::vector<GoldenTransferFile> require_golden_scr() {
  std::vector<GoldenTransferFile> all;
  const Json manifest = parse_json(text_of_file(kFolder + "manifest.json"));
  for (const auto& one : manifest["files"].array) {
    GoldenTransferFile file;
    file.name = one["path"].text;
    file.content = bytes_of_file(kFolder + file.name);
    INFO(file.name);
    REQUIRE(file.content.size() == static_cast<std::size_t>(one["size"].number));
    REQUIRE(md5_hex(file.content) == one["md5"].text);
    file.tree = text_of_file(kFolder + one["printed_tree"].text);
    if (one.has("printed_keyval")) file.keyval = text_of_file(kFolder + one["printed_keyval"].text);
    all.push_back(std::move(file));
  }
  REQUIRE(all.size() == 13);
  return all;
}

}  // namespace bento::test
