// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/fault_file.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"

using namespace bento;
using namespace bento::test;

namespace {

std::vector<std::byte> bytes(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

struct Disk {
  explicit Disk(bool loses_names = false)
      : faults(memory.opener(),
               loses_names ? [memory = memory](const std::string& path) { memory.remove(path); }
                           : std::function<void(const std::string&)>{}) {}

  MemoryFileSystem memory;
  FaultFileSystem faults;

  std::unique_ptr<File> open(const std::string& path, OpenMode mode) const {
    return must(faults.opener()(path, mode));
  }
  [[nodiscard]] std::string content(const std::string& path) const {
    const auto raw = memory.content(path);
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }
};

}  // namespace

TEST_CASE("memory files: behave as files of the system do", "[core][io]") {
  const MemoryFileSystem memory;
  require_error(memory.open("a", OpenMode::kRead), Code::kNotFound);
  auto file = must(memory.open("a", OpenMode::kCreateExclusive));
  require_error(memory.open("a", OpenMode::kCreateExclusive), Code::kExists);
  require_ok(file->write_at(3, bytes("xyz")));
  auto other = must(memory.open("a", OpenMode::kRead));
  CHECK(must(other->size()) == 6);
  std::vector<std::byte> into(4);
  require_ok(other->read_at(2, into));
  CHECK(into == bytes(std::string_view("\0xyz", 4)));
  CHECK(must(other->read_some(5, into)) == 1);
  require_error(other->read_at(5, into), Code::kCorrupt, {"'a' ends at byte 6"});
  require_error(other->write_at(0, into), Code::kIo);
  require_error(other->truncate(0), Code::kIo);
  require_error(file->write_at(std::uint64_t{1} << 40, into), Code::kNoSpace);
  require_ok(file->truncate(1));
  CHECK(must(other->size()) == 1);
  auto again = must(memory.open("a", OpenMode::kCreate));
  CHECK(must(other->size()) == 0);
  CHECK(memory.names() == std::vector<std::string>{"a"});
}

TEST_CASE("fault files: without rules nothing changes, and calls are counted",
          "[core][io][fault]") {
  const Disk disk;
  auto file = disk.open("a", OpenMode::kCreate);
  require_ok(file->write_at(0, bytes("hello")));
  require_ok(file->write_at(5, bytes(" world")));
  require_ok(file->truncate(7));
  require_ok(file->sync());
  CHECK(disk.content("a") == "hello w");
  CHECK(disk.faults.counts().writes == 2);
  CHECK(disk.faults.counts().changes() == 4);
  require_ok(file->close());
}

TEST_CASE("fault files: the n-th write fails with the errno asked for", "[core][io][fault]") {
  const Disk disk;
  disk.faults.add({.on = FaultOn::kWrite, .nth = 2, .os_errno = ENOSPC});
  auto file = disk.open("a", OpenMode::kCreate);
  require_ok(file->write_at(0, bytes("one")));
  const Status failed = file->write_at(3, bytes("two"));
  require_error(failed, Code::kNoSpace, {"injected", "'a'"});
  CHECK(failed.error().os_errno == ENOSPC);
  require_ok(file->write_at(3, bytes("three")));
  CHECK(disk.content("a") == "onethree");
}

TEST_CASE("fault files: a full disk stays full", "[core][io][fault]") {
  const Disk disk;
  disk.faults.add({.on = FaultOn::kWrite, .nth = 2, .forever = true, .os_errno = ENOSPC});
  auto file = disk.open("a", OpenMode::kCreate);
  require_ok(file->write_at(0, bytes("1")));
  for (int i = 0; i < 3; ++i) require_error(file->write_at(1, bytes("2")), Code::kNoSpace);
  disk.faults.clear_rules();
  require_ok(file->write_at(1, bytes("2")));
}

TEST_CASE("fault files: rules for one file leave the others alone", "[core][io][fault]") {
  const Disk disk;
  disk.faults.add({.on = FaultOn::kSync, .path_contains = ".000001"});
  auto first = disk.open("x", OpenMode::kCreate);
  auto second = disk.open("x.000001", OpenMode::kCreate);
  require_ok(first->sync());
  require_error(second->sync(), Code::kIo, {"sync", "x.000001"});
}

TEST_CASE("fault files: opens, reads and closes fail, too", "[core][io][fault]") {
  const Disk disk;
  disk.memory.put("a", bytes("abc"));
  disk.faults.add({.on = FaultOn::kOpen, .os_errno = EACCES});
  require_error(disk.faults.opener()("a", OpenMode::kRead), Code::kPermission);
  auto file = disk.open("a", OpenMode::kRead);
  disk.faults.add({.on = FaultOn::kRead});
  std::vector<std::byte> into(3);
  require_error(file->read_at(0, into), Code::kIo);
  require_ok(file->read_at(0, into));
  disk.faults.add({.on = FaultOn::kClose});
  require_error(file->close(), Code::kIo);
}

TEST_CASE("fault files: a process that dies in a write does nothing more", "[core][io][fault]") {
  const Disk disk;
  auto file = disk.open("a", OpenMode::kCreate);
  auto other = disk.open("b", OpenMode::kCreate);
  require_ok(file->write_at(0, bytes("------")));
  SECTION("before the write") {
    disk.faults.add({.die = true});
    require_error(file->write_at(1, bytes("abcd")), Code::kIo, {"died"});
    CHECK(disk.content("a") == "------");
  }
  SECTION("in the middle of it") {
    disk.faults.add({.die = true, .torn_at = 2});
    require_error(file->write_at(1, bytes("abcd")), Code::kIo);
    CHECK(disk.content("a") == "-ab---");
  }
  SECTION("after it") {
    disk.faults.add({.die = true, .torn_at = FaultRule::kWhole});
    require_error(file->write_at(1, bytes("abcd")), Code::kIo);
    CHECK(disk.content("a") == "-abcd-");
  }
  CHECK(disk.faults.dead());
  std::vector<std::byte> into(1);
  require_error(other->write_at(0, bytes("x")), Code::kIo, {"dead process"});
  require_error(file->read_at(0, into), Code::kIo);
  require_error(file->size(), Code::kIo);
  require_error(file->sync(), Code::kIo);
  require_error(file->truncate(0), Code::kIo);
  require_error(disk.faults.opener()("a", OpenMode::kRead), Code::kIo);
  require_error(file->close(), Code::kIo);

  disk.faults.restart();
  auto fresh = disk.open("a", OpenMode::kReadWrite);
  require_ok(fresh->write_at(0, bytes("+")));
  require_error(other->write_at(0, bytes("x")), Code::kIo);  // of the dead one
}

TEST_CASE("fault files: every change of a program can be the last one", "[core][io][fault]") {
  const auto program = [](const Disk& disk) -> Status {
    BENTO_ASSIGN(auto file, disk.faults.opener()("a", OpenMode::kCreate));
    BENTO_TRY(file->write_at(0, bytes("ab")));
    BENTO_TRY(file->sync());
    BENTO_TRY(file->truncate(1));
    BENTO_TRY(file->write_at(1, bytes("c")));
    return file->close();
  };
  const std::vector<std::string> expected{"", "ab", "ab", "a", "ac"};
  for (std::uint64_t last = 1; last <= expected.size(); ++last) {
    const Disk disk;
    disk.faults.add({.on = FaultOn::kChange, .nth = last, .die = true});
    CHECK(program(disk).has_value() == (last == expected.size()));
    CHECK(disk.content("a") == expected[last - 1]);
  }
}

TEST_CASE("fault files: power loss takes what was not synced, file by file", "[core][io][fault]") {
  const Disk disk;
  auto a = disk.open("a", OpenMode::kCreate);
  auto b = disk.open("b", OpenMode::kCreate);
  require_ok(a->write_at(0, bytes("aaaa")));
  require_ok(b->write_at(0, bytes("bbbb")));
  require_ok(a->sync());
  require_ok(a->write_at(2, bytes("XXXX")));
  require_ok(a->truncate(3));
  require_ok(a->write_at(8, bytes("Y")));
  CHECK(disk.faults.unsynced() == 4);
  require_ok(disk.faults.power_loss());
  CHECK(disk.content("a") == "aaaa");
  CHECK(disk.content("b").empty());
  CHECK(disk.faults.unsynced() == 0);
  require_error(a->write_at(0, bytes("z")), Code::kIo);
}

TEST_CASE("fault files: power loss may keep any of the unsynced changes", "[core][io][fault]") {
  const Disk disk;
  auto a = disk.open("a", OpenMode::kCreate);
  require_ok(a->write_at(0, bytes("aaaa")));
  require_ok(a->sync());
  require_ok(a->write_at(0, bytes("11")));
  require_ok(a->write_at(1, bytes("22")));
  require_ok(a->write_at(6, bytes("33")));
  require_ok(disk.faults.power_loss(
      [](const Unsynced& part) { return part.change != 0 ? FaultRule::kWhole : 0; }));
  CHECK(disk.content("a") == std::string("a22a\0\0"
                                         "33",
                                         8));
}

TEST_CASE("fault files: creating over a file is undone by a power loss", "[core][io][fault]") {
  const Disk disk;
  disk.memory.put("a", bytes("old content"));
  auto a = disk.open("a", OpenMode::kCreate);
  require_ok(a->write_at(0, bytes("new")));
  require_ok(disk.faults.power_loss());
  CHECK(disk.content("a") == "old content");
}

TEST_CASE("fault files: a torn write counts as unsynced", "[core][io][fault]") {
  const Disk disk;
  auto a = disk.open("a", OpenMode::kCreate);
  require_ok(a->write_at(0, bytes("aaaa")));
  require_ok(a->sync());
  disk.faults.add({.die = true, .torn_at = 1});
  require_error(a->write_at(0, bytes("bb")), Code::kIo);
  CHECK(disk.content("a") == "baaa");
  require_ok(disk.faults.power_loss());
  CHECK(disk.content("a") == "aaaa");
}

TEST_CASE("fault files: a new name is lost unless its folder was synced", "[core][io][fault]") {
  const Disk disk(true);
  const auto sync_folder = [&](const std::string& path) {
    auto folder = disk.open(path, OpenMode::kDirectory);
    require_ok(folder->sync());
    require_ok(folder->close());
  };
  auto kept = disk.open("dir/kept", OpenMode::kCreate);
  SECTION("its own folder") {
    sync_folder("dir/");
    CHECK(disk.faults.unsynced() == 0);
  }
  SECTION("the disk had stored it by itself") {
    auto lost = disk.open("dir/lost", OpenMode::kCreateExclusive);
    require_ok(disk.faults.power_loss([](const Unsynced& part) {
      CHECK(part.kind == Unsynced::Kind::kName);
      return part.path == "dir/kept" ? FaultRule::kWhole : 0;
    }));
    CHECK_FALSE(disk.memory.exists("dir/lost"));
    CHECK(disk.memory.exists("dir/kept"));
    return;
  }
  auto here = disk.open("here", OpenMode::kCreate);
  SECTION("another folder") {
    sync_folder("other");
    sync_folder(".");
    require_ok(kept->write_at(0, bytes("x")));
    require_ok(kept->sync());  // bytes without a name
    require_ok(disk.faults.power_loss());
    CHECK(disk.memory.names() == std::vector<std::string>{"here"});
    return;
  }
  require_ok(disk.faults.power_loss());
  CHECK(disk.memory.names() == std::vector<std::string>{"dir/kept"});
}

TEST_CASE("fault files: syncing the folder keeps names, not bytes", "[core][io][fault]") {
  const Disk disk(true);
  auto file = disk.open("a", OpenMode::kCreate);
  require_ok(file->write_at(0, bytes("abc")));
  auto folder = disk.open("", OpenMode::kDirectory);
  disk.faults.add({.on = FaultOn::kSync});
  require_error(folder->sync(), Code::kIo);
  require_ok(folder->sync());
  CHECK(disk.faults.counts().syncs == 1);
  require_ok(disk.faults.power_loss());
  CHECK(disk.memory.exists("a"));
  CHECK(disk.content("a").empty());
  // Opening what is there makes no new name.
  auto again = disk.open("a", OpenMode::kCreate);
  require_ok(disk.faults.power_loss());
  CHECK(disk.memory.exists("a"));
}

TEST_CASE("fault files: sectors of one write are lost one by one, and torn", "[core][io][fault]") {
  const Disk disk(true);
  auto a = disk.open("a", OpenMode::kCreate);
  require_ok(a->write_at(0, std::vector<std::byte>(9000, std::byte{'-'})));
  require_ok(a->sync());
  require_ok(a->write_at(100, std::vector<std::byte>(8500, std::byte{'+'})));
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;
  require_ok(disk.faults.power_loss([&](const Unsynced& part) -> std::uint64_t {
    if (part.kind == Unsynced::Kind::kName) return 1;
    CHECK(part.last);
    parts.emplace_back(part.offset, part.bytes);
    return part.offset == 4096 ? 0 : 10;
  }));
  CHECK(parts == std::vector<std::pair<std::uint64_t, std::uint64_t>>{
                     {100, 3996}, {4096, 4096}, {8192, 408}});
  std::string wanted(9000, '-');
  wanted.replace(100, 10, "++++++++++");
  wanted.replace(8192, 10, "++++++++++");
  CHECK(disk.content("a") == wanted);
}

TEST_CASE("fault files: dice make every kind of loss", "[core][io][fault]") {
  bool lost = false;
  bool kept = false;
  bool torn = false;
  bool reordered = false;
  bool nameless = false;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    const auto after = [&] {
      const Disk disk(true);
      auto a = disk.open("a", OpenMode::kCreate);
      auto folder = disk.open(".", OpenMode::kDirectory);
      if (seed % 2 == 0) require_ok(folder->sync());
      require_ok(a->write_at(0, bytes("aaaa")));
      require_ok(a->write_at(4, bytes("bbbb")));
      require_ok(disk.faults.power_loss(random_survival(seed)));
      return disk.memory.exists("a") ? disk.content("a") : "no file";
    };
    const std::string content = after();
    CHECK(content == after());  // the same dice fall the same way
    lost = lost || content.empty();
    kept = kept || content == "aaaabbbb";
    torn = torn || content.ends_with("ab") || content.ends_with("abb");
    reordered = reordered || content.starts_with(std::string_view("\0\0\0\0b", 5));
    nameless = nameless || content == "no file";
    if (seed == 0) CHECK(content.empty());
    if (seed == 1) CHECK(content == "aaaabb");
  }
  CHECK((lost && kept && torn && reordered && nameless));
}
