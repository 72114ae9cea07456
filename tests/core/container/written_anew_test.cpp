// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A large box that is written again before a commit takes the place of the first one.
#include <algorithm>

#include <catch2/catch_test_macros.hpp>

#include "core/base/verified_reads.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/support/fault_file.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"

namespace bento {
namespace {

using namespace test;

constexpr std::uint64_t kRowBytes = 1024;

ContainerOptions options_for(const FileOpener& opener) {
  ContainerOptions options = small_options(opener);
  options.chunk_bytes = 16u << 20;
  options.verify = Verification::kAll;
  return options;
}

Box rows(std::uint64_t first, std::uint64_t count) {
  return {Dims{first, 0}, Dims{count, kRowBytes / 8}};
}

struct Written {
  std::unique_ptr<Container> container;
  DatasetNumber dataset = 0;
};
Written create(const FileOpener& opener) {
  auto made = Container::create("box", false, options_for(opener), make_self_communicator());
  REQUIRE(made);
  const DatasetNumber dataset = (*made)->declare({}, 8, 2, 0);
  (*made)->declared(8u << 20);
  return {std::move(*made), dataset};
}

Status write(const Written& to, const Box& box, std::uint64_t step) {
  return to.container->write(to.dataset, box, 8, bytes_of(band_values(box, step)));
}

Result<std::vector<std::uint64_t>> read(Container& container, DatasetNumber dataset,
                                        const Box& box) {
  std::vector<std::uint64_t> values(box.elements());
  BENTO_ASSIGN(const RecordLookup lookup, container.find(dataset, box));
  for (const auto& piece : lookup.pieces)
    BENTO_TRY(container.read(lookup.records[piece.record], piece.part, 8, box,
                             reinterpret_cast<std::byte*>(values.data())));
  return values;
}

std::vector<std::uint64_t> must_read(const Written& from, const Box& box) {
  auto values = read(*from.container, from.dataset, box);
  if (!values) FAIL(values.error().text);
  return std::move(*values);
}

std::vector<Location> places(const Written& from, const Box& box) {
  const auto lookup = from.container->find(from.dataset, box);
  REQUIRE(lookup);
  std::vector<Location> all;
  for (const auto& record : lookup->records) all.push_back(record.where);
  return all;
}

void check_closed(const MemoryFileSystem& disk, DatasetNumber dataset, const Box& box,
                  const std::vector<std::uint64_t>& wanted) {
  auto container =
      Container::open("box", false, options_for(disk.opener()), make_self_communicator());
  REQUIRE(container);
  const auto values = read(**container, dataset, box);
  if (!values) FAIL(values.error().text);
  CHECK(*values == wanted);
}

/// Gives what it is made of in pieces, and fails before one of them.
class Failing final : public ByteSource {
 public:
  Failing(std::span<const std::byte> bytes, std::uint64_t fails_at)
      : bytes_(bytes), left_(fails_at) {}

 private:
  Result<std::span<const std::byte>> next(std::uint64_t most) override {
    if (left_ == 0) return fail(Code::kInvalidArgument, "no more");
    const auto piece =
        bytes_.first(static_cast<std::size_t>(std::min({most, left_, std::uint64_t{70000}})));
    bytes_ = bytes_.subspan(piece.size());
    left_ -= piece.size();
    return piece;
  }

  std::span<const std::byte> bytes_;
  std::uint64_t left_;
};

/// What a box holds, read piece by piece while it is written; every second value is changed.
class Changing final : public ByteSource {
 public:
  Changing(const Written& of, const Box& box, std::uint64_t rows_each)
      : of_(of), left_(box), rows_(rows_each) {}

 private:
  Result<std::span<const std::byte>> next(std::uint64_t most) override {
    if (piece_.empty()) {
      Box part = left_;
      part.count[0] = std::min(rows_, left_.count[0]);
      left_.start[0] += part.count[0];
      left_.count[0] -= part.count[0];
      const VerifiedReads verified;
      BENTO_ASSIGN(values_, read(*of_.container, of_.dataset, part));
      for (std::size_t i = 0; i < values_.size(); i += 2) ++values_[i];
      piece_ = bytes_of(values_);
    }
    const auto taken =
        piece_.first(static_cast<std::size_t>(std::min<std::uint64_t>(most, piece_.size())));
    piece_ = piece_.subspan(taken.size());
    return taken;
  }

