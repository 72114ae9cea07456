// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <catch2/catch_test_macros.hpp>

#include "core/container/container.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"

namespace bento {
namespace {

using namespace test;

constexpr std::uint64_t kStripe = 1u << 20;

Box elements(std::uint64_t start, std::uint64_t count) {
  Box box{Dims(1), Dims(1)};
  box.start[0] = start;
  box.count[0] = count;
  return box;
}

/// Where the record of these elements lies in its file.
std::uint64_t address_of(Container& container, const Box& box) {
  const auto found = must(container.find(0, box));
  REQUIRE(found.pieces.size() == 1);
  const Location where = found.records[0].where;
  const FilePlan& file = container.plan().file(container.plan().file_of(where.task));
  return file.address(container.plan().local_task(where.task), where.offset);
}

TEST_CASE("container: chunks and large records begin at stripes", "[core][container]") {
  const MemoryFileSystem disk;
  ContainerOptions options;
  options.opener = disk.opener();
  options.chunk_bytes = 16u << 20;
  options.striping.bytes = kStripe;
  options.stream.stripe_bytes = kStripe;
  auto container = must(Container::create("box", false, options, make_self_communicator()));
  container->declare({}, 8, 1, 0);
  const std::uint64_t large = kStripesPerRecord * kStripe / 8;
  container->declared(1u << 30);
  const std::vector<std::byte> data(static_cast<std::size_t>(large * 8));
  // One that is large, and one that four stripes would be too much for.
  require_ok(container->write(0, elements(0, large), 8, data));
  require_ok(container->write(0, elements(large, large / 8), 8, std::span(data).first(large)));
  require_ok(container->write(0, elements(2 * large, large), 8, data));
  require_ok(container->commit());
  CHECK(container->plan().file(0).data_start() % kStripe == 0);
  CHECK(container->plan().file(0).chunk_bytes % kStripe == 0);
  CHECK(address_of(*container, elements(0, large)) % kStripe == 0);
  CHECK(address_of(*container, elements(large, large / 8)) % kStripe != 0);
  CHECK(address_of(*container, elements(2 * large, large)) % kStripe == 0);
  require_ok(container->close());
}

}  // namespace
}  // namespace bento
