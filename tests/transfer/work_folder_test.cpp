// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/work_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/matchers.hpp"
#include "tests/support/scratch.hpp"
#include "tests/transfer/golden_scr.hpp"
#include "transfer/destination.hpp"

using namespace bento;
using namespace bento::test;
using namespace bento::transfer;

namespace {

const std::vector<std::string> kNames{"box", "box.000001", "box.000002"};

void put(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

Descriptor folder_at(const std::string& path) {
  return must(open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, path));
}

WorkFolder work_in(const Scratch& scratch) {
  return must(WorkFolder::open(folder_at(scratch.path()), scratch / "box"));
}

/// Old parts at the destination, and a work folder with complete new ones.
void prepare(const Scratch& scratch) {
  for (const auto& name : kNames) put(scratch / name, "old " + name);
  WorkFolder work = work_in(scratch);
  for (const auto& name : kNames) {
    const Descriptor copy = must(work.open_copy(name));
    const std::string text = "new " + name;
    require_ok(write_whole(copy.get(), 0, std::as_bytes(std::span(text)), name));
  }
  require_ok(work.set_complete("1", kNames, {}));
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> all;
  for (const auto& one : std::filesystem::directory_iterator(folder))
    all.push_back(one.path().filename().string());
  std::ranges::sort(all);
  return all;
}

void check_all(const Scratch& scratch, const std::string& age) {
  for (const auto& name : kNames) CHECK(text_of_file(scratch / name) == age + " " + name);
}

/// A new file, as a program makes it that creates the container anew.
void put_anew(const std::string& path, const std::string& text) {
  std::filesystem::remove(path);
  put(path, text);
}

/// The death of a daemon after so many renames of name_all().
void rename_some(const Scratch& scratch, std::size_t renames) {
  const std::string inner = scratch / (names_in(scratch.path()).front() + "/");
  REQUIRE(inner.find(".h5bento-") != std::string::npos);
  std::size_t done = 0;
  for (const auto& name : kNames)
    if (done++ < renames) std::filesystem::rename(scratch / name, inner + "old/" + name);
  for (auto name = kNames.rbegin(); name != kNames.rend(); ++name)
    if (done++ < renames) std::filesystem::rename(inner + "new/" + *name, scratch / *name);
}

}  // namespace

TEST_CASE("work folder: all get their names, and nothing is left", "[transfer]") {
  const Scratch scratch;
  prepare(scratch);
  {
    WorkFolder work = work_in(scratch);
    CHECK(work.complete() == "1");
    require_ok(work.name_all(kNames));
    require_ok(work.name_all(kNames));
    require_ok(work.remove());
  }
  check_all(scratch, "new");
  CHECK(names_in(scratch.path()) == kNames);
}

// Each state in which a death between two renames can leave it.
TEST_CASE("work folder: naming goes on, or is taken back, from each state", "[transfer]") {
  for (const bool abandoned : {false, true}) {
    for (std::size_t renames = 0; renames <= 2 * kNames.size(); ++renames) {
      const Scratch scratch;
      prepare(scratch);
      rename_some(scratch, renames);
      INFO("renames: " << renames << ", abandoned: " << abandoned);
      WorkFolder work = work_in(scratch);
      if (abandoned) {
        require_ok(work.abandon());
        check_all(scratch, renames == 2 * kNames.size() ? "new" : "old");
      } else {
        require_ok(work.name_all(kNames));
        require_ok(work.remove());
        check_all(scratch, "new");
      }
      CHECK(names_in(scratch.path()) == kNames);
    }
  }
}

TEST_CASE("work folder: what was written anew meanwhile stays", "[transfer]") {
  enum class Next { kName, kDiscard, kAbandon };
  for (const Next next : {Next::kName, Next::kDiscard, Next::kAbandon}) {
    for (const bool in_place : {false, true}) {
      for (std::size_t renames = 1; renames < 2 * kNames.size(); ++renames) {
        const Scratch scratch;
        prepare(scratch);
        rename_some(scratch, renames);
        for (const auto& name : kNames)
          in_place ? put(scratch / name, "later " + name)
                   : put_anew(scratch / name, "later " + name);
        INFO("renames: " << renames << ", in place: " << in_place);
        WorkFolder work = work_in(scratch);
        if (next == Next::kName) {
          require_error(work.name_all(kNames), Code::kExists, {"box", "submit it again"});
          check_all(scratch, "later");
        }
        if (next == Next::kDiscard) require_ok(work.discard());
        if (next != Next::kDiscard) require_ok(work.abandon());
        check_all(scratch, "later");
      }
    }
  }
}

