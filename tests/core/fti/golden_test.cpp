// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Every golden file is read, and fares under each hash rule as its manifest says.
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "core/fti/reader.hpp"
#include "core/fti/rsed.hpp"
#include "core/fti/variables.hpp"
#include "core/fti/verify.hpp"
#include "tests/core/fti/golden.hpp"

using namespace bento;
using namespace bento::test;
using fti::Layout;

namespace {

bool is_checkpoint(const Golden& file) {
  return file.kind != "rs_encoded";
}

fti::Verdict verdict_of(const Bytes& bytes, const fti::VerifyOptions& options = {}) {
  fti::MemorySource source(bytes);
  return value_of(fti::verify(source, options));
}

std::string first_text(const fti::Findings& findings) {
  return findings.empty() ? "" : findings.kept().front().text;
}

std::uint64_t u64(const Json& json) {
  return static_cast<std::uint64_t>(json.number);
}

void check_meta(const Golden& file, const fti::FileMeta& meta) {
  const Json& want = file.json["parsed"]["meta"];
  const bool v11 = file.layout == Layout::kV11;
  std::string checksum;
  for (std::size_t i = 0; i + 1 < meta.checksum.size(); ++i)
    checksum += static_cast<char>(meta.checksum[i]);
  CHECK(checksum == want["checksum"].text);
  CHECK(hex(meta.my_hash) == want["myHash"].text);
  CHECK(meta.ckpt_size == u64(want["ckptSize"]));
  CHECK(meta.fs == u64(want["fs"]));
  CHECK(meta.max_fs == want["maxFs"].number);
  CHECK(meta.pt_fs == want["ptFs"].number);
  CHECK(meta.timestamp == u64(want["timestamp"]));
  if (v11) return;
  CHECK(meta.ckpt_id == want["ckptId"].number);
  CHECK(meta.meta_size == u64(want["metaSize"]));
  CHECK(meta.data_size == u64(want["dataSize"]));
  CHECK(std::to_integer<std::int64_t>(meta.pad[0]) == want["pad"].number);
}

void check_container(Layout layout, const fti::Container& container, const Json& want) {
  CHECK(container.id == want["id"].number);
  CHECK(container.containerid == want["containerid"].number);
  CHECK(container.hascontent == want["hascontent"].flag);
  CHECK(container.dptr == u64(want["dptr"]));
  CHECK(container.fptr == u64(want["fptr"]));
  CHECK(container.chunksize == u64(want["chunksize"]));
  CHECK(container.containersize == u64(want["containersize"]));
  CHECK(hex(container.hash) == want["hash"].text);
  if (layout == Layout::kV11) {
    CHECK(container.idx == want["idx"].number);
    CHECK(hex(container.pad) == want["pad"].text);
  } else {
    CHECK(container.has_ckpt == want["hasCkpt"].flag);
  }
}

}  // namespace

TEST_CASE("fti golden files: 56 rank, partner and differential files, 4 RSed files",
          "[core][fti]") {
  std::map<std::string, int> kinds;
  for (const Golden& file : golden_files()) ++kinds[file.kind];
  CHECK(kinds == std::map<std::string, int>{
                     {"rank", 46}, {"partner_copy", 4}, {"dcp", 6}, {"rs_encoded", 4}});
}

TEST_CASE("fti golden files: layout and every field as in the manifest", "[core][fti]") {
  for (const Golden& file : golden_files()) {
    if (!is_checkpoint(file)) continue;
    INFO(file.path);
    fti::MemorySource source(file.bytes, file.path);
    CHECK(value_of(fti::detect_layout(source)) == file.layout);
    const auto checkpoint = value_of(fti::read_checkpoint(source));
    check_meta(file, checkpoint.meta);
    const auto& blocks = file.json["parsed"]["blocks"].array;
    REQUIRE(checkpoint.blocks.size() == blocks.size());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      CHECK(checkpoint.blocks[b].dbsize == u64(blocks[b]["dbsize"]));
      const auto& containers = blocks[b]["vars"].array;
      REQUIRE(checkpoint.blocks[b].containers.size() == containers.size());
      for (std::size_t c = 0; c < containers.size(); ++c)
        check_container(file.layout, checkpoint.blocks[b].containers[c], containers[c]);
    }
  }
}

