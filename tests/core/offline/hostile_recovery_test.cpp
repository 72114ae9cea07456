// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Recovery and looks at a whole container, of an index made to deceive: no more records are
// believed than the files have room for.
#include <catch2/catch_test_macros.hpp>

#include "core/offline/offline.hpp"
#include "core/offline/recover.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/core/container/forged_step.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/test_memory.hpp"

namespace bento {
namespace {

using namespace test;

/// More records than a file of some hundred KiB has room for.
constexpr unsigned kDoublings = 18;
constexpr std::uint64_t kMost = 256u << 20;

struct Hostile {
  MemoryFileSystem disk;
  ContainerOptions options = small_options(disk.opener());
  std::unique_ptr<File> file;
  std::vector<Record> records;

  Hostile() {
    options.keep = 0;
    const auto made = must(Container::create("box", true, options, make_self_communicator()));
    require_ok(write_step(*made, made->declare({}, 8, 2, 0), 1));
    require_ok(made->close(nullptr));
    file = must(disk.open("box", OpenMode::kReadWrite));
    records = seen_records(*file, 0);
    REQUIRE(records.size() == 1);
  }
  void add_forged() {
    add_step(*file,
             {.records = records, .forged = {step_test::many_of(records.front(), 8, kDoublings)}});
  }
};

TEST_CASE("hostile recovery: the helper makes steps that are right",
          "[core][container][recovery]") {
  Hostile box;
  for (int more = 0; more < 3; ++more) add_step(*box.file, {.records = box.records});
  const auto report = must(recover("box", box.options));
  CHECK(report.step == 4);
  CHECK(report.sound());
  const auto again = must(Container::open("box", false, box.options, make_self_communicator()));
  CHECK(must(read_all(*again, 0)) == whole_values(1));
}

TEST_CASE("hostile recovery: a run of very many records is not believed",
          "[core][container][recovery]") {
  Hostile box;
  box.add_forged();
  SECTION("in the newest step") {
    const MemoryWatch watch;
    require_error(OfflineContainer::open("box", box.disk.opener()), Code::kUnsupported,
                  {"records"});
    require_error(recover("box", box.options), Code::kUnsupported, {"records"});
    CHECK(watch.peak() < kMost);
  }
  SECTION("in an older step, of a dataset that the newest one has no more") {
    add_step(*box.file, {.deleted = {0}});
    require_ok(OfflineContainer::open("box", box.disk.opener()));
    const MemoryWatch watch;
    require_error(recover("box", box.options), Code::kUnsupported, {"records"});
    CHECK(watch.peak() < kMost);
  }
}

TEST_CASE("hostile recovery: a hidden step that has more records than it says is damage",
          "[core][container][recovery]") {
  // With gaps between them, so that they do not become one record: a run of many, which hides what
  // is older.
  constexpr std::uint64_t kMany = 32;
  constexpr std::uint64_t kEach = 100;
  MemoryFileSystem disk;
  ContainerOptions options = small_options(disk.opener());
  options.keep = 0;
  {
    const auto made = must(Container::create("box", true, options, make_self_communicator()));
    const auto dataset = made->declare({}, 8, 1, 0);
    made->skeleton().write(0, skeleton_bytes(1));
    const std::vector<std::uint64_t> values(kEach, 7);
    for (std::uint64_t i = kMany; i-- > 0;)
      require_ok(made->write(dataset, {Dims{2 * i * kEach}, Dims{kEach}}, 8, bytes_of(values)));
    require_ok(made->close(nullptr));
  }
  const auto file = must(disk.open("box", OpenMode::kReadWrite));
  const auto records = seen_records(*file, 0);
  REQUIRE(records.size() == kMany);
  const auto forged = step_test::many_of(records.front(), 8, 30);
  add_step(*file, {.records = {records.front()}, .forged = {forged}, .said = 1});
  add_step(*file, {.records = records});
  require_error(OfflineContainer::open("box", disk.opener()), Code::kCorrupt, {"has more"});
}

}  // namespace
}  // namespace bento
