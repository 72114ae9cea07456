// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// What a root refers to, with checksums that are right: sizes and places are held against the file.
#include <algorithm>

#include <catch2/catch_test_macros.hpp>

#include "core/base/hash.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/catalogue/catalogue.hpp"
#include "core/catalogue/view_table.hpp"
#include "tests/core/container/container_support.hpp"
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

/// A file of which most is a hole.
class HoleFile final : public File {
 public:
  HoleFile(File& below, std::uint64_t bytes) : below_(below), bytes_(bytes) {}
  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) override {
    std::ranges::fill(into, std::byte{0});
    BENTO_TRY(below_.read_some(offset, into));
    return static_cast<std::size_t>(
        std::min<std::uint64_t>(into.size(), offset < bytes_ ? bytes_ - offset : 0));
  }
  Status write_at(std::uint64_t offset, std::span<const std::byte> from) override {
    return below_.write_at(offset, from);
  }
  Result<std::uint64_t> size() override { return bytes_; }
  Status truncate(std::uint64_t bytes) override { return below_.truncate(bytes); }
  Status sync() override { return {}; }
  Status close() override { return {}; }
  [[nodiscard]] const std::string& path() const override { return below_.path(); }

 private:
  File& below_;
  std::uint64_t bytes_;
};

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
  HoleFile file(*box.file, kHole);
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
