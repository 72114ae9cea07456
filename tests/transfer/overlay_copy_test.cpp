// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/overlay_copy.hpp"

#include <fcntl.h>

#include <fstream>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/matchers.hpp"
#include "tests/support/scratch.hpp"
#include "tests/transfer/counting_gate.hpp"
#include "transfer/descriptor.hpp"

using namespace bento;
using namespace bento::test;
using namespace bento::transfer;

namespace {

constexpr std::uint64_t kBurst = 40'000;

void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

Result<bool> lay_over(const std::string& source, const std::string& target, std::uint64_t from,
                      Gate& gate) {
  const Descriptor in = must(open_at(AT_FDCWD, source, O_RDONLY, 0, source));
  const Descriptor out = must(open_at(AT_FDCWD, target, O_RDWR | O_CREAT, 0600, target));
  return overlay_copy({in.get(), source}, {out.get(), target}, content(source).size(), from, gate,
                      [](std::uint64_t) { return Result<bool>(true); });
}

/// Blocks that belong to one of two nodes, by turns; zeros elsewhere.
std::string blocks_of(int node, std::size_t blocks) {
  std::string all(blocks * kOverlayBlock + 100, '\0');
  for (std::size_t block = 0; block <= blocks; ++block)
    if (block % 3 == static_cast<std::size_t>(node))
      for (std::size_t i = block * kOverlayBlock;
           i < std::min(all.size(), (block + 1) * kOverlayBlock); i += 7)
        all[i] = static_cast<char>('a' + node);
  return all;
}

}  // namespace

TEST_CASE("overlay copy: what two nodes have comes together in any order", "[transfer]") {
  const Scratch scratch;
  put(scratch / "one", blocks_of(0, 40));
  put(scratch / "two", blocks_of(1, 43));
  std::string both = blocks_of(1, 43);
  const std::string first = blocks_of(0, 40);
  for (std::size_t i = 0; i < first.size(); ++i)
    if (first[i] != 0) both[i] = first[i];
  CountingGate gate(kBurst);
  CHECK(must(lay_over(scratch / "one", scratch / "1", 0, gate)));
  CHECK(must(lay_over(scratch / "two", scratch / "1", 0, gate)));
  CHECK(must(lay_over(scratch / "two", scratch / "2", 0, gate)));
  CHECK(must(lay_over(scratch / "one", scratch / "2", 0, gate)));
  both.resize(content(scratch / "1").size());  // the zeros at the end are not written
  CHECK(content(scratch / "1") == both);
  CHECK(content(scratch / "2") == both);
  CHECK(gate.bytes < 2 * (41 + 44) / 3 * kOverlayBlock + 4 * kOverlayBlock);
}

TEST_CASE("overlay copy: takes up again where it ended, and mends what differs", "[transfer]") {
  const Scratch scratch;
  const std::string bytes = blocks_of(0, 60);
  put(scratch / "source", bytes);
  CountingGate stops(kBurst, 50'000);
  CHECK_FALSE(must(lay_over(scratch / "source", scratch / "target", 0, stops)));
  std::string half = content(scratch / "target");
  REQUIRE(half.size() > 40'000);
  half[7 * 5] = 'x';
  put(scratch / "target", half);
  CountingGate rest(kBurst);
  CHECK(must(lay_over(scratch / "source", scratch / "target", half.size(), rest)));
  std::string expected = bytes;
  expected.resize(content(scratch / "target").size());
  CHECK(content(scratch / "target") == expected);
  // One block again, and what was missing.
  CHECK(stops.bytes + rest.bytes <= (60 / 3 + 3) * kOverlayBlock);
}
