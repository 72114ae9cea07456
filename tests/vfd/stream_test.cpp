// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/joined/joined_stream.hpp"

#include <algorithm>
#include <fstream>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/scratch.hpp"

namespace bento {
namespace {

constexpr std::uint64_t kChunk = 32768;

JoinRequest request_in(const std::string& folder) {
  JoinRequest request;
  request.container = folder + "/box.bento";
  request.file = folder + "/a.h5";
  request.size = 2;
  request.chunk = kChunk;
  request.job = "test";
  return request;
}

std::shared_ptr<JoinedStream> opened(const JoinRequest& request, JoinAccess access) {
  auto stream = join(request, access);
  REQUIRE(stream);
  return *stream;
}

bool is_zero(JoinedStream& stream, std::uint64_t begin, std::uint64_t end) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(end - begin), std::byte{1});
  REQUIRE(stream.read(begin, bytes));
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

TEST_CASE("stream: what was never written reads as zeros, whatever lay there", "[vfd]") {
  const test::Scratch scratch;
  const JoinRequest request = request_in(scratch.path());
  const std::vector<std::byte> data(10000, std::byte{0x5A});
  {
    const auto stream = opened(request, JoinAccess::kTruncate);
    REQUIRE(stream->write(0, data));
    REQUIRE(stream->close());
  }
  {
    // As a program without the driver, that appends to what it takes for the file.
    std::ofstream file(request.container, std::ios::binary | std::ios::app);
    file << std::string(20 * kChunk, '\xEE');
  }
  const auto stream = opened(request, JoinAccess::kWrite);
  REQUIRE(stream->write(5 * kChunk + 100, data));
  CHECK(is_zero(*stream, data.size(), 5 * kChunk + 100));
  CHECK(stream->size() == 5 * kChunk + 100 + data.size());

  // Cut off and grown again: by a size, and by a write behind a gap.
  REQUIRE(stream->set_size(5000));
  REQUIRE(stream->set_size(4 * kChunk));
  CHECK(is_zero(*stream, 5000, 4 * kChunk));
  REQUIRE(stream->set_size(100));
  REQUIRE(stream->write(6 * kChunk, data));
  CHECK(is_zero(*stream, 100, 6 * kChunk));
  REQUIRE(stream->close());
}

// Of 201 tasks with 22 blocks META2 is larger than a chunk, and lies where block 22 comes to be.
TEST_CASE("stream: where META2 was, zeros are read", "[vfd]") {
  const test::Scratch scratch;
  JoinRequest request = request_in(scratch.path());
  request.size = 200;
  const std::vector<std::byte> data(22 * kChunk, std::byte{0x5A});
  {
    const auto stream = opened(request, JoinAccess::kTruncate);
    REQUIRE(stream->write(0, data));
    REQUIRE(stream->close());
  }
  const auto stream = opened(request, JoinAccess::kWrite);
  REQUIRE(stream->write(24 * kChunk, std::span(data).first(100)));
  CHECK(is_zero(*stream, 22 * kChunk, 24 * kChunk));
  REQUIRE(stream->close());
}

TEST_CASE("stream: a new creation keeps nothing of the old one", "[vfd]") {
  const test::Scratch scratch;
  const JoinRequest request = request_in(scratch.path());
  const std::vector<std::byte> data(3 * kChunk, std::byte{0x5A});
  for (const std::uint64_t at : {std::uint64_t{0}, 2 * kChunk}) {
    const auto stream = opened(request, JoinAccess::kTruncate);
    CHECK(stream->size() == 0);
    REQUIRE(stream->write(at, data));
    CHECK(is_zero(*stream, 0, at));
    REQUIRE(stream->close());
  }
  const auto stream = opened(request, JoinAccess::kRead);
  CHECK(stream->size() == 5 * kChunk);
  CHECK_FALSE(stream->write(0, data).has_value());
  REQUIRE(stream->close());
}

TEST_CASE("stream: beyond what a physical file may hold is EFBIG, and names chunk=", "[vfd]") {
  const test::Scratch scratch;
  const auto stream = opened(request_in(scratch.path()), JoinAccess::kTruncate);
  const std::vector<std::byte> data(10, std::byte{1});
  const Status refused = stream->write(kMaxLogicalBytes, data);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().os_errno == EFBIG);
  CHECK(refused.error().text.find("chunk=") != std::string::npos);
  CHECK_FALSE(stream->set_size(~std::uint64_t{0} - 5).has_value());
  CHECK(stream->size() == 0);
  REQUIRE(stream->write(0, data));
  REQUIRE(stream->close());
}

}  // namespace
}  // namespace bento
