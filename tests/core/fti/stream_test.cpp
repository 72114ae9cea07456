// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Streams as our writer lays them out (docs/format.md, "A rank's stream"): fillers, live chunks in
// any order, dead containers, containers with slack, three kinds of hash; and their way into
// ordinary FTI files.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/fti/reader.hpp"
#include "core/fti/v11.hpp"
#include "core/fti/variables.hpp"
#include "core/fti/verify.hpp"
#include "core/fti/writer.hpp"
#include "tests/core/fti/golden.hpp"

using namespace bento;
using namespace bento::test;
using fti::HashKind;
using fti::Layout;

namespace {

/// Puts a stream together from the structures alone, as the container's writer does.
class StreamBuilder {
 public:
  explicit StreamBuilder(HashKind kind) : kind_(kind), bytes_(fti::v11::kFileBlockBytes) {}

  struct Piece {
    std::int32_t id = 0, containerid = 0;
    std::uint64_t dptr = 0;
    Bytes data;
    std::uint64_t slack = 0;
    bool live = true;
    bool hashed = true;
  };

  void small(const std::vector<Piece>& pieces) {
    append(pieces,
           bytes_.size() + fti::v11::header_bytes(static_cast<std::uint32_t>(pieces.size())), {});
  }

  /// One record with a filler before it, so that its data begins on a page.
  void large(const Piece& piece) {
    const std::uint64_t behind = bytes_.size() + fti::v11::header_bytes(2);
    const std::uint64_t page = (behind + 4095) / 4096 * 4096;
    append({piece}, page, {fti::v11::make_filler(behind, page - behind, kind_)});
  }

  Bytes finish() {
    fti::v11::FileBlock block;
    fti::v11::set_hash_kind(block, kind_);
    if (kind_ == HashKind::kXxh3) block.checksum = hashes_.text();
    if (kind_ == HashKind::kMd5)
      block.checksum = fti::to_text(fti::md5(std::span(bytes_).subspan(fti::v11::kFileBlockBytes)));
    block.ckpt_size = block.fs = bytes_.size();
    block.timestamp = 1'700'000'000'123'456'789;
    fti::v11::seal(block);
    const auto head = fti::v11::encode(block);
    Bytes out = bytes_;
    std::copy(head.begin(), head.end(), out.begin());
    return out;
  }

 private:
  void append(const std::vector<Piece>& pieces, std::uint64_t data_at,
              std::vector<fti::v11::DbVar> vars) {
    std::uint64_t at = data_at;
    for (const Piece& piece : pieces) {
      fti::v11::DbVar var;
      var.id = var.idx = piece.id;
      var.containerid = piece.containerid;
      var.hascontent = piece.live;
      var.dptr = piece.live ? piece.dptr : 0;
      var.fptr = at;
      var.chunksize = piece.live ? piece.data.size() : 0;
      var.containersize = piece.data.size() + piece.slack;
      var.hash = piece.live ? fti::chunk_hash(kind_, piece.data) : fti::empty_chunk_hash(kind_);
      if (!piece.hashed) var.hash = {};
      if (piece.live) hashes_.add(var.hash);
      at += var.containersize;
      vars.push_back(var);
    }
    const auto header = fti::v11::encode_header(vars);
    bytes_.insert(bytes_.end(), header.begin(), header.end());
    bytes_.resize(static_cast<std::size_t>(data_at), std::byte{0xF1});
    for (const Piece& piece : pieces) {
      bytes_.insert(bytes_.end(), piece.data.begin(), piece.data.end());
      bytes_.insert(bytes_.end(), static_cast<std::size_t>(piece.slack), std::byte{0xDD});
    }
  }

  HashKind kind_;
  Bytes bytes_;
  fti::v11::HashOfHashes hashes_;
};

Bytes data(std::int32_t id, std::uint64_t offset, std::size_t count) {
  Bytes out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = golden_byte(id, 0, offset + i);
  return out;
}

/// Dataset 0 in three live pieces, not in order, and a dead one; dataset 5 in one; 6 all dead.
Bytes example(HashKind kind) {
  StreamBuilder stream(kind);
  stream.large({0, 0, 200, data(0, 200, 9000)});
  stream.small(
      {{5, 0, 0, data(5, 0, 77)}, {0, 1, 0, data(0, 0, 200)}, {6, 0, 0, data(6, 0, 10), 0, false}});
  stream.large({0, 2, 0, data(0, 0, 5000), 0, false});
  stream.large({0, 3, 9200, data(0, 9200, 4096), 512});
  return stream.finish();
}

fti::Verdict verdict_of(const Bytes& bytes) {
  fti::VerifyOptions options;
  options.rules = fti::Rules::kStream;
  fti::MemorySource source(bytes);
  return value_of(fti::verify(source, options));
}

}  // namespace

