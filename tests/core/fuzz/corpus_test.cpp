// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The fuzz targets without a fuzzer: each file of the corpus, cut at many lengths, and with many
/// bytes changed. Findings of the fuzzer become files of the corpus and stay found here.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "core/fti/reader.hpp"
#include "core/layout/root.hpp"
#include "core/sion/reader.hpp"
#include "core/steps/segment_codec.hpp"
#include "core/steps/step_index.hpp"
#include "tests/fuzz/sion_input.hpp"
#include "tests/support/memory_file.hpp"

namespace bento {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

struct Target {
  const char* name;
  void (*run)(fuzz::Input);
};
constexpr Target kTargets[] = {
    {"fills", fuzz::fills},
    {"fti", fuzz::fti_ff},
    {"index_segments", fuzz::index_segments},
    {"kvtree", fuzz::kvtree},
    {"message", fuzz::message},
    {"root", fuzz::root},
    {"segment", fuzz::segment},
    {"sion", fuzz::sion},
};

const fs::path kCorpus = fs::path(H5BENTO_SOURCE_DIR) / "tests/data/fuzz";
constexpr std::chrono::milliseconds kPerTarget(1500);

std::vector<fs::path> corpus_of(const std::string& target) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kCorpus / target)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

Bytes content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE(in);
  std::string text(std::istreambuf_iterator<char>(in), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Runs `one(i)` for i in [0, count), spread evenly over it, until the time is over.
template <class One>
std::size_t spread(std::size_t count, std::chrono::steady_clock::time_point until, const One& one) {
  // Golden ratio: wherever it ends, what was done lies evenly.
  std::size_t done = 0;
  double at = 0.5;
  for (; done < count && (done < 20 || std::chrono::steady_clock::now() < until); ++done) {
    one(std::min(count - 1, static_cast<std::size_t>(at * static_cast<double>(count))));
    at += 0.6180339887498949;
    at -= static_cast<double>(static_cast<int>(at));
  }
  return done;
}

/// An exception would not say for which bytes it was.
void run(const Target& target, const Bytes& input, const fs::path& file, const std::string& what) {
  try {
    target.run(input);
  } catch (const std::exception& error) {
    FAIL(fmt::format("{}, {}: {}", file.string(), what, error.what()));
  }
}

TEST_CASE("fuzz: the corpus, cut and with bytes changed, breaks no promise", "[core][fuzz]") {
  for (const auto& target : kTargets) {
    const auto files = corpus_of(target.name);
    REQUIRE_FALSE(files.empty());
    run(target, {}, "nothing", "empty");
    for (const auto& file : files) {
      const Bytes whole = content_of(file);
      run(target, whole, file, "whole");
      const auto each = kPerTarget / (2 * files.size());
      const auto now = [] { return std::chrono::steady_clock::now(); };
      spread(whole.size(), now() + each, [&](std::size_t length) {
        run(target, Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)), file,
            fmt::format("cut to {} bytes", length));
      });
      Bytes changed = whole;
      spread(whole.size() * 4, now() + each, [&](std::size_t i) {
        constexpr std::byte kHow[] = {std::byte{0xFF}, std::byte{0x01}, std::byte{0x80},
                                      std::byte{0x7F}};
        const std::size_t at = i / 4;
        changed[at] ^= kHow[i % 4];
        run(target, changed, file, fmt::format("byte {} changed by pattern {}", at, i % 4));
        changed[at] = whole[at];
      });
    }
  }
}

/// Seeds that the first check refuses would test nothing behind it.
TEST_CASE("fuzz: the seeds get past the first check", "[core][fuzz]") {
  std::size_t containers = 0;
  std::size_t several = 0;
  for (const auto& file : corpus_of("sion")) {
    const Bytes input = content_of(file);
    fuzz::Dice dice(input);
    (void)dice.number(1);
    const auto files = fuzz::unpack(dice);
    const MemoryFileSystem disk;
    for (std::uint32_t index = 0; index < files.size(); ++index)
      if (!files[index].empty()) disk.put(sion_file_name("box", index), files[index]);
    const auto reader = SionReader::open(disk.opener(), "box");
    containers += reader ? 1u : 0u;
    several += reader && reader->files() > 1 ? 1u : 0u;
  }
  CHECK(containers >= 10);
  CHECK(several >= 3);

  std::set<fti::Layout> layouts;
  for (const auto& file : corpus_of("fti")) {
    const Bytes input = content_of(file);
    const Bytes content(input.begin() + 1, input.end());
    fti::MemorySource source(content);
    if (const auto checkpoint = fti::read_checkpoint(source)) layouts.insert(checkpoint->layout);
  }
  CHECK(layouts == std::set{fti::Layout::kV11, fti::Layout::kV16});

  std::size_t found = 0;
  for (const auto& file : corpus_of("index_segments")) {
    const Bytes input = content_of(file);
    if (input.at(0) != std::byte{2}) continue;
    MemoryBlobs blobs;
    blobs.bytes().assign(input.begin() + 1, input.end());
    const BlobRef root{
        1, std::to_integer<std::uint64_t>(input.at(1)),
        hash128(std::span(input).subspan(2, std::to_integer<std::size_t>(input.at(1))))};
    const auto index = StepIndex::open(blobs, root);
    if (!index) continue;
    const auto seen = index->find(0, Box::whole(Dims{40, 40}));
    if (seen && !seen->pieces.empty()) ++found;
  }
  CHECK(found >= 2);

  std::size_t segments = 0;
  for (const auto& file : corpus_of("segment")) {
    const Bytes input = content_of(file);
    segments += decode_entries(input) ? 1u : 0u;
  }
  CHECK(segments >= 3);

  std::size_t roots = 0;
  for (const auto& file : corpus_of("root")) {
    const Bytes input = content_of(file);
    if (input.size() >= 3 + kSectorBytes)
      roots += decode_root(std::span(input).subspan(3, kSectorBytes)) ? 1u : 0u;
  }
  CHECK(roots >= 2);
}

}  // namespace
}  // namespace bento
