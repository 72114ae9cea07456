// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// A command looks at a container that somebody is writing: what it finds is one step, and no
// damage.
#include <catch2/catch_test_macros.hpp>

#include "core/offline/survey.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/support/forwarding_file.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;

/// A program that adds to a dataset, and commits.
class Writer {
 public:
  explicit Writer(const MemoryFileSystem& disk)
      : container_(must(Container::create("box", false, small_options(disk.opener()),
                                          make_self_communicator()))) {
    container_->note_collective("create", {});
    dataset_ = container_->declare({}, 8, 2, 0);
    commit();
  }
  void commit() {
    ++step_;
    const Box rows{Dims{step_ * kRows, 0}, Dims{kRows, kColumns}};
    require_ok(container_->write(dataset_, rows, 8, bytes_of(band_values(rows, step_))));
    container_->skeleton().write(0, skeleton_bytes(step_));
    require_ok(container_->commit());
  }

 private:
  std::unique_ptr<Container> container_;
  DatasetNumber dataset_ = 0;
  std::uint64_t step_ = 0;
};

/// Lets the writer go on before one of the reads.
struct Meanwhile {
  int reads_before = 0;
  int commits = 0;
  Writer* writer = nullptr;
};

class ReadBeside : public ForwardingFile {
 public:
  ReadBeside(std::unique_ptr<File> below, Meanwhile& meanwhile)
      : ForwardingFile(std::move(below)), meanwhile_(meanwhile) {}
  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) override {
    if (meanwhile_.reads_before-- == 0)
      for (int i = 0; i < meanwhile_.commits; ++i) meanwhile_.writer->commit();
    return ForwardingFile::read_some(offset, into);
  }

 private:
  Meanwhile& meanwhile_;
};

}  // namespace

TEST_CASE("survey: a writer that goes on beside it is no damage", "[core][offline]") {
  const MemoryFileSystem disk;
  Writer writer(disk);
  bool between_all = false;
  for (int reads = 0; !between_all; ++reads) {
    for (const int commits : {1, 2, 3, 10, 30}) {
      CAPTURE(reads, commits);
      Meanwhile meanwhile{reads, commits, &writer};
      const auto survey = Survey::open(
          "box", [&](const std::string& path, OpenMode mode) -> Result<std::unique_ptr<File>> {
            auto file = disk.open(path, mode);
            if (!file) return file;
            return std::make_unique<ReadBeside>(std::move(*file), meanwhile);
          });
      require_ok(survey);
      CAPTURE(survey->problems());
      CHECK(survey->problems().empty());
      CHECK(survey->fills().size() == 1);
      between_all = meanwhile.reads_before >= 0;
    }
  }
}

}  // namespace bento
