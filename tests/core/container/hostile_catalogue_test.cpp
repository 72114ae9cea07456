// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// What a root refers to, with checksums that are right: sizes and places are held against the file.
#include <catch2/catch_test_macros.hpp>

#include "core/bytes/byte_writer.hpp"
#include "core/catalogue/catalogue.hpp"
#include "core/catalogue/view_table.hpp"
#include "tests/support/memory_file.hpp"

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