  const Written& of_;
  Box left_;
  std::uint64_t rows_;
  std::vector<std::uint64_t> values_;
  std::span<const std::byte> piece_;
};

}  // namespace

TEST_CASE("written anew: in the same place until a commit", "[core][container]") {
  for (const std::uint64_t count : {100u, 900u, 3000u}) {
    INFO(count << " rows");
    const MemoryFileSystem disk;
    auto to = create(disk.opener());
    const Box box = rows(0, count);
    require_ok(write(to, box, 1));
    const auto first = places(to, box);
    // Something may be kept of it, and read ahead.
    for (std::uint64_t row = 0; row < 50; ++row)
      CHECK(must_read(to, rows(row, 1)) == band_values(rows(row, 1), 1));
    require_ok(write(to, box, 2));
    CHECK(places(to, box) == first);
    CHECK(must_read(to, box) == band_values(box, 2));
    // Another box over it, and the first one again.
    require_ok(write(to, rows(10, 80), 3));
    require_ok(write(to, box, 4));
    CHECK(places(to, box) == first);
    CHECK(must_read(to, box) == band_values(box, 4));
    require_ok(to.container->commit());
    require_ok(write(to, box, 5));
    CHECK(places(to, box) != first);
    CHECK(must_read(to, box) == band_values(box, 5));
    require_ok(to.container->close());
    check_closed(disk, to.dataset, box, band_values(box, 5));
  }
}

TEST_CASE("written anew: what fails half-way leaves both, with a hash that is right",
          "[core][container]") {
  for (const std::uint64_t count : {100u, 900u, 3000u}) {
    for (const std::uint64_t part : {0u, 1u, 2u}) {
      INFO(count << " rows, part " << part);
      const MemoryFileSystem disk;
      auto to = create(disk.opener());
      const Box box = rows(0, count);
      require_ok(write(to, box, 1));
      const auto values = band_values(box, 2);
      Failing source(bytes_of(values), part * count / 3 * kRowBytes);
      const auto failed = to.container->write(to.dataset, box, 8, source, nullptr);
      REQUIRE_FALSE(failed);
      CHECK(failed.error().text.find("no more") != std::string::npos);
      const auto found = must_read(to, box);
      const auto old = band_values(box, 1);
      std::size_t changed = 0;
      while (changed < found.size() && found[changed] == values[changed]) ++changed;
      CHECK(changed * 8 <= part * count / 3 * kRowBytes);
      CHECK(std::equal(found.begin() + static_cast<std::ptrdiff_t>(changed), found.end(),
                       old.begin() + static_cast<std::ptrdiff_t>(changed)));
      require_ok(to.container->close());
      check_closed(disk, to.dataset, box, found);
    }
  }
}

TEST_CASE("written anew: a write that fails half-way brings nothing older back",
          "[core][container]") {
  for (const std::uint64_t count : {100u, 900u, 3000u}) {
    INFO(count << " rows");
    const MemoryFileSystem disk;
    auto to = create(disk.opener());
    const Box box = rows(0, count);
    const Box behind = rows(count - 10, 10);
    require_ok(write(to, box, 1));
    require_ok(write(to, behind, 2));
    const auto values = band_values(box, 3);
    Failing source(bytes_of(values), count / 2 * kRowBytes);
    REQUIRE_FALSE(to.container->write(to.dataset, box, 8, source, nullptr));
    CHECK(must_read(to, behind) == band_values(behind, 2));
    require_ok(to.container->close());
    check_closed(disk, to.dataset, behind, band_values(behind, 2));
  }
}

TEST_CASE("written anew: from what is there, piece by piece", "[core][container]") {
  for (const std::uint64_t count : {100u, 900u, 3000u}) {
    for (const std::uint64_t each : {7u, 256u, 5000u}) {
      INFO(count << " rows, " << each << " at a time");
      const MemoryFileSystem disk;
      auto to = create(disk.opener());
      const Box box = rows(0, count);
      require_ok(write(to, box, 1));
      require_ok(write(to, rows(20, count - 30), 2));
      auto wanted = must_read(to, box);
      const auto first = places(to, box);
      for (int times = 0; times < 2; ++times) {
        Changing source(to, box, each);
        require_ok(to.container->write(to.dataset, box, 8, source, nullptr));
        for (std::size_t i = 0; i < wanted.size(); i += 2) ++wanted[i];
        CHECK(must_read(to, box) == wanted);
      }
      CHECK(places(to, box).size() == 1);
      require_ok(to.container->close());
      check_closed(disk, to.dataset, box, wanted);
    }
  }
}

TEST_CASE("written anew: a disk that fails keeps the last commit", "[core][container]") {
  for (std::uint64_t nth = 1; nth < 12; ++nth) {
    INFO("write " << nth);
    const MemoryFileSystem disk;
    const FaultFileSystem faults(disk.opener());
    auto to = create(faults.opener());
    const Box box = rows(0, 900);
    require_ok(write(to, box, 1));
    require_ok(to.container->commit());
    require_ok(write(to, box, 2));
    faults.add({.on = FaultOn::kWrite, .nth = nth, .torn_at = 1000});
    const Status failed = write(to, box, 3);
    faults.clear_rules();
    if (failed) CHECK(must_read(to, box) == band_values(box, 3));
    const Status closed = to.container->close();
    CHECK(closed.has_value() == failed.has_value());
    check_closed(disk, to.dataset, box, band_values(box, failed ? 3 : 1));
  }
}

}  // namespace bento
