// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/daemon.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "tests/support/matchers.hpp"
#include "tests/support/scratch.hpp"
#include "tests/transfer/golden_scr.hpp"
#include "transfer/h5bento_transfer.h"
#include "transfer/kvtree_file.hpp"
#include "transfer/submit.hpp"

using namespace bento;
using namespace bento::test;
using namespace bento::transfer;

namespace {

DaemonOptions options_for(const std::string& file) {
  DaemonOptions options;
  options.file = file;
  options.until_done = true;
  return options;
}

/// As SCR's library writes it: no key of ours.
void put_plain(KvTree& tree, const std::string& source, const std::string& destination,
               const std::string& size, const std::string& written = "0") {
  KvTree& file = tree.at("FILES").append(source);
  file.append("DESTINATION", destination);
  file.append("SIZE", size);
  file.append("WRITTEN", written);
}

int ask(const std::string& path, const std::string& file, double seconds, std::string& why) {
  std::array<char, 400> text{};
  const int result = h5bento_transfer_wait(path.c_str(), file.c_str(), seconds, text.data(), 400);
  why = text.data();
  return result;
}

}  // namespace

TEST_CASE("daemon: SCR's own entries arrive, hostile ones fail with a reason", "[transfer]") {
  const Scratch scratch;
  const std::string file = scratch / "t";
  const std::vector<std::byte> content(100'000, std::byte{7});
  write_file(scratch / "a", content);
  write_file(scratch / "longer", content);
  std::filesystem::create_directory(scratch / "folder");
  REQUIRE(::mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  require_ok(update_kvfile(file, [&](KvTree& tree) -> Status {
    put_plain(tree, scratch / "a", scratch / "out/a", "100000");
    put_plain(tree, scratch / "longer", scratch / "out/first", "5000");
    put_plain(tree, scratch / "pipe", scratch / "out/pipe", "1");
    put_plain(tree, scratch / "folder", scratch / "out/folder", "1");
    put_plain(tree, "relative", scratch / "out/r", "1");
    put_plain(tree, scratch / "short", scratch / "out/../up", "1");
    put_plain(tree, scratch / "b", "/", "18446744073709551615");
    put_plain(tree, scratch / "c", "", "1");
    put_plain(tree, scratch / "d", scratch / "a/x", "1");
    put_plain(tree, "/dev/zero", scratch / "out/zero", "18446744073709551615");
    set_command(tree, "RUN");
    return {};
  }));
  auto daemon = must(Daemon::start(options_for(file)));
  CHECK_FALSE(must(daemon->run()));
  daemon.reset();
  CHECK(bytes_of_file(scratch / "out/a") == content);
  CHECK(bytes_of_file(scratch / "out/first").size() == 5000);
  const TransferState state = read_state(must(read_kvfile(file)));
  CHECK(state.state == "STOPPED");
  CHECK_FALSE(state.done);
  std::size_t failed = 0;
  for (const auto& entry : state.entries) {
    INFO(entry.source << " to " << entry.destination << ": " << entry.problem);
    CHECK(entry.failed != entry.named);
    CHECK(entry.failed == !entry.problem.empty());
    failed += entry.failed ? 1 : 0;
  }
  CHECK(failed == 8);
  std::string why;
  CHECK(ask(scratch / "out/a", file, 0, why) == H5BENTO_TRANSFER_ARRIVED);
  CHECK(ask(scratch / "out/pipe", file, -1, why) == H5BENTO_TRANSFER_FAILED);
  CHECK(why.find("no regular file") != std::string::npos);
  CHECK(ask(scratch / "out/nobody", file, -1, why) == H5BENTO_TRANSFER_UNKNOWN);
  CHECK(ask(scratch / "x", scratch / "no", -1, why) == H5BENTO_TRANSFER_UNKNOWN);
}

TEST_CASE("transfer: all names of a folder are one to wait and cancel", "[transfer]") {
  const Scratch scratch;
  const std::string file = scratch / "t";
  std::filesystem::create_directory(scratch / "out");
  std::filesystem::create_directory_symlink(scratch / "out", scratch / "alias");
  const auto put = [&] {
    require_ok(update_kvfile(file, [&](KvTree& tree) -> Status {
      put_plain(tree, scratch / "a", scratch / "out/a", "7", "7");
      return {};
    }));
  };
  for (const std::string name : {"out/a", "alias/a", "out/./a", "out//a", "alias/../out/a"}) {
    INFO(name);
    put();
    std::string why;
    CHECK(ask(scratch / name, file, 0, why) == H5BENTO_TRANSFER_ARRIVED);
    CHECK(cancel(file, {scratch / name}).has_value());
    CHECK(read_state(must(read_kvfile(file))).entries.empty());
  }
  // As the daemon's file has it, and asked by the other name.
  require_ok(update_kvfile(file, [&](KvTree& tree) -> Status {
    put_plain(tree, scratch / "alias/b", scratch / "alias/c", "7", "7");
    return {};
  }));
  std::string why;
  CHECK(ask(scratch / "out/c", file, 0, why) == H5BENTO_TRANSFER_ARRIVED);
  CHECK(ask(scratch / "out/b", file, 0, why) == H5BENTO_TRANSFER_UNKNOWN);
  CHECK_FALSE(cancel(file, {scratch / "out/d"}).has_value());
  CHECK(cancel(file, {scratch / "out/b"}).has_value());
  CHECK(read_state(must(read_kvfile(file))).entries.empty());
}

TEST_CASE("daemon: of what has arrived, a hundred are remembered", "[transfer]") {
  const Scratch scratch;
  const std::string file = scratch / "t";
  write_file(scratch / "a", std::vector<std::byte>(10, std::byte{7}));
  require_ok(update_kvfile(file, [&](KvTree& tree) -> Status {
    for (int i = 0; i < 120; ++i) {
      Entry entry;
      entry.source = fmt::format("/s/{}", i);
      entry.destination = fmt::format("/d/{}", i);
      entry.size = entry.written = 1;
      entry.ticket = fmt::format("{}", 50 + i);
      entry.named = i >= 3;
      entry.failed = i == 2;
      put_entry(tree, entry);
    }
    put_plain(tree, "/scr", "/out", "1", "1");
    return {};
  }));
  require_ok(submit(file, {scratch / "a", scratch / "out/a", {}, {}, false}));
  std::vector<std::string> left;
  for (const auto& entry : read_state(must(read_kvfile(file))).entries)
    left.push_back(entry.source);
  CHECK(left.size() == 3 + 100 + 1 + 1);  // not named, remembered, SCR's, the new one
  CHECK(std::ranges::find(left, "/s/2") != left.end());
  CHECK(std::ranges::find(left, "/s/19") == left.end());
  CHECK(std::ranges::find(left, "/s/20") != left.end());
  CHECK(std::ranges::find(left, "/scr") != left.end());
}

TEST_CASE("daemon: what lies at the destination is compared before it is believed", "[transfer]") {
  const Scratch scratch;
  const std::string file = scratch / "t";
  std::vector<std::byte> content(300'000, std::byte{1});
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<std::byte>(i * 31 >> 4);
  write_file(scratch / "a", content);
  // A copy of another source, of which somebody says that most of it is right.
  {
    require_ok(submit(file, {scratch / "a", scratch / "out/a", {}, {}, false}));
    std::filesystem::create_directory(scratch / "out");
    const Descriptor folder = must(AllowedFolders().open(scratch / "out"));
    WorkFolder work =
        must(WorkFolder::open(must(AllowedFolders().open(scratch / "out")), scratch / "out/a"));
    const Descriptor copy = must(work.open_copy("a"));
    auto other = content;
    other[77'777] ^= std::byte{1};
    other.resize(400'000, std::byte{9});
    require_ok(write_whole(copy.get(), 0, other, "a"));
    require_ok(update_kvfile(file, [&](KvTree& tree) -> Status {
      auto entry = read_state(tree).entries.at(0);
      entry.written = 299'999;
      return update_entry(tree, entry) ? Status{} : fail(Code::kInternal, "gone");
    }));
  }
  std::string why;
  CHECK(ask(scratch / "out/a", file, -1, why) == H5BENTO_TRANSFER_UNKNOWN);
  CHECK(why.find("no daemon") != std::string::npos);
  auto daemon = must(Daemon::start(options_for(file)));
  require_error(Daemon::start(options_for(file)), Code::kBusy, {"runs"});
  CHECK(ask(scratch / "out/a", file, 0, why) == H5BENTO_TRANSFER_LATE);
  std::thread works([&] { CHECK(daemon->run()); });
  CHECK(ask(scratch / "out/a", file, 20, why) == H5BENTO_TRANSFER_ARRIVED);
  works.join();
  CHECK(bytes_of_file(scratch / "out/a") == content);
}
