// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// What we write equals what FTI wrote, as far as the format determines it; and what we write
// verifies.
#include <cstdint>
#include <optional>
#include <string>

#include "core/fti/evolve.hpp"
#include "core/fti/reader.hpp"
#include "core/fti/variables.hpp"
#include "core/fti/verify.hpp"
#include "core/fti/writer.hpp"
#include "tests/core/fti/golden.hpp"

using namespace bento;
using namespace bento::test;
using fti::Layout;

namespace {

fti::WriteOptions options_of(const fti::FileMeta& meta) {
  fti::WriteOptions options;
  options.timestamp = meta.timestamp;
  options.ckpt_id = meta.ckpt_id;
  options.max_fs = meta.max_fs;
  options.pt_fs = meta.pt_fs;
  return options;
}

fti::Checkpoint read(const Bytes& bytes) {
  fti::MemorySource source(bytes);
  return value_of(fti::read_checkpoint(source));
}

/// Bytes of a 1.1 file with what FTI leaves undefined as we write it: pads, and the checksum and
/// hash over them.
Bytes without_pads(const Bytes& bytes) {
  fti::Checkpoint checkpoint = read(bytes);
  Bytes out = bytes;
  bool padded = false;
  for (const fti::Block& block : checkpoint.blocks) {
    for (const fti::Container& container : block.containers) {
      for (std::size_t i = 0; i < container.pad.size(); ++i) {
        auto& pad = out[static_cast<std::size_t>(container.record_offset) + 13 + i];
        padded = padded || pad != std::byte{0};
        pad = std::byte{0};
      }
    }
  }
  if (!padded) return out;
  checkpoint.meta.checksum = fti::to_text(fti::md5(std::span(out).subspan(96)));
  checkpoint.meta.my_hash = fti::my_hash(Layout::kV11, checkpoint.meta);
  ByteWriter meta;
  fti::encode(meta, Layout::kV11, checkpoint.meta);
  std::copy(meta.view().begin(), meta.view().end(), out.begin());
  return out;
}

std::string folder(Layout layout) {
  return layout == Layout::kV11 ? "v1.1/" : "v1.6/";
}

std::string name(Layout layout, const std::string& scenario, int checkpoint, int rank) {
  const std::string c = std::to_string(checkpoint);
  return folder(layout) + scenario + "/ckpt" + c + "/Ckpt" + c + "-Rank" + std::to_string(rank) +
         ".fti";
}

/// What our writer must make of the golden file's checkpoint.
Bytes expected(Layout layout, const std::string& scenario, int checkpoint, int rank) {
  if (layout == Layout::kV11)
    return without_pads(golden(name(layout, scenario, checkpoint, rank)).bytes);
  // Where a container is empty, FTI 1.6 writes a checksum that it rejects itself; a corrected file
  // replaces it.
  const bool fixed = scenario == "published" && checkpoint == 7;
  Bytes out = golden(name(layout, fixed ? "published_fixed" : scenario, checkpoint, rank)).bytes;
  out.back() = std::byte{0};  // the pad byte
  return out;
}

}  // namespace

TEST_CASE("fti writer: the published example equals FTI's files byte for byte", "[core][fti]") {
  for (const Layout layout : {Layout::kV11, Layout::kV16}) {
    for (const int rank : {0, 1}) {
      std::optional<fti::Checkpoint> checkpoint;
      for (int step = 1; step <= 7; ++step) {
        INFO(fti::to_string(layout) << " step " << step << " rank " << rank);
        const auto sizes = published_sizes(step, 1000);
        checkpoint = value_of(checkpoint ? fti::next_checkpoint(*checkpoint, sizes)
                                         : fti::first_checkpoint(layout, sizes));
        const Bytes want = expected(layout, "published", step, rank);
        ScratchFile file;
        require_ok(fti::write_checkpoint(*file, *checkpoint, golden_data(rank),
                                         options_of(read(want).meta)));
        CHECK(file.bytes() == want);
        CHECK(read(file.bytes()) == *checkpoint);
      }
    }
  }
}