TEST_CASE("fti streams: fillers, dead containers and any order verify, with each hash",
          "[core][fti]") {
  for (const auto kind : {HashKind::kXxh3, HashKind::kMd5, HashKind::kNone}) {
    const Bytes bytes = example(kind);
    const auto verdict = verdict_of(bytes);
    INFO((verdict.findings.empty() ? "" : verdict.findings.kept().front().text));
    CHECK(verdict.sound());
    CHECK(verdict.hash_kind == kind);
    CHECK(verdict.fti_accepts() == (kind == HashKind::kMd5));
    for (const fti::Block& block : verdict.checkpoint.blocks)
      for (const fti::Container& container : block.containers)
        if (container.chunksize >= 4096) CHECK(container.fptr % 4096 == 0);
    // FTI's own rules do not allow it: that is what the export is for.
    fti::MemorySource source(bytes);
    CHECK_FALSE(value_of(fti::verify(source)).sound());
  }
}

TEST_CASE("fti streams: records of a session without hashes may lie among others", "[core][fti]") {
  for (const auto kind : {HashKind::kXxh3, HashKind::kMd5}) {
    StreamBuilder stream(kind);
    stream.small({{0, 0, 0, data(0, 0, 100)},
                  {0, 1, 100, data(0, 100, 50), 0, true, false},
                  {0, 2, 0, data(0, 0, 7), 0, false, false}});
    const Bytes bytes = stream.finish();
    const auto verdict = verdict_of(bytes);
    CHECK(verdict.sound());
    CHECK(verdict.unhashed == 1);
    CHECK_FALSE(verdict.fti_accepts());
    fti::MemorySource source(bytes);  // no release of FTI knows such a thing
    CHECK_FALSE(value_of(fti::verify(source)).sound());
  }
}

TEST_CASE("fti streams: a dead container carries the hash of no bytes", "[core][fti]") {
  for (const auto kind : {HashKind::kXxh3, HashKind::kMd5, HashKind::kNone}) {
    StreamBuilder stream(kind);
    stream.small({{0, 0, 0, data(0, 0, 10), 0, false}});
    Bytes bytes = stream.finish();
    CHECK(verdict_of(bytes).sound());
    bytes[96 + 12 + 48] ^= std::byte{1};
    const auto verdict = verdict_of(bytes);
    REQUIRE_FALSE(verdict.sound());
    CHECK(verdict.findings.kept()[0].damage == fti::Damage::kChunkHash);
    CHECK(verdict.findings.kept()[0].offset == 96 + 12 + 48);
  }
}

TEST_CASE("fti streams: an empty one is a file block and nothing else", "[core][fti]") {
  for (const auto kind : {HashKind::kXxh3, HashKind::kMd5, HashKind::kNone}) {
    const Bytes bytes = StreamBuilder(kind).finish();
    CHECK(bytes.size() == 96);
    CHECK(verdict_of(bytes).sound());
  }
}

TEST_CASE("fti streams: damage in data and in what XXH3 covers is found", "[core][fti]") {
  const Bytes bytes = example(HashKind::kXxh3);
  const auto sound = verdict_of(bytes);
  const auto damaged = [&](std::uint64_t at) {
    Bytes changed = bytes;
    changed[static_cast<std::size_t>(at)] ^= std::byte{0x10};
    return verdict_of(changed);
  };
  for (const fti::Block& block : sound.checkpoint.blocks) {
    for (const fti::Container& c : block.containers) {
      if (!c.hascontent) continue;
      const auto in_data = damaged(c.fptr + c.chunksize / 2);
      REQUIRE(in_data.findings.count() == 1);
      CHECK(in_data.findings.kept()[0].offset == c.fptr);
      CHECK(in_data.findings.kept()[0].bytes == c.chunksize);
      CHECK(in_data.findings.kept()[0].record == c.record_offset);
      CHECK_FALSE(damaged(c.record_offset + 48).sound());  // hash
      CHECK_FALSE(damaged(c.record_offset + 16).sound());  // dptr
      CHECK_FALSE(damaged(c.record_offset + 24).sound());  // fptr
      CHECK_FALSE(damaged(c.record_offset + 32).sound());  // chunksize
      CHECK_FALSE(damaged(c.record_offset + 40).sound());  // containersize
      CHECK_FALSE(damaged(c.record_offset + 12).sound());  // hascontent
    }
    CHECK_FALSE(damaged(block.head_offset).sound());
    CHECK_FALSE(damaged(block.head_offset + 4).sound());
  }
  for (std::uint64_t at = 0; at < 96; ++at) CHECK_FALSE(damaged(at).sound());
}

