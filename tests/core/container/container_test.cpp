// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/container.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/sion/reader.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/support/fault_file.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;

/// The thread group hands out references; a container wants to share.
std::shared_ptr<Communicator> share(Communicator& comm) {
  return {&comm, [](Communicator*) {}};
}

Status check(bool condition, std::string_view what) {
  if (condition) return {};
  return fail(Code::kInternal, std::string(what));
}

/// Runs `body` on `ranks` thread ranks and requires success on all.
void all_succeed(int ranks, const std::function<Status(Communicator&)>& body) {
  for (const auto& status : run_ranks(ranks, body)) {
    INFO((status ? std::string() : status.error().text));
    REQUIRE(status);
  }
}

Status write_session(Communicator& comm, const ContainerOptions& options, std::uint64_t steps) {
  BENTO_ASSIGN(auto container, Container::create("box", false, options, share(comm)));
  const DatasetNumber dataset = container->declare({}, 8, 2, 0);
  for (std::uint64_t step = 1; step <= steps; ++step) {
    BENTO_TRY(write_step(*container, dataset, step));
    if (step < steps) BENTO_TRY(container->commit());
  }
  return container->close();
}

Status read_session(Communicator& comm, const ContainerOptions& options, std::uint64_t step) {
  BENTO_ASSIGN(auto container, Container::open("box", false, options, share(comm)));
  BENTO_TRY(check(container->step().number() == step, "step"));
  BENTO_TRY(check(skeleton_is(*container, step), "skeleton"));
  BENTO_ASSIGN(const auto values, read_all(*container, 0));
  BENTO_TRY(check(values == whole_values(step), "values"));
  return container->close();
}

TEST_CASE("container: what any number of ranks wrote, any number reads", "[core][container]") {
  for (const int writers : {1, 2, 3, 5})
    for (const std::uint32_t files : {1u, 2u}) {
      const MemoryFileSystem disk;
      ContainerOptions options = small_options(disk.opener());
      options.files = files;
      all_succeed(writers, [&](Communicator& comm) { return write_session(comm, options, 3); });
      for (const int readers : {1, 2, 4})
        all_succeed(readers, [&](Communicator& comm) { return read_session(comm, options, 3); });
    }
}

TEST_CASE("container: SION's own rules hold once it is closed", "[core][container]") {
  const MemoryFileSystem disk;
  ContainerOptions options = small_options(disk.opener());
  options.files = 2;
  all_succeed(5, [&](Communicator& comm) { return write_session(comm, options, 2); });
  const auto reader = SionReader::open(disk.opener(), "box");
  INFO((reader ? std::string() : reader.error().text));
  REQUIRE(reader);
}

TEST_CASE("container: other ranks' writes are seen after an exchange, without a commit",
          "[core][container]") {
  const MemoryFileSystem disk;
  all_succeed(3, [&](Communicator& comm) -> Status {
    BENTO_ASSIGN(auto container,
                 Container::create("box", false, small_options(disk.opener()), share(comm)));
    const DatasetNumber dataset = container->declare({}, 8, 2, 0);
    for (std::uint64_t step = 1; step <= 3; ++step) {
      BENTO_TRY(write_step(*container, dataset, step));
      BENTO_TRY(container->exchange());
      BENTO_ASSIGN(const auto values, read_all(*container, dataset));
      BENTO_TRY(check(values == whole_values(step), "exchanged values"));
    }
    BENTO_TRY(container->commit());
    BENTO_ASSIGN(const auto values, read_all(*container, dataset));
    BENTO_TRY(check(values == whole_values(3), "committed values"));
    return container->close();
  });
}

TEST_CASE("container: an exchange after a deletion brings what was written since",
          "[core][container]") {
  const MemoryFileSystem disk;
  all_succeed(3, [&](Communicator& comm) -> Status {
    BENTO_ASSIGN(auto container,
                 Container::create("box", false, small_options(disk.opener()), share(comm)));
    const DatasetNumber kept = container->declare({}, 8, 2, 0);
    DatasetNumber dataset = container->declare({std::byte{1}}, 8, 2, 0);
    for (std::uint64_t step = 1; step <= 4; ++step) {
      if (step > 1) {
        container->remove(dataset);
        dataset = container->declare({std::byte{1}}, 8, 2, 0);
      }
      if (step % 2 == 0) BENTO_TRY(write_step(*container, kept, step));
      BENTO_TRY(write_step(*container, dataset, step));
      BENTO_TRY(container->exchange());
      BENTO_ASSIGN(const auto values, read_all(*container, dataset));
      BENTO_TRY(check(values == whole_values(step), "exchanged values"));
      BENTO_ASSIGN(const auto others, read_all(*container, kept));
      BENTO_TRY(check(step == 1 || others == whole_values(step / 2 * 2), "of the other dataset"));
    }
    BENTO_TRY(container->commit());
    BENTO_ASSIGN(const auto values, read_all(*container, dataset));
    BENTO_TRY(check(values == whole_values(4), "committed values"));
    return container->close();
  });
}

