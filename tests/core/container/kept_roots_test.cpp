// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// What a root refers to stays as long as somebody may come to it: a reader that opened a step which
// is still kept, a slot that is still valid, a native view that is still published.
#include <random>

#include <catch2/catch_test_macros.hpp>

#include "core/offline/verify_streams.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/core/container/crash_support.hpp"
#include "tests/core/container/fake_view.hpp"
#include "tests/support/fault_file.hpp"
#include "tests/support/forwarding_file.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;

/// Asks before each write; true lets it fail, untouched.
using RefuseWrite = std::function<bool(const std::string& path, std::uint64_t offset)>;

class PickyFile final : public ForwardingFile {
 public:
  PickyFile(std::unique_ptr<File> below, RefuseWrite refuse)
      : ForwardingFile(std::move(below)), refuse_(std::move(refuse)) {}
  Status write_at(std::uint64_t offset, std::span<const std::byte> from) override {
    if (refuse_(path(), offset)) return fail(os_error(EIO, "(injected) write of", path()));
    return below().write_at(offset, from);
  }

 private:
  RefuseWrite refuse_;
};

FileOpener picky(const MemoryFileSystem& disk, RefuseWrite refuse) {
  return [disk, refuse = std::move(refuse)](const std::string& path,
                                            OpenMode mode) -> Result<std::unique_ptr<File>> {
    BENTO_ASSIGN(auto file, disk.open(path, mode));
    return std::unique_ptr<File>(std::make_unique<PickyFile>(std::move(file), refuse));
  };
}

/// A serial writer, one commit a step, value of step = its number.
struct Steps {
  ContainerOptions options;
  std::unique_ptr<Container> container;
  std::uint64_t step = 0;
  /// Pages of metadata behind those of write_step(), of which each step changes some: so that the
  /// catalogue's holes are used up now and then.
  std::uint64_t more_pages = 0;
  std::mt19937 dice{1};

  Steps(FileOpener opener, std::uint64_t keep) : options(small_options(std::move(opener))) {
    options.keep = keep;
    options.lock = Locking::kOff;
    auto made = Container::create("box", false, options, make_self_communicator());
    REQUIRE(made);
    container = std::move(*made);
    REQUIRE(container->declare({}, 8, 2, 0) == 0);
  }
  Status one() {
    BENTO_TRY(write_step(*container, 0, ++step));
    const std::vector<std::byte> page(4096, static_cast<std::byte>(step));
    for (std::uint64_t i = 0; i < more_pages; ++i)
      if (dice() % 3 == 0) container->skeleton().write((3 + i) * page.size(), page);
    return container->commit();
  }
  void some(int number) {
    for (int i = 0; i < number; ++i) {
      const Status done = one();
      if (!done) FAIL(done.error().text);
    }
  }
  void reopen() {
    auto opened = Container::open("box", true, options, make_self_communicator());
    if (!opened) FAIL(opened.error().text);
    container = std::move(*opened);
  }
};

std::unique_ptr<Container> reader_of(const MemoryFileSystem& disk) {
  auto opened =
      Container::open("box", false, small_options(disk.opener()), make_self_communicator());
  if (!opened) FAIL(opened.error().text);
  return std::move(*opened);
}

}  // namespace

// The index is copied on write: a reader that opened step K when it was the newest has pages that
// the roots after it do not refer to.
TEST_CASE("kept roots: a reader of the oldest kept step", "[core][container][live]") {
  for (const std::uint64_t keep : {4u, 2u, 0u}) {
    const MemoryFileSystem disk;
    Steps writer(disk.opener(), keep);
    writer.more_pages = keep == 0 ? 2 : 60;
    writer.some(30);
    for (int round = 0; round < 80; ++round) {
      CAPTURE(keep, round);
      const auto reader = reader_of(disk);
      const std::uint64_t opened = writer.step;
      writer.some(keep == 0 ? 5 : static_cast<int>(keep) - 1);
      const auto values = read_of_one_step(*reader, [&] { return read_all(*reader, 0); });
      if (!values) FAIL(values.error().text);
      REQUIRE(*values == whole_values(opened));
      // And once more, when it is not kept any longer or is: right, or a reason.
      writer.some(2);
      const auto later = read_of_one_step(*reader, [&] { return read_all(*reader, 0); });
      if (later)
        REQUIRE(*later == whole_values(opened));
      else
        REQUIRE(later.error().code == Code::kBusy);
    }
  }
}

