// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/sion/dump.hpp"
#include "core/sion/meta2.hpp"
#include "tests/support/matchers.hpp"

using namespace bento;
using namespace bento::test;

namespace {

constexpr std::uint64_t kHugeFile = 1ull << 62;

}  // namespace

TEST_CASE("meta2: what is encoded is decoded, in both byte orders", "[core][sion]") {
  Meta2 meta(std::vector<std::uint64_t>{1, 3, 0, 2});
  meta.set_size(0, 0, (1ull << 32) + 5);
  meta.set_size(1, 2, 1ull << 45);
  meta.set_size(3, 1, 7);
  const std::vector<std::uint64_t> chunks(4, 1ull << 45);
  for (const auto order : {std::endian::little, std::endian::big}) {
    auto bytes = encode_meta2(meta, order);
    CHECK(bytes.size() == 8 * 4 * (1 + 3));
    bytes.resize(bytes.size() + 100, std::byte{0xEE});
    const auto back = must(decode_meta2(bytes, {order, 4, 3, chunks}));
    CHECK(back == meta);
    CHECK(back.size(1, 2) == 1ull << 45);
    CHECK(back.size(0, 1) == 0);
    CHECK(back.stream_bytes(1) == 1ull << 45);
    CHECK(back.max_blocks() == 3);
  }
}

TEST_CASE("meta2: entries that a task does not use are ignored, whatever they are",
          "[core][sion]") {
  Meta2 meta(std::vector<std::uint64_t>{1, 2});
  meta.set_size(1, 1, 5);
  auto bytes = encode_meta2(meta, std::endian::little);
  std::fill_n(bytes.begin() + 8 * (2 * 2), 8,
              std::byte{0xFF});  // (task 0, block 1): -1, as the mapped writer does
  const std::vector<std::uint64_t> chunks{10, 10};
  CHECK(must(decode_meta2(bytes, {std::endian::little, 2, 2, chunks})) == meta);
}

TEST_CASE("meta2: what does not fit is refused", "[core][sion]") {
  Meta2 meta(std::vector<std::uint64_t>{2, 1});
  meta.set_size(0, 1, 10);
  const auto bytes = encode_meta2(meta, std::endian::little);
  const std::vector<std::uint64_t> chunks{10, 10};
  const auto decode = [&](std::span<const std::byte> from, std::uint64_t blocks) {
    return decode_meta2(from, {std::endian::little, 2, blocks, chunks});
  };
  require_ok(decode(bytes, 2));
  require_error(decode(bytes, 1), Code::kCorrupt, {"2 blocks of task 0", "maxchunks is 1"});
  require_error(decode(bytes, 3), Code::kCorrupt, {"need 64 bytes, 48 are left"});
  require_error(decode(bytes, 1ull << 62), Code::kCorrupt);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    require_error(decode(std::span(bytes).first(length), 2), Code::kCorrupt);
  const std::vector<std::uint64_t> small{9, 10};
  require_error(decode_meta2(bytes, {std::endian::little, 2, 2, small}), Code::kCorrupt,
                {"10 bytes in block 1 of task 0 at byte 32", "have 9"});
  auto negative = bytes;
  std::fill_n(negative.begin() + 16, 8, std::byte{0xFF});
  require_error(decode(negative, 2), Code::kCorrupt, {"-1 bytes in block 0 of task 0"});
  std::fill_n(negative.begin(), 8, std::byte{0xFF});
  require_error(decode(negative, 2), Code::kCorrupt, {"-1 blocks of task 0"});
}

TEST_CASE("meta2: sizes that add up to more than a file can have", "[core][sion]") {
  Meta2 meta(std::vector<std::uint64_t>{2});
  const std::vector<std::uint64_t> chunks{1ull << 62};
  meta.set_size(0, 0, 1ull << 62);
  meta.set_size(0, 1, 1ull << 62);
  require_error(
      decode_meta2(encode_meta2(meta, std::endian::little), {std::endian::little, 1, 2, chunks}),
      Code::kCorrupt, {"add up"});
}

TEST_CASE("meta2: a table larger than any sane one is refused before memory is asked for",
          "[core][sion]") {
  // A sparse file can claim anything: here 2^25 tasks with 2^20 blocks, of which only the counts
  // are looked at.
  class Sparse final : public File {
   public:
    Status read_at(std::uint64_t offset, std::span<std::byte> into) override {
      std::fill(into.begin(), into.end(), std::byte{0});
      if (offset == 0 && into.size() >= 3) into[2] = std::byte{0x10};  // count of task 0: 2^20
      largest = std::max(largest, into.size());
      return {};
    }
    Result<std::size_t> read_some(std::uint64_t, std::span<std::byte> into) override {
      return into.size();
    }
    Status write_at(std::uint64_t, std::span<const std::byte>) override { return {}; }
    Result<std::uint64_t> size() override { return kHugeFile; }
    Status truncate(std::uint64_t) override { return {}; }
    Status sync() override { return {}; }
    Status close() override { return {}; }
    [[nodiscard]] const std::string& path() const override { return path_; }
    std::size_t largest = 0;

   private:
    std::string path_ = "sparse";
  };
  Sparse file;
  constexpr std::uint64_t kTasks = 1u << 16;
  const std::vector<std::uint64_t> chunks(kTasks, 0);
  require_error(read_meta2(file, 0, {std::endian::little, kTasks, 1u << 20, chunks}),
                Code::kCorrupt, {"65536 tasks with 1048576 blocks"});
  CHECK(file.largest == 8 * kTasks);
  // A large M alone costs nothing: rows beyond the largest count are not read.
  file.largest = 0;
  require_ok(read_meta2(file, 16, {std::endian::little, kTasks, 1u << 30, chunks}));
  CHECK(file.largest == 8 * kTasks);
}

TEST_CASE("meta2: its dump lists blocks", "[core][sion]") {
  Meta2 meta(std::vector<std::uint64_t>{1, 40});
  meta.set_size(1, 0, 9);
  CHECK(dump(meta).find("task 1: 40 blocks, 9 bytes: 9 0") != std::string::npos);
}
