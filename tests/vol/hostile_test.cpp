// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// The fuzz targets of the connector without a fuzzer: what it once found, and scripts of edits by
// chance. `H5BENTO_HOSTILE=N` runs N scripts instead.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include <catch2/catch_test_macros.hpp>

#include "tests/fuzz/vol/hostile_file.hpp"
#include "tests/fuzz/vol/targets.hpp"
#include "tests/support/test_memory.hpp"

namespace bento::fuzz {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// What a look at a hostile file of some hundred KiB may take; the machine may be busy.
constexpr std::chrono::seconds kLongest(10);
constexpr std::uint64_t kMostMemory = 192u << 20;

Bytes script_of(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes script(3 + random() % 60);
  for (auto& byte : script) byte = static_cast<std::byte>(random());
  return script;
}

void check(const Bytes& script, const std::string& what) {
  const auto begin = Clock::now();
  const test::MemoryWatch watch;
  container(script);
  INFO(what << ": " << watch.peak() << " bytes");
  CHECK(Clock::now() - begin < kLongest);
  CHECK(watch.peak() < kMostMemory);
}

TEST_CASE("hostile containers: samples without edits are read completely", "[vol][fuzz]") {
  for (std::size_t i = 0; i < samples().size(); ++i) {
    const Bytes script{static_cast<std::byte>(i), std::byte{0}};
    const Seen seen = container_seen(script);
    INFO(samples()[i].name);
    CHECK(seen.files >= 1);
    CHECK(seen.reads > 2 * seen.datasets);
    CHECK(samples()[i].records.size() > 0);
  }
}

TEST_CASE("hostile containers: what was found once stays harmless", "[vol][fuzz]") {
  const fs::path corpus = fs::path(H5BENTO_SOURCE_DIR) / "tests/data/fuzz/container";
  for (const auto& entry : fs::directory_iterator(corpus)) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    const auto bytes = std::as_bytes(std::span(text));
    check({bytes.begin(), bytes.end()}, entry.path().filename().string());
  }
}

TEST_CASE("hostile containers: scripts of edits by chance", "[vol][fuzz][full]") {
  const char* const wanted = std::getenv("H5BENTO_HOSTILE");
  const std::uint64_t count = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 150;
  const char* const from = std::getenv("H5BENTO_HOSTILE_FROM");
  const std::uint64_t first = from != nullptr ? std::strtoull(from, nullptr, 10) : 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed)
    check(script_of(seed), "seed " + std::to_string(seed));
}

}  // namespace
}  // namespace bento::fuzz