// Between two sessions nobody knows what readers hold.
TEST_CASE("kept roots: a reader stays while the writer is another session",
          "[core][container][live]") {
  const MemoryFileSystem disk;
  Steps writer(disk.opener(), 6);
  writer.some(60);
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    const auto reader = reader_of(disk);
    const std::uint64_t opened = writer.step;
    for (int session = 0; session < 2; ++session) {
      REQUIRE(writer.container->close());
      writer.reopen();
      writer.some(2);
    }
    const auto values = read_of_one_step(*reader, [&] { return read_all(*reader, 0); });
    if (!values) FAIL(values.error().text);
    REQUIRE(*values == whole_values(opened));
  }
}

// The first slot has the new root, the second cannot be written: a reader may have seen it.
TEST_CASE("kept roots: a slot that cannot be written", "[core][container][live]") {
  for (const unsigned slot : {0u, 1u}) {
    for (const std::uint64_t keep : {1u, 3u}) {
      const MemoryFileSystem disk;
      bool refuse = false;
      std::uint64_t at = ~0ull;
      Steps writer(picky(disk, [&](const std::string&,
                                   std::uint64_t offset) { return refuse && offset == at; }),
                   keep);
      // Large records, which go to the file before the commit.
      const Box box{Dims{0}, Dims{9000}};
      const DatasetNumber large = writer.container->declare({std::byte{1}}, 8, 1, 0);
      const auto value_of = [](std::uint64_t step) {
        return std::vector<std::uint64_t>(9000, step * 1000 + 7);
      };
      const auto write_large = [&](std::uint64_t value) {
        const Status done = writer.container->write(large, box, 8, bytes_of(value_of(value)));
        REQUIRE(done);
      };
      std::uint64_t value = 0;
      for (int i = 0; i < 6; ++i) {
        write_large(++value);
        writer.some(1);
      }
      at = writer.container->plan().file(0).root_address(slot);
      CAPTURE(slot, keep);

      write_large(++value);
      refuse = true;
      const Status failed = writer.one();
      refuse = false;
      const auto reader = reader_of(disk);
      const auto sequence = reader->root().sequence;
      const std::uint64_t seen_value = reader->step().number() == 7 ? value : value - 1;
      const std::uint64_t seen_step = reader->step().number();
      REQUIRE((seen_step == 6 || seen_step == 7));
      if (failed) REQUIRE(seen_step == 7);
      const auto check = [&] {
        std::vector<std::uint64_t> found(9000, 0);
        const auto read = read_of_one_step(*reader, [&]() -> Result<bool> {
          BENTO_ASSIGN(const RecordLookup lookup, reader->find(large, box));
          for (const auto& piece : lookup.pieces)
            BENTO_TRY(reader->read(lookup.records[piece.record], piece.part, 8, box,
                                   reinterpret_cast<std::byte*>(found.data())));
          return true;
        });
        if (read) {
          REQUIRE(reader->step().number() == seen_step);
          REQUIRE(found == value_of(seen_value));
        } else {
          REQUIRE(read.error().code == Code::kBusy);
        }
      };
      check();
      for (int i = 0; i < 30; ++i) {
        CAPTURE(i);
        write_large(++value);
        check();
        const Status done = writer.one();
        INFO((done ? std::string() : done.error().text));
        REQUIRE(done);
        check();
        const auto now = reader_of(disk);
        REQUIRE(now->root().sequence > sequence);
        REQUIRE(skeleton_is(*now, writer.step));
      }
      REQUIRE(writer.container->close());
      const auto verdict = verify_streams("box", disk.opener());
      REQUIRE(verdict);
      REQUIRE(verdict->sound());
    }
  }
}