TEST_CASE("fti golden files: the manifest's verdict for each hash rule", "[core][fti]") {
  int restarts = 0;
  for (const Golden& file : golden_files()) {
    if (!is_checkpoint(file)) continue;
    INFO(file.path);
    const fti::Verdict verdict = verdict_of(file.bytes);
    INFO(first_text(verdict.findings));
    CHECK(verdict.sound());
    CHECK(verdict.layout == file.layout);
    CHECK(verdict.hash_kind == fti::HashKind::kMd5);
    const Json& want = file.json["parsed"]["meta"];
    CHECK(verdict.my_hash_ok);
    if (file.layout == Layout::kV16) {
      CHECK(want["myHash_ok"].flag);
      CHECK(verdict.checksum_writer_rule_ok == want["checksum_writer_rule_ok"].flag);
      CHECK(verdict.checksum_reader_rule_ok == want["checksum_reader_rule_ok"].flag);
    } else {
      CHECK(verdict.checksum_writer_rule_ok == want["checksum_wholefile_ok"].flag);
      CHECK(verdict.checksum_reader_rule_ok == want["checksum_structure_rule_ok"].flag);
    }
    std::size_t i = 0;
    for (const Json& block : file.json["parsed"]["blocks"].array) {
      for (const Json& container : block["vars"].array) {
        REQUIRE(i < verdict.chunk_ok.size());
        CHECK(verdict.chunk_ok[i++] == container["hash_ok"].flag);
      }
    }
    CHECK(i == verdict.chunk_ok.size());
    if (file.json.has("fti_accepts_on_restart")) {
      ++restarts;
      CHECK(verdict.fti_accepts() == file.json["fti_accepts_on_restart"].flag);
    }
  }
  CHECK(restarts == 30);
}

TEST_CASE("fti golden files: variables hold what was checkpointed", "[core][fti]") {
  for (const Golden& file : golden_files()) {
    if (!is_checkpoint(file)) continue;
    INFO(file.path);
    fti::MemorySource source(file.bytes, file.path);
    const auto variables = value_of(fti::Variables::of(value_of(fti::read_checkpoint(source))));
    std::map<int, std::uint64_t> want;
    for (const Json& variable : file.json["variables"].array)
      want[static_cast<int>(variable["id"].number)] = u64(variable["size"]);
    const auto list = variables.list();
    REQUIRE(list.size() == want.size());
    for (const fti::Protected& variable : list) {
      REQUIRE(variable.bytes == want.at(variable.id));
      Bytes content(static_cast<std::size_t>(variable.bytes));
      require_ok(variables.read(source, variable.id, 0, content));
      const bool inverted = file.kind == "dcp" && file.checkpoint == 2 && variable.id == 1;
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < content.size(); ++i) {
        const std::byte flip{inverted && i == 1500 ? std::uint8_t{0xFF} : std::uint8_t{0}};
        wrong += content[i] != (golden_byte(variable.id, file.content_rank(), i) ^ flip);
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("fti golden files: RSed files verify, and are no rank files", "[core][fti]") {
  for (const Golden& file : golden_files()) {
    if (is_checkpoint(file)) continue;
    INFO(file.path);
    fti::MemorySource source(file.bytes, file.path);
    const auto verdict = value_of(fti::verify_rsed(source));
    INFO(first_text(verdict.findings));
    CHECK(verdict.sound());
    CHECK(verdict.layout == file.layout);
    CHECK(verdict.my_hash_ok);
    CHECK(verdict.checksum_ok);
    // The rank's own file lies beside it.
    std::string beside = file.path;
    beside.replace(beside.find("RSed"), 4, "Rank");
    CHECK(verdict.meta.ckpt_size == golden(beside).bytes.size());
    CHECK_FALSE(fti::detect_layout(source).has_value());
    CHECK_FALSE(verdict_of(file.bytes).sound());
  }
  // And a rank file is no RSed file, though it may end in the same record.
  for (const Golden& file : golden_files()) {
    if (!is_checkpoint(file)) continue;
    fti::MemorySource source(file.bytes, file.path);
    CHECK_FALSE(value_of(fti::verify_rsed(source)).sound());
  }
}

TEST_CASE("fti golden files: partner copies belong beside their holder's file", "[core][fti]") {
  CHECK(fti::left_neighbour(0, 2) == 1);
  CHECK(fti::left_neighbour(3, 4) == 2);
  for (const std::string folder : {"v1.1/mixed/ckpt2/", "v1.6/mixed/ckpt2/"}) {
    for (const int rank : {0, 1}) {
      const Golden& holder = golden(folder + "Ckpt2-Rank" + std::to_string(rank) + ".fti");
      const Golden& copy = golden(folder + "Ckpt2-Pcof" + std::to_string(rank) + ".fti");
      const Golden& original = golden(folder + "Ckpt2-Rank" + std::to_string(1 - rank) + ".fti");
      fti::MemorySource holder_source(holder.bytes);
      const auto meta = value_of(fti::read_checkpoint(holder_source)).meta;
      fti::MemorySource copy_source(copy.bytes, copy.path);
      fti::MemorySource original_source(original.bytes, original.path);
      require_ok(fti::check_partner(meta, copy_source, &original_source));

      Bytes damaged = copy.bytes;
      damaged[777] ^= std::byte{4};
      fti::MemorySource damaged_source(damaged, "damaged");
      require_ok(fti::check_partner(meta, damaged_source));
      const auto differs = fti::check_partner(meta, damaged_source, &original_source);
      REQUIRE_FALSE(differs.has_value());
      CHECK(differs.error().text.find("at byte 777") != std::string::npos);
      fti::MemorySource self(holder.bytes, holder.path);
      CHECK_FALSE(fti::check_partner(meta, self).has_value());
    }
  }
}