TEST_CASE("fti writer: odd sizes at levels 1 to 4 equal FTI's files byte for byte", "[core][fti]") {
  for (const Layout layout : {Layout::kV11, Layout::kV16}) {
    for (const int rank : {0, 1}) {
      std::optional<fti::Checkpoint> checkpoint;
      for (int step = 1; step <= 4; ++step) {
        INFO(fti::to_string(layout) << " step " << step << " rank " << rank);
        const auto sizes = mixed_sizes(step, rank);
        checkpoint = value_of(checkpoint ? fti::next_checkpoint(*checkpoint, sizes)
                                         : fti::first_checkpoint(layout, sizes));
        const Bytes want = expected(layout, "mixed", step, rank);
        const fti::Checkpoint golden_one = read(want);
        ScratchFile file;
        require_ok(fti::write_checkpoint(*file, *checkpoint, golden_data(rank),
                                         options_of(golden_one.meta)));
        // Step 3 has an emptied container, and nobody corrected FTI 1.6's file.
        if (layout == Layout::kV16 && step == 3) {
          const Bytes written = file.bytes();
          CHECK(written.size() == want.size());
          fti::Checkpoint ours = read(written);
          ours.meta.checksum = golden_one.meta.checksum;
          ours.meta.my_hash = golden_one.meta.my_hash;
          auto& emptied = ours.blocks.at(1).containers.at(0);
          CHECK_FALSE(emptied.hascontent);
          emptied.hash = golden_one.blocks.at(1).containers.at(0).hash;
          CHECK(ours == golden_one);
          CHECK(std::equal(want.begin(),
                           want.begin() + static_cast<std::ptrdiff_t>(ours.meta.data_size),
                           written.begin()));
        } else {
          CHECK(file.bytes() == want);
        }
        fti::FileSource source(*file);
        CHECK(value_of(fti::verify(source)).fti_accepts());
      }
    }
  }
}

TEST_CASE("fti writer: partner and differential files equal FTI's byte for byte", "[core][fti]") {
  int equal = 0;
  for (const Golden& file : golden_files()) {
    if (file.kind != "partner_copy" && file.kind != "dcp") continue;
    INFO(file.path);
    const fti::Checkpoint golden_one = read(file.bytes);
    fti::Checkpoint ours = golden_one;
    const bool inverted = file.kind == "dcp" && file.checkpoint == 2;
    const auto data = [&](std::int32_t id, std::uint64_t offset, std::span<std::byte> into) {
      auto filled = golden_data(file.content_rank())(id, offset, into);
      if (inverted && id == 1 && offset <= 1500 && 1500 - offset < into.size())
        into[static_cast<std::size_t>(1500 - offset)] ^= std::byte{0xFF};
      return filled;
    };
    ScratchFile out;
    require_ok(fti::write_checkpoint(*out, ours, data, options_of(golden_one.meta)));
    Bytes want = file.layout == Layout::kV11 ? without_pads(file.bytes) : file.bytes;
    if (file.layout == Layout::kV16) want.back() = std::byte{0};
    if (file.kind == "dcp" && file.checkpoint == 3) {
      // An emptied container: FTI's checksum and hash of it are such as it rejects itself, and the
      // bytes that nobody uses are those of the checkpoint before.
      CHECK(ours.blocks.back().containers.back().hash == fti::md5({}));
      ours.blocks.back().containers.back().hash = golden_one.blocks.back().containers.back().hash;
      ours.meta = golden_one.meta;
      CHECK(ours == golden_one);
      const Bytes written = out.bytes();
      CHECK(written.size() == want.size());
      for (const fti::Container& c : golden_one.blocks[0].containers)
        CHECK(std::equal(written.begin() + static_cast<std::ptrdiff_t>(c.fptr),
                         written.begin() + static_cast<std::ptrdiff_t>(c.fptr + c.chunksize),
                         want.begin() + static_cast<std::ptrdiff_t>(c.fptr)));
      continue;
    }
    ++equal;
    CHECK(out.bytes() == want);
  }
  CHECK(equal == 8);
}