TEST_CASE("fti streams: live chunks that overlap or leave a gap are found", "[core][fti]") {
  StreamBuilder overlap(HashKind::kXxh3);
  overlap.small({{0, 0, 0, data(0, 0, 100)}, {0, 1, 99, data(0, 99, 100)}});
  const auto verdict = verdict_of(overlap.finish());
  REQUIRE(verdict.findings.count() == 1);
  CHECK(verdict.findings.kept()[0].damage == fti::Damage::kOrder);
  CHECK_FALSE(fti::Variables::of(verdict.checkpoint).has_value());

  StreamBuilder gap(HashKind::kXxh3);
  gap.small({{0, 0, 0, data(0, 0, 100)}, {0, 1, 101, data(0, 101, 100)}});
  CHECK_FALSE(verdict_of(gap.finish()).sound());

  StreamBuilder twice(HashKind::kXxh3);
  twice.small({{0, 4, 0, data(0, 0, 100)}, {0, 4, 100, data(0, 100, 100)}});
  CHECK_FALSE(verdict_of(twice.finish()).sound());

  StreamBuilder filled(HashKind::kXxh3);
  filled.small({{fti::kFillerId, 0, 0, data(0, 0, 100)}});
  CHECK_FALSE(verdict_of(filled.finish()).sound());
}

TEST_CASE("fti streams: export makes files that FTI accepts, in either layout", "[core][fti]") {
  const Bytes bytes = example(HashKind::kXxh3);
  fti::MemorySource stream(bytes, "stream of task 0");
  const auto variables = value_of(fti::Variables::of(value_of(fti::read_checkpoint(stream))));
  const std::vector<fti::Protected> list = variables.list();
  CHECK(list == std::vector<fti::Protected>{{0, 13296}, {5, 77}});
  for (const Layout layout : {Layout::kV11, Layout::kV16}) {
    auto checkpoint = value_of(fti::first_checkpoint(layout, list));
    ScratchFile file;
    require_ok(fti::write_checkpoint(
        *file, checkpoint,
        [&](std::int32_t id, std::uint64_t offset, std::span<std::byte> into) {
          return variables.read(stream, id, offset, into);
        },
        {}));
    fti::FileSource written(*file);
    CHECK(value_of(fti::verify(written)).fti_accepts());
    const auto again = value_of(fti::Variables::of(value_of(fti::read_checkpoint(written))));
    for (const auto& variable : list) {
      Bytes content(static_cast<std::size_t>(variable.bytes));
      require_ok(again.read(written, variable.id, 0, content));
      CHECK(content == data(variable.id, 0, content.size()));
    }
  }
}

TEST_CASE("fti variables: any range, and ranges that are not there", "[core][fti]") {
  const Bytes bytes = example(HashKind::kNone);
  fti::MemorySource stream(bytes, "stream");
  const auto variables = value_of(fti::Variables::of(value_of(fti::read_checkpoint(stream))));
  for (const std::uint64_t offset : {0u, 1u, 199u, 200u, 201u, 9199u, 9200u, 13295u}) {
    for (const std::uint64_t count : {0u, 1u, 2u, 300u, 9100u}) {
      if (offset + count > 13296) continue;
      Bytes content(static_cast<std::size_t>(count));
      require_ok(variables.read(stream, 0, offset, content));
      CHECK(content == data(0, offset, content.size()));
    }
  }
  Bytes one(1);
  CHECK(variables.read(stream, 0, 13296, one).error().code == Code::kInvalidArgument);
  CHECK(variables.read(stream, 0, UINT64_MAX, one).error().code == Code::kInvalidArgument);
  CHECK(variables.read(stream, 6, 0, one).error().code == Code::kNotFound);
  CHECK(variables.read(stream, fti::kFillerId, 0, one).error().code == Code::kNotFound);
  require_ok(variables.read(stream, 0, 13296, std::span<std::byte>()));
}
