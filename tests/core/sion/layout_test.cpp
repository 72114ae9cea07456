// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/sion/dump.hpp"
#include "core/sion/layout.hpp"
#include "core/sion/mapping.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"

using namespace bento;
using namespace bento::test;

TEST_CASE("mapping: round trip and refusals", "[core][sion]") {
  const SionMapping mapping{{0, 0}, {2, 1}, {1, 0}, {2, 0}, {0, 1}, {2147483647, 2147483647}};
  for (const auto order : {std::endian::little, std::endian::big}) {
    auto bytes = must(encode_mapping(mapping, order));
    CHECK(bytes.size() == 4 + 8 * mapping.size());
    CHECK(must(decode_mapping(bytes, order)) == mapping);
    for (std::size_t length = 0; length < bytes.size(); ++length)
      require_error(decode_mapping(std::span(bytes).first(length), order), Code::kCorrupt);
    const MemoryFileSystem memory;
    std::vector<std::byte> behind(3);
    behind.insert(behind.end(), bytes.begin(), bytes.end());
    memory.put("m", behind);
    auto file = must(memory.open("m", OpenMode::kRead));
    CHECK(must(read_mapping(*file, 3, order)) == mapping);
    require_error(read_mapping(*file, 1 << 20, order), Code::kCorrupt);
  }
  CHECK(must(encode_mapping({}, std::endian::little)) == std::vector<std::byte>(4));
  require_error(encode_mapping({{1u << 31, 0}}, std::endian::little), Code::kInvalidArgument);
  auto negative = must(encode_mapping({{0, 0}}, std::endian::little));
  negative[11] = std::byte{0x80};
  require_error(decode_mapping(negative, std::endian::little), Code::kCorrupt,
                {"task -2147483648 in entry 0"});
  negative[3] = std::byte{0xFF};
  require_error(decode_mapping(negative, std::endian::little), Code::kCorrupt, {"entries"});
}

TEST_CASE("mapping: every task of every file exactly once", "[core][sion]") {
  const std::vector<std::uint64_t> tasks{2, 1};
  require_ok(check_mapping({{1, 0}, {0, 1}, {0, 0}}, tasks));
  require_error(check_mapping({{1, 0}, {0, 1}}, tasks), Code::kCorrupt, {"2 entries for 3 tasks"});
  require_error(check_mapping({{1, 0}, {0, 1}, {0, 1}}, tasks), Code::kCorrupt, {"a second time"});
  require_error(check_mapping({{1, 0}, {0, 1}, {2, 0}}, tasks), Code::kCorrupt, {"does not exist"});
  require_error(check_mapping({{1, 0}, {0, 1}, {1, 1}}, tasks), Code::kCorrupt, {"has fewer"});
}

TEST_CASE("layout: addresses, also far above 4 GiB", "[core][sion]") {
  const std::vector<std::uint64_t> chunks{1ull << 40, 0, 100, 1ull << 33};
  const auto layout = must(SionLayout::make(1u << 24, chunks));
  const std::uint64_t start = 1u << 24;
  CHECK(layout.data_start() == start);
  CHECK(layout.block_bytes() == (1ull << 40) + 100 + (1ull << 33));
  CHECK(must(layout.chunk_address(0, 0)) == start);
  CHECK(must(layout.chunk_address(1, 0)) == must(layout.chunk_address(2, 0)));
  CHECK(must(layout.chunk_address(3, 5)) == start + (1ull << 40) + 100 + 5 * layout.block_bytes());
  CHECK(must(layout.meta2_address(7)) == start + 7 * layout.block_bytes());
  CHECK(layout.chunk_bytes(2) == 100);
  require_error(layout.chunk_address(4, 0), Code::kInvalidArgument);
  require_error(layout.chunk_address(0, 1ull << 23), Code::kCorrupt);
  require_error(layout.chunk_address(0, 1ull << 40), Code::kCorrupt);
  require_error(layout.meta2_address(~0ull), Code::kCorrupt);
}

TEST_CASE("layout: start of data for many tasks and any block", "[core][sion]") {
  CHECK(must(sion_data_start(0, 1)) == 1088);
  CHECK(must(sion_data_start(5, 512)) == 1536);
  CHECK(must(sion_data_start(26, 1504)) == 1504);
  CHECK(must(sion_data_start(1u << 24, 4096)) == (1ull << 28) + 4096);
  CHECK(must(sion_data_start(1, 2147483647)) == 2147483647);
  require_error(sion_data_start(1, 0), Code::kCorrupt, {"fsblksize 0"});
  require_error(sion_data_start(1ull << 60, 1), Code::kCorrupt);
  require_error(sion_meta2_bytes(1ull << 32, 1ull << 32), Code::kCorrupt);
}

TEST_CASE("layout: names and distribution of physical files", "[core][sion]") {
  CHECK(sion_file_name("x.sion", 0) == "x.sion");
  CHECK(sion_file_name("x.sion", 1) == "x.sion.000001");
  CHECK(sion_file_name("x.sion", 1234567) == "x.sion.1234567");
  const auto files = [](std::uint32_t tasks, std::uint32_t count) {
    std::vector<std::uint32_t> result;
    for (std::uint32_t task = 0; task < tasks; ++task)
      result.push_back(sion_file_of_task(task, tasks, count));
    return result;
  };
  CHECK(files(7, 3) == std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2, 2});
  CHECK(files(3, 3) == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(files(5, 1) == std::vector<std::uint32_t>{0, 0, 0, 0, 0});
}

TEST_CASE("mapping and layout: their dumps", "[core][sion]") {
  CHECK(dump(SionMapping{{1, 2}}).find("global task 0: file 1, task 2") != std::string::npos);
  const std::vector<std::uint64_t> chunks{512, 1024};
  CHECK(dump(must(SionLayout::make(512, chunks))).find("task 1: at 2048, 1024 bytes") !=
        std::string::npos);
}
