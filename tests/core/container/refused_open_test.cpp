// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// An open for writing that is refused leaves the file as it is.
#include <catch2/catch_test_macros.hpp>

#include "core/container/container.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"

using namespace bento;
using namespace bento::test;

TEST_CASE("container: a refused open for writing touches nothing", "[core][container]") {
  const MemoryFileSystem disk;
  ContainerOptions options;
  // So many blocks that META2 fits no chunk and lies behind all of them, where writers go on.
  options.chunk_bytes = 16u << 10;
  options.opener = disk.opener();
  {
    auto made = must(Container::create("box", false, options, make_self_communicator()));
    const std::vector<std::uint64_t> values(3u << 20, 7);
    const auto number = made->declare({}, 8, 1, 0);
    made->declared(values.size() * 8);
    made->skeleton().write(0, std::vector<std::byte>(100));
    require_ok(made->write(number, Box{Dims{0}, Dims{values.size()}}, 8,
                           std::as_bytes(std::span(values))));
    require_ok(made->close());
  }
  const std::vector<std::byte> before = disk.content("box");
  options.step = AbsoluteStep(1);
  require_error(Container::open("box", true, options, make_self_communicator()),
                Code::kInvalidArgument, {"step="});
  CHECK(disk.content("box") == before);
}
