// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// What a root refers to, with checksums that are right: sizes and places are held against the file.
#include <algorithm>

#include <catch2/catch_test_macros.hpp>

#include "core/base/hash.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/catalogue/catalogue.hpp"
#include "core/catalogue/catalogue_sweep.hpp"
#include "core/catalogue/committed_index.hpp"
#include "core/catalogue/view_table.hpp"
#include "core/steps/step_commit.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/support/hole_file.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/test_memory.hpp"

namespace bento {
namespace {

struct Box {
  MemoryFileSystem disk;
  ContainerPlan plan;
  std::unique_ptr<File> file;
  CatalogueSpace space;

  Box() {
    const FileGroup group{1, 1, 64u << 10, 0};
    plan = *ContainerPlan::of({&group, 1}, 4096);
    file = *disk.opener()("box", OpenMode::kCreate);
  }
  [[nodiscard]] Catalogue catalogue() { return {*file, plan.file(0)}; }
};

CatalogueRef table_of(Box& box, Position page, const Hash128& hash, std::size_t pages) {
  ByteWriter table;
  for (std::size_t i = 0; i < pages; ++i) {
    table.u64(page);
    table.bytes(hash);
  }
  const auto ref = box.catalogue().append(box.space, table.view());
  REQUIRE(ref);
  return *ref;
}

TEST_CASE("hostile catalogue: a page table that names one page many times is refused",
          "[core][container]") {
  Box box;
  const std::vector<std::byte> page(kPageBytes, std::byte{7});
  const auto stored = box.catalogue().append(box.space, page);
  REQUIRE(stored);
  std::vector<Catalogue::PagePlace> places;
  const auto once = table_of(box, stored->position, stored->hash, 1);
  REQUIRE(box.catalogue().load(once, kPageBytes, places));
  constexpr std::size_t kMany = 10000;
  const auto often = table_of(box, stored->position, stored->hash, kMany);
  CHECK_FALSE(box.catalogue().load(often, kMany * kPageBytes, places));
}

TEST_CASE("hostile catalogue: pages of a table lie apart", "[core][container]") {
  Box box;
  std::vector<std::byte> stored(3 * kPageBytes);
  for (std::size_t i = 0; i < stored.size(); ++i)
    stored[i] = static_cast<std::byte>(i * 31 + i / kPageBytes);
  const auto ref = box.catalogue().append(box.space, stored);
  REQUIRE(ref);
  // All with the right hash of what lies there.
  const auto load = [&](const std::vector<std::uint64_t>& pages) {
    ByteWriter table;
    for (const std::uint64_t at : pages) {
      table.u64(ref->position + at);
      table.bytes(hash128(std::span(stored).subspan(at, kPageBytes)));
    }
    const auto written = box.catalogue().append(box.space, table.view());
    REQUIRE(written);
    std::vector<Catalogue::PagePlace> places;
    return box.catalogue().load(*written, pages.size() * kPageBytes, places);
  };
  REQUIRE(load({2 * kPageBytes, 0, kPageBytes}));
  for (const auto& pages : std::vector<std::vector<std::uint64_t>>{
           {0, kPageBytes, 0}, {0, 100}, {kPageBytes, 2 * kPageBytes, 2 * kPageBytes - 1}})
    test::require_error(load(pages), Code::kCorrupt, {"is named again"});
  test::require_error(load({kPageBytes, kPageBytes}), Code::kCorrupt, {"two skeleton pages"});
}

TEST_CASE("hostile catalogue: references into the void are refused before they cost anything",
          "[core][container]") {
  Box box;
  const auto stored = box.catalogue().append(box.space, std::vector<std::byte>(100));
  REQUIRE(stored);
  REQUIRE(box.catalogue().read(*stored, "blob"));
  for (const Position position : {Position{1} << 30, kMaxLogicalBytes, ~Position{0} - 50}) {
    auto ref = *stored;
    ref.position = position;
    CHECK_FALSE(box.catalogue().read(ref, "blob"));
  }
  ViewTable table;
  table.ranges = {{0, 100}};
  CHECK(hash_of_view(*box.file, box.plan.file(0), table));
  table.ranges.assign(1u << 16, {0, 100});
  CHECK_FALSE(hash_of_view(*box.file, box.plan.file(0), table));
}

TEST_CASE("view table: what is written is read, and nothing behind its end", "[core][container]") {
  ViewTable table;
  table.ranges = {{8, 100}, {4096, 8192}};
  CHECK(decode_view_table(encode_view_table(table))->ranges == table.ranges);  // as files of before
  table.step = 7;
  table.live = true;
  table.unknown_since_ns = 5;
  table.earlier = {{3, 77, {{0, 8}}}, {5, 99, {}}};
  for (const bool blocks : {false, true}) {
    if (blocks) table.blocks = {{2, 1, 900}};
    const auto bytes = encode_view_table(table);
    const auto read = decode_view_table(bytes);
    REQUIRE(read);
    CHECK(read->ranges == table.ranges);
    CHECK(read->blocks == table.blocks);
    CHECK(read->step == 7);
    CHECK(read->live);
    CHECK(read->unknown_since_ns == 5);
    CHECK(read->earlier == table.earlier);
    for (std::size_t end = bytes.size() - 8; end < bytes.size(); ++end)
      CHECK_FALSE(decode_view_table(std::span(bytes).first(end)));
  }
}

Hash128 hash_of_zeros(std::uint64_t bytes) {
  const std::vector<std::byte> zeros(1u << 20);
  Hasher hasher;
  for (; bytes > zeros.size(); bytes -= zeros.size()) hasher.update(zeros);
  hasher.update(std::span(zeros).first(static_cast<std::size_t>(bytes)));
  return hasher.digest();
}

TEST_CASE("hostile catalogue: a hole of terabytes costs no memory", "[core][container]") {
  constexpr std::uint64_t kHole = 1ull << 42;
  constexpr std::uint64_t kMost = 48u << 20;
  Box box;
  REQUIRE(box.catalogue().append(box.space, std::vector<std::byte>(100)));
  test::HoleFile file(*box.file, kHole);
  Catalogue catalogue(file, box.plan.file(0));
  const auto size_of = [&](std::uint32_t) { return file.size(); };
  std::vector<Catalogue::PagePlace> places;
  const test::MemoryWatch watch;

  // Blobs with any hash, the stream table of one writer, an image that nothing has room for.
  for (const std::uint64_t bytes : {kHole / 4, std::uint64_t{70} << 20}) {
    CHECK_FALSE(catalogue.read({0, bytes, {}}, "blob"));
    CHECK_FALSE(read_stream_table(catalogue, {0, bytes, {}}, box.plan, size_of));
    CHECK_FALSE(catalogue.load({0, bytes, {}}, bytes / 24 * kPageBytes, places));
  }
  // A table whose hash is right, of pages that all are the first one.
  const std::uint64_t pages = 1u << 20;
  const CatalogueRef zeros{0, 24 * pages, hash_of_zeros(24 * pages)};
  CHECK_FALSE(catalogue.load(zeros, pages * kPageBytes, places));
  CHECK(watch.peak() < kMost);
}

TEST_CASE("hostile catalogue: a blob has 64 MiB at most, also with the right hash",
          "[core][container]") {
  constexpr std::uint64_t kLarge = kMaxBlobBytes + 1;
  Box box;
  REQUIRE(box.catalogue().append(box.space, std::vector<std::byte>(100)));
  test::HoleFile file(*box.file, 1ull << 40);
  Catalogue catalogue(file, box.plan.file(0));
  const CatalogueRef zeros{0, kLarge, hash_of_zeros(kLarge)};
  const test::MemoryWatch watch;
  // Also what a root names as its view's table.
  test::require_error(catalogue.read(zeros, "blob"), Code::kCorrupt, {"at most"});
  CatalogueBlobs blobs(catalogue);
  test::require_error(blobs.read(blob_ref(zeros)), Code::kCorrupt, {"at most"});
  Root root;
  root.view = zeros;
  test::require_error(ranges_in_use(file, box.plan.file(0), root), Code::kCorrupt, {"at most"});
  CHECK(watch.peak() < 16u << 20);

  ByteWriter out;
  put_ref(out, blob_ref(zeros));
  ByteReader in(out.view());
  test::require_error(get_ref(in), Code::kCorrupt, {"at most"});
}

TEST_CASE("hostile catalogue: page tables of steps that lie in each other end the sweep",
          "[core][container]") {
  constexpr std::uint64_t kPages = 4096;
  constexpr std::uint64_t kSteps = 200;
  Box box;
  test::HoleFile file(*box.file, kPages * kPageBytes);
  Catalogue catalogue(file, box.plan.file(0));
  ByteWriter table;
  for (std::uint64_t page = 0; page < kPages; ++page) {
    table.u64(page * kPageBytes);
    table.zeros(16);
  }
  const auto ref = test::must(catalogue.append(box.space, table.view()));
  CatalogueBlobs blobs(catalogue, &box.space);
  Root root;
  for (std::uint64_t step = 1; step <= kSteps; ++step) {
    // Each begins one page further, and has the right hash.
    const std::uint64_t skipped = 24 * step;
    const auto rest = table.view().subspan(skipped);
    const auto payload = encode_payload(
        {{ref.position + skipped, rest.size(), hash128(rest)}, (kPages - step) * kPageBytes});
    StepCommit commit;
    commit.step = AbsoluteStep(step);
    commit.payload = payload;
    const auto done = test::must(commit_step(blobs, blobs, blob_ref(root.index), commit));
    root.index = catalogue_ref(done.root);
    if (step == 1) CHECK(ranges_in_use(file, box.plan.file(0), root));
  }
  test::require_error(ranges_in_use(file, box.plan.file(0), root), Code::kCorrupt,
                      {"page tables of more bytes than the file has"});
}

TEST_CASE("catalogue: what nobody could read back is not written", "[core][container]") {
  Box box;
  Catalogue catalogue = box.catalogue();
  CatalogueBlobs blobs(catalogue, &box.space);
  REQUIRE(blobs.append(std::vector<std::byte>(100)));
  const auto end = box.space.end();
  test::require_error(blobs.append(std::vector<std::byte>(kMaxBlobBytes + 1)), Code::kUnsupported,
                      {"at most"});
  CHECK(box.space.end() == end);
}

TEST_CASE("hostile META1: a session does not go on behind a place that is not in the file",
          "[core][container]") {
  const MemoryFileSystem disk;
  const auto options = test::small_options(disk.opener());
  {
    const auto made = Container::create("box", true, options, make_self_communicator());
    REQUIRE(made);
    const auto dataset = (*made)->declare({}, 8, 2, 0);
    REQUIRE(test::write_step(**made, dataset, 1));
    REQUIRE((*made)->close(nullptr));
  }
  const auto size = disk.content("box").size();
  const auto session = [&]() -> Status {
    BENTO_ASSIGN(const auto again, Container::open("box", true, options, make_self_communicator()));
    BENTO_TRY(test::write_step(*again, 0, 2));
    return again->close(nullptr);
  };
  const auto intact = disk.content("box");
  const auto patched = [&](std::size_t at, std::uint64_t value) {
    auto bytes = intact;
    ByteWriter out;
    out.u64(value);
    std::ranges::copy(out.view(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    return bytes;
  };

  SECTION("META2") {
    const FileGroup group{1, 1, 64u << 10, 0};
    const auto plan = ContainerPlan::of({&group, 1}, 4096);
    const std::size_t at = 1088 + 16 * plan->file(0).tasks() - 8;
    for (const std::uint64_t place : {1ull << 36, 1ull << 50, ~0ull - 100}) {
      disk.put("box", patched(at, place));
      REQUIRE(session());
      CHECK(disk.content("box").size() < 4 * size);
    }
  }
  SECTION("end of the catalogue") {
    for (const std::uint64_t end : {1ull << 36, 1ull << 50, ~0ull - 100}) {
      auto bytes = intact;
      const auto file = disk.open("box", OpenMode::kRead);
      auto seen = probe(**file);
      REQUIRE(seen);
      seen->root.catalogue_end = end;
      const auto sector = encode_root(seen->root);
      const FileGroup group{1, 1, 64u << 10, 0};
      const auto plan = ContainerPlan::of({&group, 1}, seen->root.fs_block);
      for (unsigned slot = 0; slot < 2; ++slot)
        std::ranges::copy(
            sector, bytes.begin() + static_cast<std::ptrdiff_t>(plan->file(0).root_address(slot)));
      disk.put("box", bytes);
      CHECK(Container::open("box", false, options, make_self_communicator()));
      const auto refused = session();
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == Code::kCorrupt);
      CHECK(disk.content("box") == bytes);
      disk.put("box", intact);
    }
  }
}

TEST_CASE("hostile root: chunks that make the arithmetic wrap, or each read a thousand",
          "[core][container]") {
  Root root;
  root.fs_block = 4096;
  root.groups = {{1, 1, 64u << 10, 0}};
  REQUIRE(decode_root(encode_root(root)));
  root.groups[0].chunk_bytes = 1;
  CHECK_FALSE(decode_root(encode_root(root)));
  root.groups[0] = {1u << 23, 1, 1ull << 42, 0};
  CHECK_FALSE(decode_root(encode_root(root)));
}

}  // namespace
}  // namespace bento