// The close dies after the closed root: the superblock leads to the old view.
TEST_CASE("kept roots: a view is in use until another one is switched in",
          "[core][container][view][full]") {
  for (const std::uint32_t files : {1u, 2u}) {
    const MemoryFileSystem start;
    const auto session = [&](const FileOpener& opener, bool first) -> Status {
      for (const auto& status : run_ranks(2, [&](Communicator& comm) -> Status {
             const std::shared_ptr<Communicator> shared(&comm, [](Communicator*) {});
             ContainerOptions options = small_options(opener);
             options.files = files;
             BENTO_ASSIGN(auto box, first ? Container::create("box", false, options, shared)
                                          : Container::open("box", true, options, shared));
             if (first) box->declare({}, 8, 2, 0);
             const std::uint64_t step = box->step().number();
             BENTO_TRY(write_step(*box, 0, step + 1));
             return box->close(fake_view(74));
           }))
        BENTO_TRY(status);
      return {};
    };
    REQUIRE(session(start.opener(), true));
    SeenView before = look_at_view(start);
    REQUIRE(before.wrong == "");
    REQUIRE(before.pages == 74 * files);
    for (std::uint64_t nth = 1;; nth += files) {
      CAPTURE(files, nth);
      const MemoryFileSystem disk = copy_of(start);
      const FaultFileSystem faults = faults_over(disk);
      faults.add({.nth = nth, .die = true});
      const Status lived = session(faults.opener(), false);
      if (lived) break;
      // Another one goes on, so long that the catalogue is used again.
      const SeenView killed = look_at_view(disk);
      REQUIRE(killed.wrong == "");
      {
        ContainerOptions options = small_options(disk.opener());
        auto opened = Container::open("box", true, options, make_self_communicator());
        if (!opened) FAIL(opened.error().text);
        Container& box = **opened;
        for (std::uint64_t i = 0; i < 60; ++i) {
          REQUIRE(write_step(box, 0, 10 + i));
          REQUIRE(box.commit());
        }
        const SeenView now = look_at_view(disk);
        REQUIRE(now.wrong == "");
        REQUIRE(now.id == killed.id);
        REQUIRE(box.close(fake_view(30)));
      }
      const SeenView last = look_at_view(disk);
      REQUIRE(last.wrong == "");
      REQUIRE(last.id != killed.id);
    }
  }
}

// META2 is larger than a chunk and lies behind all of them, so it does not say where the view ends.
TEST_CASE("kept roots: the view of a file whose META2 fits no chunk",
          "[core][container][view][full]") {
  const MemoryFileSystem disk;
  const auto session = [&](const FileOpener& opener, bool first, std::uint64_t step) -> Status {
    for (const auto& status : run_ranks(2, [&](Communicator& comm) -> Status {
           const std::shared_ptr<Communicator> shared(&comm, [](Communicator*) {});
           ContainerOptions options = small_options(opener);
           options.files = 2;
           options.chunk_bytes = 16u << 10;
           BENTO_ASSIGN(auto box, first ? Container::create("box", false, options, shared)
                                        : Container::open("box", true, options, shared));
           if (first) {
             box->declare({}, 8, 2, 0);
             box->declare({std::byte{1}}, 8, 1, 0);
             box->declared(1u << 20);
             if (comm.rank() == 1) {
               const std::vector<std::uint64_t> much((18u << 20) / 8, 5);
               BENTO_TRY(box->write(1, {Dims{0}, Dims{much.size()}}, 8, bytes_of(much)));
             }
           }
           BENTO_TRY(write_step(*box, 0, step));
           return box->close(fake_view(20));
         }))
      BENTO_TRY(status);
    return {};
  };
  REQUIRE(session(disk.opener(), true, 1));
  std::uint64_t step = 1;
  for (int round = 0; round < 2; ++round) {
    const SeenView before = look_at_view(disk);
    REQUIRE(before.wrong == "");
    REQUIRE(before.id);
    std::uint64_t changes = 0;
    {
      const MemoryFileSystem copy = copy_of(disk);
      const FaultFileSystem counter(copy.opener());
      REQUIRE(session(counter.opener(), false, step + 1));
      changes = counter.counts().changes();
    }
    for (std::uint64_t nth = 1; nth <= changes; nth += changes / 9) {
      CAPTURE(round, nth, changes);
      const MemoryFileSystem copy = copy_of(disk);
      const FaultFileSystem faults = faults_over(copy);
      faults.add({.nth = nth, .die = true});
      (void)session(faults.opener(), false, step + 1);
      const SeenView now = look_at_view(copy);
      REQUIRE(now.wrong == "");
    }
    REQUIRE(session(disk.opener(), false, ++step));
  }
}

}  // namespace bento
