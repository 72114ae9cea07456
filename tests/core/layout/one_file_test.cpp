// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/layout/one_file.hpp"

#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace bento {
namespace {

constexpr std::uint64_t kChunk = 64u << 10;

ContainerPlan plan_of(const std::vector<FileGroup>& groups) {
  return ContainerPlan::of(groups, 4096).value();
}

TEST_CASE("one file: every writer keeps its number and its rank", "[core][container][onefile]") {
  // Two files, one for added ranks, two of an overflow.
  const ContainerPlan many =
      plan_of({{5, 2, kChunk, 0}, {2, 1, kChunk, 5}, {6, 2, kChunk, 0}, {1, 1, kChunk, 3}});
  const ContainerPlan one = in_one_file(many, 4096).value();
  CHECK(one.files() == 1);
  CHECK(one.writers() == many.writers());
  CHECK(one.ranks() == many.ranks());
  for (std::uint32_t writer = 0; writer < many.writers(); ++writer) {
    CHECK(one.rank_of_writer(writer) == many.rank_of_writer(writer));
    CHECK(one.file_of(writer) == 0);
    CHECK(one.local_task(writer) == writer);
  }
  for (std::uint32_t rank = 0; rank < many.ranks(); ++rank)
    CHECK(one.writer_of_rank(rank) == many.writer_of_rank(rank));
  const FilePlan& file = one.file(0);
  CHECK(file.first_global == 0);
  CHECK(file.catalogue_global == many.writers());
  CHECK(one.globals() == many.writers() + 1);
}

TEST_CASE("one file: files that are added later come behind all its tasks",
          "[core][container][onefile]") {
  ContainerPlan one = in_one_file(plan_of({{4, 4, kChunk, 0}, {1, 1, kChunk, 4}}), 4096).value();
  REQUIRE(one.add({3, 1, kChunk, 5}));
  CHECK(one.files() == 2);
  CHECK(one.file(1).first_writer == 5);
  CHECK(one.file(1).first_global == 6);
  CHECK(one.rank_of_writer(7) == 7);
  // And into one again.
  const ContainerPlan again = in_one_file(one, 4096).value();
  CHECK(again.file(0).writers == 8);
  CHECK(again.file(0).catalogue_global == 8);
}

TEST_CASE("one file: a plan has no writers without a file", "[core][container][onefile]") {
  for (const auto& groups : std::vector<std::vector<FileGroup>>{
           {{2, 0, kChunk, 0}},                     // in no file
           {{4, 2, kChunk, 0}, {1, 0, kChunk, 4}},  // in one of two: their numbers would not fit
           {{4, 1, kChunk, 0}, {1, 0, 2 * kChunk, 4}},  // of another size
       })
    CHECK_FALSE(ContainerPlan::of(groups, 4096));
}

TEST_CASE("one file: chunks that cannot lie in it are refused", "[core][container][onefile]") {
  const auto other = in_one_file(plan_of({{2, 2, kChunk, 0}, {2, 1, 2 * kChunk, 0}}), 4096);
  REQUIRE_FALSE(other);
  CHECK(other.error().code == Code::kUnsupported);
  CHECK(other.error().text.find("65536 and of 131072") != std::string::npos);
  // Of so many tasks, the root slots lie behind more than a chunk.
  const auto many = in_one_file(plan_of({{4000, 400, 16u << 10, 0}}), 4096);
  REQUIRE_FALSE(many);
  CHECK(many.error().code == Code::kUnsupported);
  CHECK(many.error().text.find("multiple of 131072") != std::string::npos);
  CHECK(in_one_file(plan_of({{4000, 400, 128u << 10, 0}}), 4096));
}

TEST_CASE("one file: used bytes by ascending address", "[core][container][onefile]") {
  const ContainerPlan many = plan_of({{3, 2, kChunk, 0}, {1, 1, kChunk, 3}});
  const ContainerPlan one = in_one_file(many, 4096).value();
  const std::vector<ChunkFill> fills = {{kChunk, 0, 100}, {96}, {}, {kChunk, 5}};
  StreamParts parts(many, one, fills);
  std::vector<StreamPart> all;
  while (const auto part = parts.next()) all.push_back(*part);
  const std::uint64_t at = one.file(0).data_start();
  const std::uint64_t block = 5 * kChunk;
  const std::uint64_t first = many.file(0).data_start();
  const std::uint64_t second = many.file(1).data_start();
  const std::uint64_t third = many.file(2).data_start();
  CHECK(all == std::vector<StreamPart>{{0, first, at, kChunk},
                                       {1, second, at + kChunk, 96},
                                       {2, third, at + 3 * kChunk, kChunk},
                                       {2, third + 2 * kChunk, at + block + 3 * kChunk, 5},
                                       {0, first + 4 * kChunk, at + 2 * block, 100}});
  CHECK(catalogue_part(many, one, 1, kChunk + 7) ==
        StreamPart{0, first + 3 * kChunk, at + block + 4 * kChunk, 7});
  CHECK(catalogue_part(many, one, 2, kChunk + 7).bytes == 0);
}

}  // namespace
}  // namespace bento