TEST_CASE("container: sessions with fewer and with more writers go on where the last one ended",
          "[core][container]") {
  const MemoryFileSystem disk;
  const ContainerOptions options = small_options(disk.opener());
  all_succeed(2, [&](Communicator& comm) { return write_session(comm, options, 1); });
  std::uint64_t step = 1;
  for (const int writers : {5, 3, 1, 6}) {
    ++step;
    all_succeed(writers, [&](Communicator& comm) -> Status {
      BENTO_ASSIGN(auto container, Container::open("box", true, options, share(comm)));
      BENTO_TRY(write_step(*container, 0, step));
      return container->close();
    });
    all_succeed(2, [&](Communicator& comm) { return read_session(comm, options, step); });
    const auto reader = SionReader::open(disk.opener(), "box");
    INFO((reader ? std::string() : reader.error().text));
    REQUIRE(reader);
  }
}

TEST_CASE("container: data written before the layout is fixed stays bounded and right",
          "[core][container]") {
  const MemoryFileSystem disk;
  all_succeed(1, [&](Communicator& comm) -> Status {
    ContainerOptions options = small_options(disk.opener());
    options.chunk_bytes = 0;
    options.stream.buffer_bytes = 64u << 10;
    BENTO_ASSIGN(auto container, Container::create("box", false, options, share(comm)));
    const DatasetNumber dataset = container->declare({}, 8, 2, 0);
    std::vector<std::uint64_t> wanted(kRows * kColumns, 0);
    // Far more bytes than the buffer takes, in boxes that overlap in part.
    for (std::uint64_t i = 0; i < 5000; ++i) {
      const Box box{Dims{i % 7, i % 5}, Dims{1 + i % 5, 1 + i % 4}};
      const auto values = band_values(box, i);
      BENTO_TRY(container->write(dataset, box, 8, bytes_of(values)));
      copy_box(box, box, bytes_of(values).data(), Box::whole(Dims{kRows, kColumns}),
               reinterpret_cast<std::byte*>(wanted.data()), 8);
    }
    BENTO_ASSIGN(const auto before, read_all(*container, dataset));
    BENTO_TRY(check(before == wanted, "before the commit"));
    BENTO_TRY(container->close());
    BENTO_ASSIGN(auto again, Container::open("box", false, options, share(comm)));
    BENTO_ASSIGN(const auto after, read_all(*again, dataset));
    return check(after == wanted, "after the close");
  });
}

TEST_CASE("container: readers go on to the newest step together", "[core][container]") {
  const MemoryFileSystem disk;
  const ContainerOptions options = small_options(disk.opener());
  auto writer = Container::create("box", false, options, make_self_communicator());
  REQUIRE(writer);
  Container& out = **writer;
  const DatasetNumber dataset = out.declare({}, 8, 2, 0);
  REQUIRE(write_step(out, dataset, 1));
  REQUIRE(out.commit());
  const auto written = [&](std::uint64_t step) -> Status {
    BENTO_TRY(write_step(out, dataset, step));
    if (step == 3) {
      (void)out.declare({std::byte{1}}, 4, 1, 0);
      out.remove(dataset);
    }
    return out.commit();
  };
  all_succeed(3, [&](Communicator& comm) -> Status {
    BENTO_ASSIGN(auto container, Container::open("box", false, options, share(comm)));
    BENTO_ASSIGN(bool newer, container->refresh());
    BENTO_TRY(check(!newer, "nothing newer yet"));
    for (std::uint64_t step = 1; step <= 2; ++step) {
      BENTO_TRY(check(skeleton_is(*container, step), "skeleton"));
      BENTO_ASSIGN(const auto values, read_all(*container, dataset));
      BENTO_TRY(check(values == whole_values(step), "values"));
      BENTO_ASSIGN(const bool same, container->confirm_read());
      BENTO_TRY(check(same && container->step().number() == step, "step"));
      BENTO_TRY(comm.gather({}));
      if (comm.rank() == 0) BENTO_TRY(written(step + 1));
      BENTO_TRY(comm.broadcast({}));
      BENTO_ASSIGN(newer, container->refresh());
      BENTO_TRY(check(newer, "a newer step"));
    }
    BENTO_TRY(check(container->dataset(dataset) == nullptr && container->datasets().size() == 1,
                    "the first dataset is deleted, another one there"));
    return container->close();
  });
  REQUIRE(out.close());
}

