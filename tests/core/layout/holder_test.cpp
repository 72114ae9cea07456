// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/layout/holder.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "core/container/container.hpp"
#include "tests/support/scratch.hpp"

namespace bento {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("holder: a second writer learns who has the file", "[core][container]") {
  const test::Scratch scratch;
  const std::string path = scratch / "box";
  const auto open = [&] { return Container::open(path, true, {}, make_self_communicator()); };
  {
    auto first = Container::create(path, false, {}, make_self_communicator());
    REQUIRE(first);
    REQUIRE((*first)->commit());
    // flock belongs to the open file, so another open of the same process is a stranger too.
    const auto second = open();
    REQUIRE_FALSE(second);
    CHECK(second.error().code == Code::kBusy);
    CHECK_THAT(second.error().text,
               ContainsSubstring(fmt::format("process {} on host ", ::getpid())));
    const auto again = Container::create(path, false, {}, make_self_communicator());
    REQUIRE_FALSE(again);
    CHECK_THAT(again.error().text,
               ContainsSubstring(fmt::format("process {} on host ", ::getpid())));
    REQUIRE((*first)->close());
  }
  auto file = open_posix_file(path, OpenMode::kRead);
  REQUIRE(file);
  CHECK(read_holder_note(**file).empty());
  auto later = open();
  REQUIRE(later);
  CHECK_THAT(read_holder_note(**file), ContainsSubstring("since 20"));
  (*later)->abandon();
  CHECK_FALSE(read_holder_note(**file).empty());  // not closed: its streams are marked again
}

TEST_CASE("holder: a note of anybody's making is shown as plain text", "[core][container]") {
  const test::Scratch scratch;
  const std::string path = scratch / "box";
  {
    auto container = Container::create(path, false, {}, make_self_communicator());
    REQUIRE(container);
    REQUIRE((*container)->close());
  }
  auto file = open_posix_file(path, OpenMode::kReadWrite);
  REQUIRE(file);
  std::string note = "BNTHOLD1\x1b[31mred";
  note.resize(256, 'x');
  REQUIRE((*file)->write_at(superblock_address(2) + 2048, std::as_bytes(std::span(note))));
  const std::string said = read_holder_note(**file);
  CHECK_THAT(said, ContainsSubstring("?[31mred"));
  CHECK(said.size() == 256 - 8);
}

}  // namespace
}  // namespace bento
