// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What physical files say of themselves: the bytes, sessions that die at every change, ranks on
/// which names lead to other files, readers beside later sessions.
#include "core/layout/identity.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/io/host.hpp"
#include "core/layout/replace.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/support/fault_file.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;

constexpr int kRanks = 2;

std::shared_ptr<Communicator> shared(Communicator& comm) {
  return {&comm, [](Communicator*) {}};
}

ContainerOptions options_of(FileOpener opener) {
  ContainerOptions options = small_options(std::move(opener));
  options.files = 2;
  options.keep = 0;
  return options;
}

/// One session of kRanks ranks that writes one step. Rank 1 may see other files than rank 0.
Status session(const FileOpener& opener, const FileOpener& of_rank_1, std::uint64_t step) {
  Status all;
  for (const auto& status : run_ranks(kRanks, [&](Communicator& comm) -> Status {
         const auto options = options_of(comm.rank() == 1 ? of_rank_1 : opener);
         BENTO_ASSIGN(auto box, step == 1 ? Container::create("box", false, options, shared(comm))
                                          : Container::open("box", true, options, shared(comm)));
         const DatasetNumber dataset = step == 1 ? box->declare({}, 8, 2, 0) : 0;
         const Status written = write_step(*box, dataset, step);
         const Status closed = box->close();
         return written ? closed : written;
       }))
    if (!status && all) all = status;
  return all;
}
Status session(const FileOpener& opener, std::uint64_t step) {
  return session(opener, opener, step);
}

/// The step that all of the data is of; nothing if none is.
Result<std::uint64_t> step_read(const FileOpener& opener) {
  BENTO_ASSIGN(auto box,
               Container::open("box", false, options_of(opener), make_self_communicator()));
  BENTO_ASSIGN(const auto values, read_all(*box, 0));
  for (std::uint64_t step = 1; step < 9; ++step)
    if (values == whole_values(step)) return step;
  return fail(Code::kInternal, "wrong data");
}

MemoryFileSystem copy_of(const MemoryFileSystem& disk) {
  MemoryFileSystem copy;
  for (const auto& name : disk.names()) copy.put(name, disk.content(name));
  return copy;
}

SessionId session_of(const MemoryFileSystem& disk, const std::string& name) {
  return must(find_identity(*must(disk.open(name, OpenMode::kRead))))->session;
}

TEST_CASE("identity: what is written is read, and a torn writing leaves the one before",
          "[core][container][identity]") {
  const MemoryFileSystem disk;
  auto file = must(disk.open("f", OpenMode::kCreate));
  Identity identity{random_id(), 7, random_id(), {random_id(), random_id()}, 0, "some name.h5"};
  require_ok(write_identity(*file, 4096, identity));
  identity.turn = 1;
  CHECK(must(read_identity(*file, 4096)) == identity);
  for (std::size_t torn = 0; torn < kIdentityBytes; torn += 37) {
    const FaultFileSystem faults(disk.opener());
    faults.add({.on = FaultOn::kWrite, .die = true, .torn_at = torn});
    auto failing = must(faults.opener()("f", OpenMode::kReadWrite));
    Identity next = identity;
    next.session = random_id();
    CHECK_FALSE(write_identity(*failing, 4096, next));
    CHECK(must(read_identity(*file, 4096)) == identity);
  }
}

TEST_CASE("identity: each session is said in all files, and its root knows it",
          "[core][container][identity]") {
  const MemoryFileSystem disk;
  SessionId last{};
  for (std::uint64_t step = 1; step <= 3; ++step) {
    require_ok(session(disk.opener(), step));
    CHECK(session_of(disk, "box") == session_of(disk, "box.000001"));
    CHECK(session_of(disk, "box") != last);
    last = session_of(disk, "box");
    CHECK(must(probe(*must(disk.open("box", OpenMode::kRead)))).root.session == last);
    CHECK(must(step_read(disk.opener())) == step);
  }
}

// Dies at each change, and the session after it, too: the container can be read, and written on.
TEST_CASE("identity: sessions that die at any change leave files that belong together",
          "[core][container][identity]") {
  const MemoryFileSystem first;
  require_ok(session(first.opener(), 1));
  for (std::uint64_t second_death : {0u, 1u, 2u, 3u, 4u, 5u, 6u}) {
    bool done = false;
    for (std::uint64_t death = 1; !done; ++death) {
      INFO("died at change " << death << ", then at " << second_death);
      const MemoryFileSystem disk = copy_of(first);
      const FaultFileSystem faults(disk.opener());
      faults.add({.on = FaultOn::kChange, .nth = death, .die = true, .torn_at = 100});
      done = session(faults.opener(), 2).has_value();
      if (second_death != 0) {
        faults.restart();
        faults.add({.on = FaultOn::kChange, .nth = second_death, .die = true});
        (void)session(faults.opener(), 3);
      }
      const auto found = must(step_read(disk.opener()));
      CHECK(found <= 3);
      require_ok(session(disk.opener(), 4));
      REQUIRE(must(step_read(disk.opener())) == 4);
      REQUIRE(session_of(disk, "box") == session_of(disk, "box.000001"));
      if (second_death != 0 && death > 12) break;  // the beginning is what differs
    }
  }
}

