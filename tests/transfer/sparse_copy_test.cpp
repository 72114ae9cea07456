// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/sparse_copy.hpp"

#include <fcntl.h>

#include <fstream>
#include <limits>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/matchers.hpp"
#include "tests/support/scratch.hpp"
#include "tests/transfer/counting_gate.hpp"
#include "transfer/descriptor.hpp"

using namespace bento;
using namespace bento::test;
using namespace bento::transfer;

namespace {

constexpr std::uint64_t kBurst = 25'000;

constexpr std::uint64_t kSize = 200'000;

/// Two files, and parts of them in one of kSize bytes.
class Parts {
 public:
  Parts() {
    for (std::size_t file = 0; file < names_.size(); ++file) {
      std::string bytes(90'000, '\0');
      for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<char>(1 + file + i % 101);
      std::ofstream(names_[file], std::ios::binary) << bytes;
      sources_.push_back(must(open_at(AT_FDCWD, names_[file], O_RDONLY, 0, names_[file])));
      for (const CopiedPart& part : all_)
        if (part.source == static_cast<int>(file))
          wanted.replace(part.to, part.bytes, bytes, part.from, part.bytes);
    }
    target = must(open_at(AT_FDCWD, path, O_RDWR | O_CREAT, 0600, path));
  }

  /// True: all of it; the bytes that were durable.
  std::pair<bool, std::uint64_t> copy(Gate& gate) {
    const auto next = [this, at = std::size_t{0}]() mutable -> std::optional<CopiedPart> {
      if (at == all_.size()) return std::nullopt;
      CopiedPart part = all_[at++];
      part.name = &names_[static_cast<std::size_t>(part.source)];
      part.source = sources_[static_cast<std::size_t>(part.source)].get();
      return part;
    };
    SparseCopy copy(next, 85'000, target.get(), path, kSize);
    REQUIRE(must(copy.resume(std::numeric_limits<std::uint64_t>::max(), gate)));
    std::uint64_t durable = 0;
    const bool whole = must(copy.copy(gate, [&](std::uint64_t bytes) {
      durable = bytes;
      return Result<bool>(true);
    }));
    return {whole, durable};
  }

  const Scratch scratch;
  std::string path = scratch / "target";
  Descriptor target;
  std::string wanted = std::string(kSize, '\0');

 private:
  std::vector<std::string> names_ = {scratch / "one", scratch / "two"};
  std::vector<Descriptor> sources_;
  std::vector<CopiedPart> all_ = {{0, nullptr, 5'000, 1'000, 30'000},
                                  {1, nullptr, 0, 40'000, 0},
                                  {1, nullptr, 100, 50'000, 40'000},
                                  {0, nullptr, 70'000, 150'000, 15'000}};
};

}  // namespace

TEST_CASE("sparse copy: parts of several files come to their places", "[transfer]") {
  Parts parts;
  CountingGate gate(kBurst);
  CHECK(parts.copy(gate) == std::pair<bool, std::uint64_t>(true, 85'000));
  CHECK(gate.bytes == 85'000);
  CHECK(content(parts.path) == parts.wanted);
  // All is there: nothing is copied again.
  CountingGate again(kBurst);
  CHECK(parts.copy(again) == std::pair<bool, std::uint64_t>(true, 85'000));
  CHECK(again.bytes == 0);
}

TEST_CASE("sparse copy: parts go on where they ended, or at what differs", "[transfer]") {
  Parts parts;
  CountingGate stops(kBurst, 42'000);
  const auto [whole, durable] = parts.copy(stops);
  CHECK_FALSE(whole);
  CHECK(durable == stops.bytes);
  CountingGate rest(kBurst);
  CHECK(parts.copy(rest).first);
  CHECK(rest.bytes == 85'000 - stops.bytes);
  CHECK(content(parts.path) == parts.wanted);

  // What lies between the parts is somebody else's; what differs in one is copied on from there.
  const std::byte other{7};
  REQUIRE(write_whole(parts.target.get(), 500, {&other, 1}, parts.path));
  REQUIRE(write_whole(parts.target.get(), 60'000, {&other, 1}, parts.path));
  REQUIRE(write_whole(parts.target.get(), 120'000, {&other, 1}, parts.path));
  CountingGate more(kBurst);
  CHECK(parts.copy(more).first);
  CHECK(more.bytes == 30'000 + 15'000);
  parts.wanted[500] = 7;  // behind the difference everything was cut off
  CHECK(content(parts.path) == parts.wanted);
}
