// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/layout/root.hpp"

#include <catch2/catch_test_macros.hpp>

namespace bento {
namespace {

Root with_groups(std::vector<FileGroup> groups) {
  Root root;
  root.fs_block = 4096;
  root.sequence = 3;
  root.groups = std::move(groups);
  return root;
}

TEST_CASE("root: a sector does not make its reader plan millions of files",
          "[core][container][root]") {
  constexpr std::uint64_t kChunk = 1u << 20;
  const auto most =
      decode_root(encode_root(with_groups({{kMaxPhysicalFiles, kMaxPhysicalFiles, kChunk}})));
  REQUIRE(most);
  CHECK(most->files() == kMaxPhysicalFiles);
  for (const auto& groups : std::vector<std::vector<FileGroup>>{
           {{kMaxWriters, kMaxWriters, kChunk}},
           {{kMaxPhysicalFiles, kMaxPhysicalFiles, kChunk}, {1, 1, kChunk}},
       }) {
    const auto refused = decode_root(encode_root(with_groups(groups)));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::kCorrupt);
    CHECK(refused.error().text.find("physical files") != std::string::npos);
  }
}

TEST_CASE("root: versions that are not known are refused by name", "[core][container][root]") {
  Root root = with_groups({{4, 1, 1u << 20}});
  for (std::uint32_t version = 3; version <= 5; ++version) {
    root.version = version;
    const auto read = decode_root(encode_root(root));
    REQUIRE(read);
    CHECK(read->version == version);
  }
  for (const std::uint32_t version : {2u, 6u}) {
    root.version = version;
    const auto refused = decode_root(encode_root(root));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Code::kUnsupported);
    CHECK(refused.error().text.find("versions 3 to 5") != std::string::npos);
  }
}

}  // namespace
}  // namespace bento
