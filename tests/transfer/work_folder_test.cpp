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
      const std::string inner = scratch / (names_in(scratch.path()).front() + "/");
      REQUIRE(inner.find(".h5bento-") != std::string::npos);
      std::size_t done = 0;
      for (const auto& name : kNames)
        if (done++ < renames) std::filesystem::rename(scratch / name, inner + "old/" + name);
      for (auto name = kNames.rbegin(); name != kNames.rend(); ++name)
        if (done++ < renames) std::filesystem::rename(inner + "new/" + *name, scratch / *name);
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
