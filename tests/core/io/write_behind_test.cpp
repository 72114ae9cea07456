// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/write_behind.hpp"

#include <atomic>
#include <future>
#include <new>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/matchers.hpp"

using namespace bento;
using namespace bento::test;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::vector<std::byte> filled(std::size_t bytes, int value) {
  return {bytes, std::byte(value)};
}

}  // namespace

TEST_CASE("write behind: parts are written whole, in the order given", "[core][io]") {
  std::vector<std::byte> file;
  std::uint64_t end = 0;
  std::uint64_t counted = 0;
  WriteBehind writer([&](const WriteBehind::Part& part) -> Status {
    CHECK(part.end >= end);
    end = part.end;
    counted += part.counted;
    if (file.size() < part.end) file.resize(part.end);
    std::ranges::copy(part.bytes, file.begin() + static_cast<std::ptrdiff_t>(part.address));
    return {};
  });
  std::vector<std::byte> wanted;
  for (int index = 0; index < 2'000; ++index) {
    const std::size_t bytes = static_cast<std::size_t>(index) % 7 * 1'000;
    auto part = writer.buffer(bytes);
    REQUIRE(part.size() == bytes);
    std::ranges::fill(part, std::byte(index));
    wanted.insert(wanted.end(), bytes, std::byte(index));
    require_ok(writer.give({wanted.size() - bytes, std::move(part), wanted.size(), bytes}));
  }
  require_ok(writer.finish());
  CHECK(file == wanted);
  CHECK(end == wanted.size());
  CHECK(counted == wanted.size());
}

TEST_CASE("write behind: what waits is bounded, and one large part passes", "[core][io]") {
  std::promise<void> go_on;
  std::atomic<std::size_t> given = 0;
  std::size_t written = 0;
  std::size_t most = 0;
  WriteBehind writer([&, wait = go_on.get_future().share()](const WriteBehind::Part& part) {
    wait.wait();
    // The part that give() is busy with may be counted, too.
    most = std::max(most, given - written - part.bytes.size());
    written += part.bytes.size();
    return Status{};
  });
  const auto give = [&](std::size_t bytes) {
    given += bytes;
    require_ok(writer.give({0, filled(bytes, 1), 0, 0}));
  };
  for (int index = 0; index < 4; ++index) give(kMiB);  // no writer has begun to end
  auto more = std::async(std::launch::async, [&] {
    for (int index = 0; index < 20; ++index) give(kMiB);
    give(10 * kMiB);
  });
  CHECK(more.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout);
  go_on.set_value();
  more.get();
  require_ok(writer.finish());
  CHECK(written == 34 * kMiB);
  CHECK(most <= 14 * kMiB);  // 4 MiB that wait, and the large part
}

TEST_CASE("write behind: after a failure nothing is written", "[core][io]") {
  std::atomic<int> calls = 0;
  const auto writing = [&](const WriteBehind::Part& part) -> Status {
    ++calls;
    if (part.address == 2) return fail(Code::kNoSpace, "the disk is full");
    if (part.address == 9) throw std::bad_alloc();
    return {};
  };
  {
    WriteBehind writer(writing);
    Status given;
    for (std::uint64_t address = 0; given && address < 100'000; ++address)
      given = writer.give({address, {}, 0, 0});
    require_error(given, Code::kNoSpace, {"the disk is full"});
    require_error(writer.finish(), Code::kNoSpace, {"the disk is full"});
  }
  CHECK(calls == 3);
  WriteBehind writer(writing);
  require_ok(writer.give({9, {}, 0, 0}));
  require_error(writer.finish(), Code::kInternal, {"out of memory"});
}

TEST_CASE("write behind: whoever gives up ends with it", "[core][io]") {
  std::atomic<bool> gone = false;
  std::atomic<int> late = 0;
  {
    WriteBehind writer([&](const WriteBehind::Part&) {
      if (gone) ++late;
      return Status{};
    });
    for (int index = 0; index < 100; ++index) require_ok(writer.give({0, filled(100, 1), 0, 0}));
  }
  gone = true;
  CHECK(late == 0);
}
