// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Damaged files: every byte changed, every length. A change is reported where it lies, or lies in
// one of the few bytes that the format protects by nothing, and then alters nothing else. Nothing
// crashes.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/fti/reader.hpp"
#include "core/fti/rsed.hpp"
#include "core/fti/variables.hpp"
#include "core/fti/verify.hpp"
#include "tests/core/fti/golden.hpp"

using namespace bento;
using namespace bento::test;
using fti::Layout;

namespace {

fti::Verdict verdict_of(const Bytes& bytes) {
  fti::MemorySource source(bytes);
  return value_of(fti::verify(source));
}

bool covers(const fti::Findings& findings, std::uint64_t at, std::size_t record_width) {
  return std::any_of(findings.kept().begin(), findings.kept().end(), [&](const fti::Finding& f) {
    const bool region = at >= f.offset && at - f.offset < f.bytes;
    const bool record =
        f.record != fti::Finding::kNoRecord && at >= f.record && at - f.record < record_width;
    return region || record;
  });
}

/// No hash covers the block heads and container records of the 1.6 layout. A wrong id or size there
/// shows only as a contradiction between two of them, so that the finding may point to the other
/// one.
bool in_records(const fti::Verdict& sound, std::uint64_t at, std::size_t size) {
  return sound.layout == Layout::kV16 && at >= sound.checkpoint.meta.data_size && at < size - 106;
}
bool elsewhere_in_records(const fti::Verdict& sound, const fti::Findings& findings,
                          std::uint64_t at, std::size_t size) {
  return in_records(sound, at, size) &&
         std::any_of(findings.kept().begin(), findings.kept().end(), [&](const fti::Finding& f) {
           return in_records(sound, f.offset, size) || f.record != fti::Finding::kNoRecord;
         });
}

/// Bytes which no hash and no rule of the format covers.
std::vector<bool> unprotected(const fti::Verdict& sound, std::size_t size) {
  std::vector<bool> free(size, false);
  const auto mark = [&](std::uint64_t at, std::size_t count) {
    std::fill_n(free.begin() + static_cast<std::ptrdiff_t>(at), count, true);
  };
  if (*sound.layout == Layout::kV11) {
    mark(49, 7);  // pads
    return free;
  }
  mark(size - 106 + 49, 4);  // ckptId
  mark(size - 1, 1);         // pad
  for (const fti::Block& block : sound.checkpoint.blocks) {
    for (const fti::Container& container : block.containers) {
      mark(container.record_offset,
           4);  // id: another one is as good, unless containers of it exist
      mark(container.record_offset + 9, 1);  // hasCkpt: 0 and 1 are both possible
      if (!container.hascontent && sound.checksum_reader_rule_ok)
        mark(container.record_offset + 42, 16);  // FTI's own reader ignores this hash
      // Without a look at the data this may be an emptied container; and nobody reads the bytes
      // behind a chunk.
      mark(container.fptr + container.chunksize,
           static_cast<std::size_t>(container.containersize - container.chunksize));
    }
  }
  return free;
}

void flip_every_byte(const std::string& path) {
  const Golden& file = golden(path);
  INFO(path);
  const fti::Verdict sound = verdict_of(file.bytes);
  REQUIRE(sound.sound());
  const std::vector<bool> free = unprotected(sound, file.bytes.size());
  for (std::size_t at = 0; at < file.bytes.size(); ++at) {
    for (const unsigned mask : {0x01u, 0x80u, 0xFFu}) {
      Bytes damaged = file.bytes;
      damaged[at] ^= static_cast<std::byte>(mask);
      fti::MemorySource source(damaged);
      const fti::Verdict verdict = value_of(fti::verify(source));
      const auto read = fti::read_checkpoint(source);
      if (verdict.sound()) {
        if (!free[at]) FAIL_CHECK("byte " << at << " ^ " << mask << " not noticed");
        CHECK(read.has_value());
        continue;
      }
      if (!covers(verdict.findings, at, fti::record_bytes(file.layout)) &&
          !elsewhere_in_records(sound, verdict.findings, at, damaged.size()))
        FAIL_CHECK("byte " << at << " ^ " << mask
                           << " reported elsewhere: " << verdict.findings.kept().front().text);
      // What only the structure shows, the strict reader refuses too.
      if (read) {
        fti::Findings findings;
        CHECK(value_of(fti::read_damaged(source, file.layout, findings)) == *read);
        CHECK(findings.empty());
      }
    }
  }
}

void cut_at_every_length(const std::string& path) {
  const Golden& file = golden(path);
  INFO(path);
  for (std::size_t length = 0; length < file.bytes.size(); ++length) {
    const Bytes cut(file.bytes.begin(), file.bytes.begin() + static_cast<std::ptrdiff_t>(length));
    fti::MemorySource source(cut);
    const fti::Verdict verdict = value_of(fti::verify(source));
    REQUIRE_FALSE(verdict.sound());
    CHECK_FALSE(fti::read_checkpoint(source).has_value());
    CHECK_FALSE(value_of(fti::verify_rsed(source)).sound());
    if (file.kind == "rank" && file.layout == Layout::kV11 && length >= 96) {
      // The file meta is whole and says how long the file was.
      const auto& first = verdict.findings.kept().front();
      CHECK(first.damage == fti::Damage::kSize);
      CHECK(first.offset == length);
      CHECK(first.bytes == file.bytes.size() - length);
    }
  }
}

}  // namespace

