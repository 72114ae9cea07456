// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "core/io/new_file.hpp"

namespace bento {
namespace {

namespace fs = std::filesystem;

/// A folder of this test's own, in the current one.
struct Folder {
  fs::path path =
      fs::absolute("new_file_test-" + std::to_string(::getpid()));  // cases run beside each other
  Folder() {
    fs::remove_all(path);
    fs::create_directory(path);
  }
  ~Folder() { fs::remove_all(path); }
  [[nodiscard]] std::string file(const char* name) const { return (path / name).string(); }
  [[nodiscard]] auto entries() const {
    return std::distance(fs::directory_iterator(path), fs::directory_iterator());
  }
};

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Status write(NewFile& file, const char* text) {
  return file.file().write_at(0, std::as_bytes(std::span(text, std::strlen(text))));
}

TEST_CASE("new file: it appears when it is published", "[io]") {
  const Folder folder;
  const std::string path = folder.file("x");
  auto made = NewFile::create(path, false);
  REQUIRE(made);
  REQUIRE(write(**made, "new"));
  CHECK_FALSE(fs::exists(path));
  REQUIRE((*made)->publish());
  CHECK(content(path) == "new");
  CHECK(folder.entries() == 1);
}

TEST_CASE("new file: dropped, it leaves nothing", "[io]") {
  const Folder folder;
  {
    auto made = NewFile::create(folder.file("x"), false);
    REQUIRE(made);
    REQUIRE(write(**made, "new"));
  }
  CHECK(folder.entries() == 0);
}

TEST_CASE("new file: what is there stays, unless it shall be replaced", "[io]") {
  const Folder folder;
  const std::string path = folder.file("x");
  auto late = NewFile::create(path, false);
  REQUIRE(late);
  std::ofstream(path) << "old";
  auto refused = NewFile::create(path, false);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kExists);
  CHECK(refused.error().text.find(path) != std::string::npos);
  // Somebody was faster than the one that had begun.
  const Status published = (*late)->publish();
  REQUIRE_FALSE(published);
  CHECK(published.error().code == Code::kExists);
  CHECK(content(path) == "old");
  late->reset();

  auto replacing = NewFile::create(path, true);
  REQUIRE(replacing);
  REQUIRE(write(**replacing, "new"));
  CHECK(content(path) == "old");
  REQUIRE((*replacing)->publish());
  CHECK(content(path) == "new");
  CHECK(folder.entries() == 1);
}

TEST_CASE("new file: its name may be as long as the file system takes", "[io]") {
  const Folder folder;
  const std::string name(255, 'n');
  for (const bool replace : {false, true}) {
    CAPTURE(replace);
    auto made = NewFile::create(folder.file(name.c_str()), replace);
    REQUIRE(made);
    CHECK((*made)->publish());
  }
  CHECK(folder.entries() == 1);
}

TEST_CASE("new file: a folder or a pipe in its place, and no folder for it, are errors", "[io]") {
  const Folder folder;
  fs::create_directory(folder.path / "x");
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  CHECK_FALSE(NewFile::create(folder.file("x"), true));
  CHECK_FALSE(NewFile::create(folder.file("pipe"), true));
  CHECK_FALSE(NewFile::create(folder.file("none/x"), true));
  CHECK(folder.entries() == 2);
}

}  // namespace
}  // namespace bento