TEST_CASE("fti writer: golden meta encodes back to its bytes, pads included", "[core][fti]") {
  for (const Golden& file : golden_files()) {
    if (file.kind == "rs_encoded") continue;
    INFO(file.path);
    const fti::Checkpoint checkpoint = read(file.bytes);
    Bytes again = file.bytes;
    const auto put = [&](std::uint64_t at, const ByteWriter& bytes) {
      std::fill_n(again.begin() + static_cast<std::ptrdiff_t>(at), bytes.size(), std::byte{0x55});
      std::copy(bytes.view().begin(), bytes.view().end(),
                again.begin() + static_cast<std::ptrdiff_t>(at));
    };
    for (const fti::Block& block : checkpoint.blocks) {
      ByteWriter header;
      fti::encode(header, file.layout, block);
      put(block.head_offset, header);
    }
    ByteWriter meta;
    fti::encode(meta, file.layout, checkpoint.meta);
    put(file.layout == Layout::kV11 ? 0 : file.bytes.size() - meta.size(), meta);
    CHECK(again == file.bytes);
    // Nothing but place() decides where things lie.
    fti::Checkpoint placed = checkpoint;
    require_ok(fti::place(placed));
    CHECK(placed == checkpoint);
  }
}

TEST_CASE("fti writer: XXH3 and no hash, in the 1.1 layout only", "[core][fti]") {
  for (const auto kind : {fti::HashKind::kXxh3, fti::HashKind::kNone}) {
    std::optional<fti::Checkpoint> checkpoint;
    for (int step = 1; step <= 4; ++step) {
      const auto sizes = mixed_sizes(step, 0);
      checkpoint = value_of(checkpoint ? fti::next_checkpoint(*checkpoint, sizes)
                                       : fti::first_checkpoint(Layout::kV11, sizes));
      fti::WriteOptions options;
      options.hash = kind;
      ScratchFile file;
      require_ok(fti::write_checkpoint(*file, *checkpoint, golden_data(0), options));
      fti::FileSource source(*file);
      const auto verdict = value_of(fti::verify(source));
      CHECK(verdict.sound());
      CHECK(verdict.hash_kind == kind);
      CHECK_FALSE(verdict.fti_accepts());
    }
    auto v16 = value_of(fti::first_checkpoint(Layout::kV16, mixed_sizes(1, 0)));
    fti::WriteOptions options;
    options.hash = kind;
    ScratchFile file;
    const auto refused = fti::write_checkpoint(*file, v16, golden_data(0), options);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == Code::kInvalidArgument);
  }
}

TEST_CASE("fti writer: an error of the data is passed on", "[core][fti]") {
  auto checkpoint = value_of(fti::first_checkpoint(Layout::kV16, mixed_sizes(1, 0)));
  ScratchFile file;
  const auto status =
      fti::write_checkpoint(*file, checkpoint,
                            [](std::int32_t id, std::uint64_t, std::span<std::byte>) -> Status {
                              if (id == 7) return fail(Code::kIo, "no more data", 5);
                              return {};
                            },
                            {});
  REQUIRE_FALSE(status.has_value());
  CHECK(status.error().code == Code::kIo);
  CHECK(status.error().os_errno == 5);
}

TEST_CASE("fti writer: chunks larger than one piece", "[core][fti]") {
  constexpr std::uint64_t kBytes = (std::uint64_t{5} << 20) / 2 + 3;
  for (const Layout layout : {Layout::kV11, Layout::kV16}) {
    auto checkpoint =
        value_of(fti::first_checkpoint(layout, std::vector<fti::Protected>{{4, kBytes}, {5, 1}}));
    ScratchFile file;
    require_ok(fti::write_checkpoint(*file, checkpoint, golden_data(3), {}));
    fti::FileSource source(*file);
    CHECK(value_of(fti::verify(source)).fti_accepts());
    const auto variables = value_of(fti::Variables::of(value_of(fti::read_checkpoint(source))));
    Bytes tail(1000);
    require_ok(variables.read(source, 4, kBytes - tail.size(), tail));
    CHECK(tail.back() == golden_byte(4, 3, kBytes - 1));
  }
}

TEST_CASE("fti writer: the group's maxFs", "[core][fti]") {
  CHECK(fti::group_max_fs(Layout::kV16, 2222) == 2230);
  CHECK(fti::group_max_fs(Layout::kV11, 2236) == 2236);
}