TEST_CASE("container: overlaps that no collective call orders are counted", "[core][container]") {
  const MemoryFileSystem disk;
  const ContainerOptions options = small_options(disk.opener());
  all_succeed(3, [&](Communicator& comm) -> Status {
    BENTO_ASSIGN(auto container, Container::create("box", false, options, share(comm)));
    const DatasetNumber clean = container->declare({}, 8, 2, 0);
    const DatasetNumber torn = container->declare({std::byte{1}}, 8, 2, 0);
    const Box whole = Box::whole(Dims{kRows, kColumns});
    for (std::uint64_t step = 1; step <= 3; ++step) {
      BENTO_TRY(write_step(*container, clean, step));
      // In step 2 every rank writes everything; in step 3 one after the other.
      if (step == 2) BENTO_TRY(container->write(torn, whole, 8, bytes_of(whole_values(step))));
      for (int turn = 0; step == 3 && turn < comm.size(); ++turn) {
        container->note_collective("turn", {});
        if (turn == comm.rank())
          BENTO_TRY(container->write(torn, whole, 8, bytes_of(whole_values(step))));
      }
      BENTO_TRY(container->commit());
      const std::uint64_t wanted = comm.rank() == 0 && step >= 2 ? 1 : 0;
      BENTO_TRY(check(container->unordered_overlaps() == wanted, "number of overlaps"));
    }
    return container->close();
  });
}

TEST_CASE("container: a shrunken extent reads as unwritten after it grows again",
          "[core][container]") {
  const MemoryFileSystem disk;
  all_succeed(2, [&](Communicator& comm) -> Status {
    const ContainerOptions options = small_options(disk.opener());
    BENTO_ASSIGN(auto container, Container::create("box", false, options, share(comm)));
    const DatasetNumber dataset = container->declare({}, 8, 2, 0);
    BENTO_TRY(write_step(*container, dataset, 1));
    container->note_collective("set_extent", {});
    BENTO_TRY(container->set_extent(dataset, Dims{3, 4}));
    BENTO_TRY(container->close());
    BENTO_ASSIGN(auto again, Container::open("box", false, options, share(comm)));
    BENTO_ASSIGN(const auto values, read_all(*again, dataset));
    std::vector<std::uint64_t> wanted(kRows * kColumns, 0);
    for (std::uint64_t row = 0; row < 3; ++row)
      for (std::uint64_t column = 0; column < 4; ++column)
        wanted[row * kColumns + column] = value_at(row, column, 1);
    return check(values == wanted, "values");
  });
}

TEST_CASE("container: ranks that make different collective calls are found at the commit",
          "[core][container]") {
  const MemoryFileSystem disk;
  const auto statuses = run_ranks(3, [&](Communicator& comm) -> Status {
    BENTO_ASSIGN(auto container,
                 Container::create("box", false, small_options(disk.opener()), share(comm)));
    container->note_collective("group_create", comm.rank() == 2 ? "b" : "a");
    return container->commit();
  });
  for (const auto& status : statuses) {
    REQUIRE_FALSE(status);
    REQUIRE(status.error().text.find("rank 2") != std::string::npos);
  }
}

TEST_CASE("container: a full disk is the same error on every rank, and later commits succeed",
          "[core][container]") {
  const MemoryFileSystem disk;
  all_succeed(
      3, [&](Communicator& comm) { return write_session(comm, small_options(disk.opener()), 1); });
  const FaultFileSystem faulty(disk.opener());
  std::vector<Status> first_commits(3);
  const auto statuses = run_ranks(3, [&](Communicator& comm) -> Status {
    const auto rank = static_cast<std::size_t>(comm.rank());
    const ContainerOptions options =
        small_options(comm.rank() == 1 ? faulty.opener() : disk.opener());
    BENTO_ASSIGN(auto container, Container::open("box", true, options, share(comm)));
    if (comm.rank() == 1)
      faulty.add({.on = FaultOn::kWrite, .nth = 1, .forever = true, .os_errno = ENOSPC});
    (void)write_step(*container, 0, 2);
    first_commits[rank] = container->commit();
    if (comm.rank() == 1) faulty.clear_rules();
    BENTO_TRY(write_step(*container, 0, 3));
    return container->close();
  });
  for (const auto& status : first_commits) {
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Code::kNoSpace);
    CHECK(status.error().os_errno == ENOSPC);
    CHECK(status.error().text.find("rank 1") != std::string::npos);
    CHECK(status.error().text.find("box") != std::string::npos);
  }
  for (const auto& status : statuses) {
    INFO((status ? std::string() : status.error().text));
    REQUIRE(status);
  }
  all_succeed(1, [&](Communicator& comm) -> Status {
    BENTO_ASSIGN(auto container,
                 Container::open("box", false, small_options(disk.opener()), share(comm)));
    BENTO_ASSIGN(const auto values, read_all(*container, 0));
    return check(values == whole_values(3), "values");
  });
}

}  // namespace
}  // namespace bento
