// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/support/golden.hpp"

#include <array>

#include <fmt/format.h>
#include <openssl/evp.h>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "core/io/file.hpp"

namespace bento::test {
namespace {

using Json = nlohmann::json;

GoldenFile parse_file(const Json& json) {
  GoldenFile file;
  json.at("name").get_to(file.name);
  json.at("filenumber").get_to(file.file_number);
  json.at("ntasks_field").get_to(file.tasks);
  json.at("start_of_data").get_to(file.data_start);
  json.at("globalskip").get_to(file.block_bytes);
  json.at("start_addresses").get_to(file.start_addresses);
  json.at("maxchunks").get_to(file.max_blocks);
  json.at("start_of_varheader").get_to(file.meta2_address);
  json.at("after_sizes_hex").get_to(file.after_sizes_hex);
  return file;
}

GoldenContainer parse_container(const Json& json) {
  GoldenContainer container;
  json.at("file").get_to(container.name);
  container.serial = json.at("writer") == "serial";
  container.keyval = json.at("keyval") == "inline";
  json.at("fsblksize").get_to(container.fsblksize);
  json.at("globalranks").get_to(container.global_ranks);
  json.at("chunk_requested").get_to(container.chunk_requested);
  json.at("chunk_stored").get_to(container.chunk_stored);
  json.at("bytes_per_chunk").get_to(container.chunk_used);
  json.at("stream_bytes").get_to(container.stream_bytes);
  json.at("stream_sha256").get_to(container.stream_sha256);
  if (const auto& records = json.at("record_size_written"); records.is_array()) {
    for (const auto& bytes : records)
      container.record_bytes.push_back(bytes.is_null() ? std::nullopt
                                                       : std::optional(bytes.get<std::uint64_t>()));
  }
  if (json.contains("key_sha256")) json.at("key_sha256").get_to(container.key_sha256);
  if (json.contains("mapping")) {
    for (const auto& pair : json.at("mapping"))
      container.mapping.push_back(
          {pair.at(0).get<std::uint32_t>(), pair.at(1).get<std::uint32_t>()});
  }
  for (const auto& file : json.at("physical")) container.files.push_back(parse_file(file));
  return container;
}

Status load_content(const Json& json, GoldenFile& file) {
  BENTO_ASSIGN(file.content, read_test_data("sion/" + file.name));
  if (file.content.size() != json.at("bytes").get<std::uint64_t>())
    return fail(Code::kCorrupt,
                fmt::format("{} has {} bytes, not {}", file.name, file.content.size(),
                            json.at("bytes").get<std::uint64_t>()));
  const std::string found = sha256_hex(file.content);
  if (found != json.at("sha256").get<std::string>())
    return fail(Code::kCorrupt,
                fmt::format("{} is not the golden file: sha256 {}", file.name, found));
  return {};
}

Result<std::vector<GoldenContainer>> parse_manifest(const Json& manifest) {
  std::vector<GoldenContainer> containers;
  for (const auto& json : manifest.at("containers")) {
    containers.push_back(parse_container(json));
    for (std::size_t i = 0; i < containers.back().files.size(); ++i) {
      BENTO_TRY(load_content(json.at("physical").at(i), containers.back().files[i]));
    }
  }
  constexpr std::size_t kContainers = 9;
  if (containers.size() != kContainers)
    return fail(Code::kCorrupt, fmt::format("manifest.json lists {} containers, not {}",
                                            containers.size(), kContainers));
  return containers;
}

Result<std::vector<GoldenContainer>> load() {
  BENTO_ASSIGN(const Bytes text, read_test_data("sion/manifest.json"));
  try {
    const auto* begin = reinterpret_cast<const char*>(text.data());
    return parse_manifest(Json::parse(begin, begin + text.size()));
  } catch (const Json::exception& error) {
    return fail(Code::kCorrupt, fmt::format("manifest.json: {}", error.what()));
  }
}

}  // namespace

Result<Bytes> read_test_data(const std::string& path) {
  BENTO_ASSIGN(auto file, open_posix_file(std::string(H5BENTO_SOURCE_DIR "/tests/data/") + path,
                                          OpenMode::kRead));
  BENTO_ASSIGN(const std::uint64_t bytes, file->size());
  Bytes content(static_cast<std::size_t>(bytes));
  BENTO_TRY(file->read_at(0, content));
  BENTO_TRY(file->close());
  return content;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1)
    return "no digest";
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

Bytes golden_stream(std::uint64_t task, std::uint64_t bytes) {
  Bytes stream(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < stream.size(); ++i)
    stream[i] = static_cast<std::byte>((task * 31 + i) % 251);
  return stream;
}

const Result<std::vector<GoldenContainer>>& golden_sion() {
  static const Result<std::vector<GoldenContainer>> containers = load();
  return containers;
}

const std::vector<GoldenContainer>& require_golden_sion() {
  const auto& containers = golden_sion();
  if (!containers) FAIL(containers.error().text);
  return *containers;
}

const GoldenContainer& require_golden_sion(const std::string& name) {
  for (const auto& container : require_golden_sion()) {
    if (container.name == name) return container;
  }
  FAIL("no golden container " + name);
  return require_golden_sion().front();
}

}  // namespace bento::test
