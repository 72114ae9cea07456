// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a create asks of a file system, and what it leaves under the name meanwhile. ext4 takes a
/// file that was cut to nothing for one that replaces its old content, and each close of it waits
/// until all of it goes to the disk.
#include <filesystem>

#include <sys/file.h>
#include <catch2/catch_test_macros.hpp>

#include "core/container/container.hpp"
#include "core/io/file_lock.hpp"
#include "core/io/posix_file.hpp"
#include "tests/support/forwarding_file.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/scratch.hpp"

using namespace bento;
using namespace bento::test;

namespace {

/// Counts how often a file is cut to nothing.
FileOpener watched(const FileOpener& below, int& cuts) {
  class Watched final : public ForwardingFile {
   public:
    Watched(std::unique_ptr<File> file, int& cuts) : ForwardingFile(std::move(file)), cuts_(cuts) {}
    Status truncate(std::uint64_t bytes) override {
      cuts_ += bytes == 0 ? 1 : 0;
      return below().truncate(bytes);
    }

   private:
    int& cuts_;
  };
  return [&cuts, below](const std::string& path, OpenMode mode) -> Result<std::unique_ptr<File>> {
    BENTO_ASSIGN(auto file, below(path, mode));
    return std::unique_ptr<File>(std::make_unique<Watched>(std::move(file), cuts));
  };
}

void create_and_close(const ContainerOptions& options, const std::string& path = "box") {
  const auto made = must(Container::create(path, false, options, make_self_communicator()));
  made->skeleton().write(0, std::vector<std::byte>(100));
  require_ok(made->close());
}

}  // namespace

TEST_CASE("container: a new file is not cut to nothing, one with content is", "[core][container]") {
  const MemoryFileSystem disk;
  int cuts = 0;
  ContainerOptions options;
  options.opener = watched(disk.opener(), cuts);
  create_and_close(options);
  CHECK(cuts == 0);
  const std::size_t bytes = disk.content("box").size();
  create_and_close(options);
  CHECK(cuts == 1);
  CHECK(disk.content("box").size() == bytes);
}

TEST_CASE("container: a file that others read keeps its name until the new one is locked",
          "[core][container]") {
  const Scratch folder;
  const std::string path = folder / "box";
  ContainerOptions options;
  options.opener = open_posix_file;
  create_and_close(options, path);
  // As HDF5 locks what it reads.
  const auto reader = must(open_posix_file(path, OpenMode::kRead));
  REQUIRE(::flock(reader->descriptor(), LOCK_SH) == 0);
  const auto content = must(reader->size());
  bool empty = false;
  options.opener = [&](const std::string& name, OpenMode mode) {
    auto opened = open_posix_file(name, mode);
    const auto there = open_posix_file(path, OpenMode::kRead);
    // Empty under its name, and another could lock it.
    empty = empty || !there || (must((*there)->size()) == 0 && !is_locked(**there));
    return opened;
  };
  create_and_close(options, path);
  CHECK_FALSE(empty);
  CHECK(must(reader->size()) == content);
  int files = 0;
  for (const auto& one : std::filesystem::directory_iterator(folder.path()))
    files += one.exists() ? 1 : 0;
  CHECK(files == 1);
  must(Container::open(path, false, options, make_self_communicator()));
}