TEST_CASE("identity: a rank on which the name means other files writes and reads nothing there",
          "[core][container][identity]") {
  const MemoryFileSystem disk;
  require_ok(session(disk.opener(), 1));
  const MemoryFileSystem same = copy_of(disk);
  const MemoryFileSystem diverged = copy_of(disk);
  require_ok(session(diverged.opener(), 7));
  const MemoryFileSystem other;
  require_ok(session(other.opener(), 1));
  const MemoryFileSystem text;
  for (const auto* name : {"box", "box.000001"})
    text.put(name, std::vector<std::byte>(100000, std::byte{'x'}));
  for (const auto* node : {&same, &diverged, &other, &text}) {
    const MemoryFileSystem before = copy_of(*node);
    require_error(session(disk.opener(), node->opener(), 2), Code::kCorrupt, {"box.000001"});
    for (const auto& name : node->names()) CHECK(node->content(name) == before.content(name));
  }
  CHECK(must(step_read(disk.opener())) == 1);

  // A reader with a copy of the same state reads the right data there.
  require_ok(session(disk.opener(), 2));
  const MemoryFileSystem copy = copy_of(disk);
  for (const auto* node : {&copy, &same, &diverged, &other, &text}) {
    const auto seen = run_ranks(kRanks, [&](Communicator& comm) -> Status {
      const auto opener = comm.rank() == 1 ? node->opener() : disk.opener();
      BENTO_ASSIGN(auto box, Container::open("box", false, options_of(opener), shared(comm)));
      BENTO_ASSIGN(const auto values, read_all(*box, 0));
      if (values != whole_values(2)) return fail(Code::kInternal, "wrong data");
      return box->close();
    });
    require_ok(seen[0]);
    if (node == &copy)
      require_ok(seen[1]);
    else
      require_error(seen[1], Code::kCorrupt, {"box"});
  }
}

TEST_CASE("identity: readers open files that later sessions have written since",
          "[core][container][identity]") {
  const MemoryFileSystem disk;
  require_ok(session(disk.opener(), 1));
  for (const auto& status : run_ranks(kRanks, [&](Communicator& comm) -> Status {
         BENTO_ASSIGN(auto box,
                      Container::open("box", false, options_of(disk.opener()), shared(comm)));
         if (comm.rank() == 0)
           for (std::uint64_t step = 2; step < 5; ++step) BENTO_TRY(session(disk.opener(), step));
         BENTO_TRY(comm.broadcast({}));
         // Rank 1 opens all files only now.
         BENTO_ASSIGN(const auto old, read_all(*box, 0));
         if (old != whole_values(1)) return fail(Code::kInternal, "wrong data of step 1");
         BENTO_ASSIGN(const bool newer, box->refresh());
         BENTO_ASSIGN(const auto now, read_all(*box, 0));
         if (!newer || now != whole_values(4)) return fail(Code::kInternal, "wrong data of step 4");
         return box->close();
       }))
    require_ok(status);
}

TEST_CASE("identity: what may be replaced by a new physical file", "[core][container][identity]") {
  const MemoryFileSystem disk;
  const FileId ours = random_id();
  disk.put("box", {});
  const auto names = ContainerNames::of(*must(disk.open("box", OpenMode::kRead)));
  const auto look = [&] { return look_before_create(names, 1, ours, 4096, disk.opener()); };
  const auto look_at = [&](const std::vector<std::byte>& content) {
    disk.put("box.000001", content);
    return look();
  };
  const auto with = [&](const FileId& id, std::uint32_t part, const std::string& name) {
    auto file = must(disk.open("box.000001", OpenMode::kCreate));
    require_ok(file->write_at(0, std::as_bytes(std::span("sion", 4))));
    require_ok(write_identity(*file, 4096, {id, part, random_id(), {}, 0, name}));
    require_ok(file->write_at(100000, std::as_bytes(std::span("data", 4))));
    return look();
  };
  const auto text = [](std::string_view said, std::size_t size) {
    std::vector<std::byte> content(size);
    std::ranges::copy(std::as_bytes(std::span(said)), content.begin());
    return content;
  };
  CHECK(must(look()) == InTheWay::kNothing);
  CHECK(must(with(ours, 1, "other")) == InTheWay::kOurs);
  CHECK(must(with(random_id(), 1, "box")) == InTheWay::kOurs);
  require_error(with(random_id(), 1, "other"), Code::kExists, {"'other'", "rm 'box.000001'"});
  require_error(with(random_id(), 2, "box"), Code::kExists, {"part 2"});
  require_error(with(ours, 0, "box"), Code::kExists, {"part 0"});
  // What a create leaves that was ended at once, or whose machine lost power.
  CHECK(must(look_at({})) == InTheWay::kOurs);
  CHECK(must(look_at(text("si", 2))) == InTheWay::kOurs);
  CHECK(must(look_at(text("sion", 4))) == InTheWay::kOurs);
  CHECK(must(look_at(text("sion", 5632))) == InTheWay::kOurs);
  CHECK(must(look_at(text("", 5632))) == InTheWay::kOurs);
  require_error(look_at(text("sion and more", 100)), Code::kExists);
  require_error(look_at(text("side.txt", 8)), Code::kExists);
  require_error(look_at(text("", 1 << 20)), Code::kExists);
  require_error(look_at(text("\x89HDF\r\n\x1a\n", 9000)), Code::kExists, {"ordinary HDF5"});
}

}  // namespace
}  // namespace bento
