// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// A writer that commits in the middle of whatever a reader does, so often that the space of the
// reader's step is written over, catalogue and data.
#include <functional>

#include <catch2/catch_test_macros.hpp>

#include "tests/core/container/container_support.hpp"
#include "tests/support/forwarding_file.hpp"
#include "tests/support/memory_file.hpp"

namespace bento {
namespace {

using namespace test;

/// Calls `before` in front of every read.
class HookedFile final : public ForwardingFile {
 public:
  HookedFile(std::unique_ptr<File> below, std::function<void()> before)
      : ForwardingFile(std::move(below)), before_(std::move(before)) {}
  Status read_at(std::uint64_t offset, std::span<std::byte> into) override {
    before_();
    return below().read_at(offset, into);
  }
  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) override {
    before_();
    return below().read_some(offset, into);
  }

 private:
  std::function<void()> before_;
};

class Writer {
 public:
  Writer(const MemoryFileSystem& disk, std::uint64_t keep)
      : options_(small_options(disk.opener())) {
    options_.keep = keep;
    options_.lock = Locking::kOff;
    auto made = Container::create("box", false, options_, make_self_communicator());
    REQUIRE(made);
    container_ = std::move(*made);
    dataset_ = container_->declare({}, 8, 2, 0);
    steps(3);
  }
  void steps(int number) {
    for (int i = 0; i < number; ++i) {
      REQUIRE(write_step(*container_, dataset_, ++value_));
      REQUIRE(container_->commit());
    }
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  ContainerOptions options_;
  std::unique_ptr<Container> container_;
  DatasetNumber dataset_ = 0;
  std::uint64_t value_ = 0;
};

/// One reader of a file whose writer commits `steps` times before the reader's n-th read of bytes.
struct Outcome {
  bool disturbed = false;  ///< there were n reads
  bool read = false;
};
Outcome read_disturbed(std::uint64_t n, int steps, std::uint64_t keep) {
  const MemoryFileSystem disk;
  Writer writer(disk, keep);
  writer.steps(30);  // enough for the catalogue to have holes
  const std::uint64_t begin = writer.value();
  std::uint64_t reads = 0;
  ContainerOptions options =
      small_options([&](const std::string& path, OpenMode mode) -> Result<std::unique_ptr<File>> {
        BENTO_ASSIGN(auto file, disk.open(path, mode));
        return std::unique_ptr<File>(std::make_unique<HookedFile>(std::move(file), [&] {
          if (++reads == n) writer.steps(steps);
        }));
      });
  Outcome outcome;
  auto opened = Container::open("box", false, options, make_self_communicator());
  if (!opened) FAIL(opened.error().text);
  Container& container = **opened;
  const std::uint64_t step = container.step().number();
  // The skeleton is of one step, which is that of the container. (Each step is one commit.)
  REQUIRE(step >= begin);
  REQUIRE(skeleton_is(container, step));
  const auto values = read_of_one_step(container, [&] { return read_all(container, 0); });
  if (values) {
    REQUIRE(*values == whole_values(container.step().number()));
    outcome.read = true;
  } else {
    REQUIRE(values.error().code == Code::kBusy);
    REQUIRE(values.error().text.find("pen the file again") != std::string::npos);
  }
  outcome.disturbed = reads >= n;
  return outcome;
}

}  // namespace

TEST_CASE("live reader: commits between any two of its reads", "[core][container][live]") {
  for (const int steps : {1, 40}) {
    std::uint64_t read = 0;
    std::uint64_t sent_away = 0;
    for (std::uint64_t n = 1;; ++n) {
      CAPTURE(n, steps);
      const Outcome outcome = read_disturbed(n, steps, 1);
      if (!outcome.disturbed) break;
      ++(outcome.read ? read : sent_away);
    }
    CHECK(read > 0);
    CHECK(sent_away > 0);
  }
}

TEST_CASE("live reader: kept steps stay", "[core][container][live]") {
  for (std::uint64_t n = 1;; ++n) {
    CAPTURE(n);
    const Outcome outcome = read_disturbed(n, 2, 3);
    if (!outcome.disturbed) break;
    CHECK(outcome.read);
  }
}

}  // namespace bento