TEST_CASE("fti damage: every byte of small golden files changed", "[core][fti]") {
  flip_every_byte("v1.1/mixed/ckpt1/Ckpt1-Rank0.fti");
  flip_every_byte("v1.1/mixed/ckpt3/Ckpt3-Rank0.fti");
  flip_every_byte("v1.6/mixed/ckpt1/Ckpt1-Rank1.fti");
  flip_every_byte("v1.6/mixed/ckpt3/Ckpt3-Rank1.fti");
  flip_every_byte("v1.6/mixed/ckpt4/Ckpt4-Rank0.fti");
}

TEST_CASE("fti damage: every byte of all small golden files changed", "[core][fti][full]") {
  for (const Golden& file : golden_files())
    if (file.kind != "rs_encoded" && file.bytes.size() < 5000) flip_every_byte(file.path);
}

TEST_CASE("fti damage: every byte of the meta regions of all golden files changed",
          "[core][fti][full]") {
  for (const Golden& file : golden_files()) {
    if (file.kind == "rs_encoded" || file.bytes.size() < 5000) continue;
    INFO(file.path);
    const fti::Verdict sound = verdict_of(file.bytes);
    REQUIRE(sound.sound());
    const std::vector<bool> free = unprotected(sound, file.bytes.size());
    std::vector<std::uint64_t> offsets;
    const auto region = [&](std::uint64_t begin, std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) offsets.push_back(begin + i);
    };
    for (const fti::Block& block : sound.checkpoint.blocks)
      region(block.head_offset, fti::header_bytes(file.layout, block.containers.size()));
    const std::size_t meta = fti::file_meta_bytes(file.layout);
    region(file.layout == Layout::kV11 ? 0 : file.bytes.size() - meta, meta);
    Bytes damaged = file.bytes;
    for (const std::uint64_t at : offsets) {
      damaged[at] ^= std::byte{0xFF};
      const fti::Verdict verdict = verdict_of(damaged);
      damaged[at] ^= std::byte{0xFF};
      if (verdict.sound())
        CHECK(free[at]);
      else if (!covers(verdict.findings, at, fti::record_bytes(file.layout)) &&
               !elsewhere_in_records(sound, verdict.findings, at, damaged.size()))
        FAIL_CHECK("byte " << at
                           << " reported elsewhere: " << verdict.findings.kept().front().text);
    }
  }
}

TEST_CASE("fti damage: every length of small golden files", "[core][fti]") {
  cut_at_every_length("v1.1/mixed/ckpt2/Ckpt2-Rank0.fti");
  cut_at_every_length("v1.6/mixed/ckpt2/Ckpt2-Rank1.fti");
  cut_at_every_length("v1.6/mixed/ckpt3/Ckpt3-RSed0.fti");
  cut_at_every_length("v1.1/mixed/ckpt3/Ckpt3-RSed1.fti");
}

TEST_CASE("fti damage: bytes behind the end are noticed", "[core][fti]") {
  for (const std::string path :
       {"v1.1/mixed/ckpt1/Ckpt1-Rank0.fti", "v1.6/mixed/ckpt1/Ckpt1-Rank0.fti"}) {
    Bytes longer = golden(path).bytes;
    longer.resize(longer.size() + 1);
    CHECK_FALSE(verdict_of(longer).sound());
    fti::MemorySource source(longer);
    CHECK_FALSE(fti::read_checkpoint(source).has_value());
  }
}