TEST_CASE("work folder: what replaces only a part keeps the old ones", "[transfer]") {
  const Scratch scratch;
  prepare(scratch);
  rename_some(scratch, 4);
  put(scratch / "box.000001", "stranger");
  {
    WorkFolder work = work_in(scratch);
    require_error(work.abandon(), Code::kExists, {"box.000001", "/old"});
    require_error(work.discard(), Code::kExists, {"box.000001", "/old"});
  }
  CHECK(text_of_file(scratch / "box.000001") == "stranger");
  std::filesystem::remove(scratch / "box.000001");
  require_ok(work_in(scratch).abandon());
  check_all(scratch, "old");
}

TEST_CASE("work folder: only outdated parts of what was replaced are removed", "[transfer]") {
  for (const bool anew : {false, true}) {
    const Scratch scratch;
    put(scratch / "box", "old box");
    put(scratch / "box.000001", "old box.000001");
    WorkFolder work = work_in(scratch);
    {
      const Descriptor copy = must(work.open_copy("box"));
      require_ok(write_whole(copy.get(), 0, std::as_bytes(std::span("new", 3)), "box"));
    }
    require_ok(work.set_complete("1", {"box"}, {"box.000001"}));
    const std::string inner = scratch / names_in(scratch.path()).front();
    if (anew) {
      std::filesystem::rename(inner + "/new/box", scratch / "box");
      for (const char* const name : {"box", "box.000001"}) put_anew(scratch / name, "later");
    } else {
      put(scratch / "box.000001", "old box.000001 with more");
    }
    require_ok(work.name_all({"box"}));
    CHECK(std::filesystem::exists(scratch / "box.000001") == anew);
    CHECK(text_of_file(scratch / "box") == (anew ? "later" : "new"));
  }
}

TEST_CASE("work folder: two names of one folder are one destination", "[transfer]") {
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "real");
  std::filesystem::create_symlink("real", scratch / "other");
  const WorkFolder work = must(WorkFolder::open(folder_at(scratch / "real"), scratch / "real/box"));
  require_error(WorkFolder::open(folder_at(scratch / "other"), scratch / "other/box"), Code::kBusy,
                {"another daemon", "other/box"});
  require_ok(WorkFolder::open(folder_at(scratch / "other"), scratch / "other/box2"));
}

TEST_CASE("work folder: what cannot be named leaves the old ones", "[transfer]") {
  const Scratch scratch;
  prepare(scratch);
  std::filesystem::remove(scratch / "box.000001");
  std::filesystem::create_directory(scratch / "box.000001");
  WorkFolder work = work_in(scratch);
  require_error(work.name_all(kNames), Code::kExists, {"box.000001", "no regular file"});
  CHECK(text_of_file(scratch / "box") == "old box");
  require_error(WorkFolder::open(folder_at(scratch.path()), scratch / "box"), Code::kBusy,
                {"another daemon"});
}

TEST_CASE("allowed folders: nothing beyond them, links followed", "[transfer]") {
  const Scratch scratch;
  for (const char* const name : {"in", "in/side", "out"})
    std::filesystem::create_directory(scratch / name);
  std::filesystem::create_symlink("../out", scratch / "in/leads_out");
  std::filesystem::create_symlink(scratch / "out", scratch / "in/absolute");
  std::filesystem::create_symlink("side", scratch / "in/stays");
  std::filesystem::create_symlink("in", scratch / "alias");
  const AllowedFolders allowed = must(AllowedFolders::below({scratch / "alias"}));
  for (const char* const good : {"in", "in/side", "in/stays", "in/new/deep", "alias/side/more"})
    require_ok(allowed.open(scratch / good));
  for (const char* const bad : {"out", "in/leads_out", "in/leads_out/x", "in/absolute", "inn"})
    require_error(allowed.open(scratch / bad), Code::kPermission, {"write to"});
  require_error(allowed.open(scratch / "in/../out"), Code::kInvalidArgument, {"'..'"});
  require_error(allowed.open("in"), Code::kInvalidArgument, {"absolute"});
  CHECK(names_in(scratch / "out").empty());
  CHECK_FALSE(std::filesystem::exists(scratch / "inn"));
}