TEST_CASE("fti damage: every byte of RSed files changed", "[core][fti]") {
  for (const std::string path :
       {"v1.1/mixed/ckpt3/Ckpt3-RSed0.fti", "v1.6/mixed/ckpt3/Ckpt3-RSed1.fti"}) {
    const Golden& file = golden(path);
    const std::size_t meta = file.bytes.size() - fti::file_meta_bytes(file.layout);
    for (std::size_t at = 0; at < file.bytes.size(); ++at) {
      Bytes damaged = file.bytes;
      damaged[at] ^= std::byte{0x81};
      fti::MemorySource source(damaged);
      const auto verdict = value_of(fti::verify_rsed(source));
      const bool free = file.layout == Layout::kV11
                            ? at >= meta + 49 && at < meta + 56
                            : (at >= meta + 49 && at < meta + 53) || at == meta + 105;
      CHECK(verdict.sound() == free);
      if (!free) CHECK(covers(verdict.findings, at, 0));
    }
  }
}

TEST_CASE("fti damage: sealed lies about sizes and counts do not pass", "[core][fti]") {
  // Whoever makes such a file can also compute its hashes: only the structure stands against it.
  const Golden& file = golden("v1.6/mixed/ckpt2/Ckpt2-Rank0.fti");
  std::mt19937_64 random(20240501);
  const auto number = [&]() -> std::uint64_t {
    switch (random() % 5) {
      case 0:
        return random() % 4096;
      case 1:
        return (std::uint64_t{1} << (random() % 63)) - random() % 3;
      case 2:
        return UINT64_MAX >> 1;
      case 3:
        return file.bytes.size() - random() % 200;
      default:
        return random();
    }
  };
  for (int round = 0; round < 20'000; ++round) {
    Bytes damaged = file.bytes;
    const std::size_t meta = damaged.size() - 106;
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = 1860 + random() % (meta - 1860 + 40);
      ByteWriter value;
      value.u64(number());
      const std::size_t width = random() % 2 == 0 ? 4 : 8;
      std::copy_n(value.view().begin(), std::min(width, damaged.size() - at),
                  damaged.begin() + static_cast<std::ptrdiff_t>(at));
    }
    auto decoded = fti::v16::decode_file_meta(std::span(damaged).subspan(meta));
    if (decoded) {
      decoded->ckpt_size = decoded->fs = damaged.size();
      fti::v16::seal(*decoded);
      ByteWriter sealed;
      fti::v16::encode(sealed, *decoded);
      std::copy(sealed.view().begin(), sealed.view().end(),
                damaged.begin() + static_cast<std::ptrdiff_t>(meta));
    }
    fti::MemorySource source(damaged);
    const auto checkpoint = fti::read_checkpoint(source);
    CHECK(fti::verify(source).has_value());
    if (!checkpoint) continue;
    // Accepted: then it can be used.
    const auto variables = fti::Variables::of(*checkpoint);
    if (!variables) continue;
    for (const auto& variable : variables->list()) {
      REQUIRE(variable.bytes <= damaged.size());
      Bytes content(static_cast<std::size_t>(variable.bytes));
      require_ok(variables->read(source, variable.id, 0, content));
    }
  }
}

TEST_CASE("fti damage: files that are something else", "[core][fti]") {
  for (const std::size_t size : {0u, 1u, 95u, 96u, 106u, 4096u}) {
    for (const std::byte value : {std::byte{0}, std::byte{0xFF}, std::byte{'a'}}) {
      const Bytes bytes(size, value);
      CHECK_FALSE(verdict_of(bytes).sound());
      fti::MemorySource source(bytes);
      const auto layout = fti::detect_layout(source);
      REQUIRE_FALSE(layout.has_value());
      CHECK(layout.error().code == Code::kCorrupt);
    }
  }
}

TEST_CASE("fti damage: more containers than the limit are refused, not loaded", "[core][fti]") {
  fti::ReadLimits limits;
  limits.max_containers = 2;
  for (const std::string path :
       {"v1.1/mixed/ckpt2/Ckpt2-Rank0.fti", "v1.6/mixed/ckpt2/Ckpt2-Rank0.fti"}) {
    fti::MemorySource source(golden(path).bytes);
    const auto read = fti::read_checkpoint(source, limits);
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().code == Code::kUnsupported);
  }
}
