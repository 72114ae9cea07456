// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// What the streams of a closed container say of their records: which are dead, where the live ones
// lie in their dataset, and with which hash.
#include "core/fti/md5.hpp"
#include "tests/core/container/liveness_support.hpp"
#include "tests/support/fault_file.hpp"

namespace bento {
namespace {

using namespace test;
using fti::HashKind;

const Box kAll = Box::whole(Dims{kRows, kColumns});

/// `ranks` ranks declare dataset 0 and write their rows, and commit.
StreamSessions::Body first_step(std::uint64_t steps = 1) {
  return [steps](Container& container) -> Status {
    const DatasetNumber dataset = container.declare({}, 8, 2, 0);
    for (std::uint64_t step = 1; step <= steps; ++step) {
      BENTO_TRY(write_step(container, dataset, step));
      BENTO_TRY(container.commit());
    }
    return {};
  };
}

StreamSessions::Body step_of(std::uint64_t step) {
  return [step](Container& container) { return write_step(container, 0, step); };
}

}  // namespace

TEST_CASE("liveness: a file written once has live records only, with each hash",
          "[core][container]") {
  for (const auto hash : {HashKind::kXxh3, HashKind::kMd5, HashKind::kNone}) {
    StreamSessions box(hash);
    box.create(3, first_step());
    CHECK(box.sound().records == 3);
    CHECK(box.stream(1).hash_kind == hash);
    CHECK(box.stream(1).fti_accepts() == (hash == HashKind::kMd5));
    CHECK(box.containers(1, 0) == "0+320");
  }
}

TEST_CASE("liveness: what the same rank wrote over is dead", "[core][container]") {
  for (const auto hash : {HashKind::kXxh3, HashKind::kMd5, HashKind::kNone}) {
    StreamSessions box(hash);
    box.create(2, first_step(3));
    box.sound();
    // The third step has taken the place of the first.
    CHECK(box.containers(0, 0) == "0+480 -");
    CHECK(box.containers(1, 0) == "0+480 -");
    const auto verdict = box.stream(0);
    const auto& dead =
        verdict.checkpoint.blocks.at(hash == HashKind::kMd5 ? 2 : 1).containers.at(0);
    CHECK(dead.chunksize == 0);
    CHECK(dead.containersize == 480);
    CHECK(dead.hash == fti::empty_chunk_hash(hash));
    CHECK(verdict.fti_accepts() == (hash == HashKind::kMd5));
  }
}

TEST_CASE("liveness: what another rank wrote over is dead, what is left in part is not",
          "[core][container]") {
  StreamSessions box;
  box.create(2, [](Container& container) -> Status {
    const DatasetNumber dataset = container.declare({}, 8, 2, 0);
    const bool second = container.comm().rank() == 1;
    if (!second) {
      BENTO_TRY(write_box(container, dataset, {Dims{0, 0}, Dims{2, 10}}, 1));
      BENTO_TRY(write_box(container, dataset, {Dims{6, 0}, Dims{3, 10}}, 1));
      BENTO_TRY(write_box(container, dataset, {Dims{9, 0}, Dims{1, 5}}, 1));
    }
    BENTO_TRY(container.commit());
    container.note_collective("between", {});
    // Covers the first record, half of the second, nothing of the third.
    if (second) {
      BENTO_TRY(write_box(container, dataset, {Dims{0, 0}, Dims{3, 10}}, 2));
      BENTO_TRY(write_box(container, dataset, {Dims{7, 2}, Dims{2, 8}}, 2));
    }
    return {};
  });
  box.sound();
  CHECK(box.containers(0, 0) == "- 0+240 240+40");
  CHECK(box.containers(1, 0) == "0+240 240+128");
}

TEST_CASE("liveness: several records together may cover one", "[core][container]") {
  StreamSessions box;
  box.create(1, [](Container& container) -> Status {
    const DatasetNumber dataset = container.declare({}, 8, 2, 0);
    BENTO_TRY(write_box(container, dataset, kAll, 1));
    BENTO_TRY(container.commit());
    container.note_collective("between", {});
    BENTO_TRY(write_box(container, dataset, {Dims{0, 0}, Dims{7, 10}}, 2));
    BENTO_TRY(write_box(container, dataset, {Dims{5, 0}, Dims{7, 6}}, 3));
    BENTO_TRY(container.commit());
    BENTO_TRY(write_box(container, dataset, {Dims{7, 6}, Dims{5, 3}}, 3));
    return write_box(container, dataset, {Dims{7, 9}, Dims{5, 1}}, 3);
  });
  box.sound();
  CHECK(box.containers(0, 0) == "- 0+560 560+336 896+120 1016+40");
}

TEST_CASE("liveness: a deleted dataset is dead, whoever wrote it and when", "[core][container]") {
  StreamSessions box(HashKind::kMd5);
  box.create(3, [](Container& container) -> Status {
    for (int i = 0; i < 3; ++i) {
      const DatasetNumber dataset = container.declare({}, 8, 2, 0);
      BENTO_TRY(write_step(container, dataset, 1));
    }
    BENTO_TRY(container.commit());
    container.remove(1);
    return {};
  });
  box.sound();
  for (std::uint32_t writer = 0; writer < 3; ++writer) {
    CHECK(box.containers(writer, 0) == "0+320");
    CHECK(box.containers(writer, 1) == "-");
  }
  SECTION("in a later session with fewer ranks") {
    box.reopen(2, [](Container& container) -> Status {
      container.remove(2);
      return {};
    });
    box.sound();
    for (std::uint32_t writer = 0; writer < 3; ++writer) {
      CHECK(box.containers(writer, 0) == "0+320");
      CHECK(box.containers(writer, 1) == "-");
      CHECK(box.containers(writer, 2) == "-");
    }
  }
  SECTION("before a commit, when its record is in the stream already") {
    box.reopen(3, [](Container& container) -> Status {
      const DatasetNumber dataset = container.declare({}, 8, 2, 0);
      const Box wide{Dims{0, 0}, Dims{100, 100}};  // 80,000 bytes: to the file at once, in parts
      BENTO_TRY(write_box(container, dataset, wide, 1));
      container.remove(dataset);
      return write_step(container, 0, 2);
    });
    box.sound();
    CHECK(box.containers(2, 3).find('+') == std::string::npos);
    CHECK(!box.containers(2, 3).empty());
    CHECK(box.containers(2, 0) == "- 0+320");
  }
}

TEST_CASE("liveness: what a change of extent cut off is dead, also after growing again",
          "[core][container]") {
  StreamSessions box;
  box.create(3, [](Container& container) -> Status {
    const DatasetNumber dataset = container.declare({}, 8, 2, 0);
    BENTO_TRY(write_step(container, dataset, 1));
    BENTO_TRY(container.commit());
    container.note_collective("set_extent", {});
    BENTO_TRY(container.set_extent(dataset, Dims{5, kColumns}));
    container.note_collective("set_extent", {});
    return container.set_extent(dataset, Dims{kRows, kColumns});
  });
  box.sound();
  CHECK(box.containers(0, 0) == "0+320");
  CHECK(box.containers(1, 0) == "0+320");
  CHECK(box.containers(2, 0) == "-");
}

TEST_CASE("liveness: a later session may do nothing but cut off", "[core][container]") {
  StreamSessions box;
  box.create(3, first_step());
  box.reopen(1, [](Container& container) -> Status {
    container.note_collective("set_extent", {});
    return container.set_extent(0, Dims{4, kColumns});
  });
  box.sound();
  CHECK(box.containers(0, 0) == "0+320");
  CHECK(box.containers(1, 0) == "-");
  CHECK(box.containers(2, 0) == "-");
}

TEST_CASE("liveness: later sessions with fewer and more ranks mark everybody's streams",
          "[core][container]") {
  for (const auto hash : {HashKind::kXxh3, HashKind::kMd5, HashKind::kNone})
    for (const std::uint32_t files : {1u, 2u}) {
      StreamSessions box(hash, files);
      box.create(4, first_step(2));
      box.sound();
      CHECK(box.containers(3, 0) == "- 0+240");
      box.reopen(2, step_of(3));
      box.sound();
      for (const std::uint32_t writer : {0u, 1u}) CHECK(box.containers(writer, 0) == "- - 0+480");
      for (const std::uint32_t writer : {2u, 3u}) CHECK(box.containers(writer, 0) == "- -");
      box.reopen(6, step_of(4));
      box.sound();
      // Where FTI does not read the stream, a smaller record goes into a dead container.
      const bool for_fti = hash == HashKind::kMd5;
      CHECK(box.containers(0, 0) == (for_fti ? "- - - 0+160" : "- 0+160 -"));
      CHECK(box.containers(3, 0) == (for_fti ? "- - 0+160" : "- 0+160"));
      CHECK(box.containers(5, 0) == "0+160");
      // The number of a container counts the dead too, its offset does not.
      const auto verdict = box.stream(3);
      CHECK(verdict.checkpoint.blocks.back().containers.back().containerid ==
            (hash == HashKind::kMd5 ? 3 : 1));
      CHECK(verdict.fti_accepts() == (hash == HashKind::kMd5));
    }
}

TEST_CASE("liveness: a session that only adds changes no other stream", "[core][container]") {
  StreamSessions box;
  box.create(3, first_step(2));
  const auto before = box.stream(2).checkpoint;
  box.reopen(1, [](Container& container) -> Status {
    const DatasetNumber dataset = container.declare({}, 8, 2, 0);
    return write_step(container, dataset, 1);
  });
  box.sound();
  CHECK(box.stream(2).checkpoint == before);  // FB with its time included
}

TEST_CASE("liveness: what a killed session left is marked by the next close", "[core][container]") {
  for (const auto hash : {HashKind::kXxh3, HashKind::kMd5}) {
    StreamSessions box(hash);
    box.create(3, first_step());
    box.killed(3, [](Container& container) -> Status {
      BENTO_TRY(write_step(container, 0, 2));
      BENTO_TRY(container.commit());
      const DatasetNumber dataset = container.declare({}, 8, 2, 0);
      BENTO_TRY(write_step(container, dataset, 1));
      BENTO_TRY(container.commit());
      container.remove(dataset);
      BENTO_TRY(container.commit());
      return write_step(container, 0, 3);  // lost
    });
    box.sound();  // as far as an unfinished container is judged
    CHECK(box.containers(2, 0) == "0+320 320+320");
    box.reopen(2, [](Container&) -> Status { return {}; });
    box.sound();
    for (const std::uint32_t writer : {0u, 1u, 2u}) {
      CHECK(box.containers(writer, 0) == "- 0+320");
      CHECK(box.containers(writer, 1) == "-");
      CHECK(box.stream(writer).hash_kind == hash);
    }
  }
}

TEST_CASE("liveness: a container keeps its hash; sessions without one leave records bare",
          "[core][container]") {
  for (const auto first : {HashKind::kXxh3, HashKind::kMd5}) {
    StreamSessions box(first);
    box.create(2, first_step());
    box.options().stream.hash = first == HashKind::kMd5 ? HashKind::kXxh3 : HashKind::kMd5;
    box.reopen(2, [](Container& container) -> Status {
      return write_step(container, container.declare({}, 8, 2, 0), 1);
    });
    CHECK(box.sound().unhashed == 0);
    CHECK(box.stream(1).hash_kind == first);
    box.options().stream.hash = HashKind::kNone;
    box.reopen(2, [](Container& container) -> Status {
      return write_step(container, container.declare({}, 8, 2, 0), 1);
    });
    CHECK(box.sound().unhashed == 2);
    CHECK(box.stream(1).hash_kind == first);
    CHECK_FALSE(box.stream(1).fti_accepts());
    box.reopen(1, step_of(2));  // and dead ones among them
    box.sound();
    for (int ranks : {1, 3})
      for (const auto& status : run_ranks(ranks, [&](Communicator& comm) -> Status {
             BENTO_ASSIGN(auto container, Container::open("box", false, box.options(),
                                                          {&comm, [](Communicator*) {}}));
             for (DatasetNumber dataset = 0; dataset < 3; ++dataset) {
               BENTO_ASSIGN(const auto values, read_all(*container, dataset));
               if (values != whole_values(dataset == 0 ? 2 : 1))
                 return fail(Code::kInternal, "values");
             }
             return container->close();
           }))
        CHECK(status);
  }
  StreamSessions bare(HashKind::kNone);
  bare.create(2, first_step());
  bare.options().stream.hash = HashKind::kXxh3;
  bare.reopen(2, step_of(2));
  CHECK(bare.sound().unhashed == 0);
  CHECK(bare.containers(0, 0) == "- 0+480");
}

TEST_CASE("liveness: the plan takes no bytes where nothing died, and travels otherwise",
          "[core][container]") {
  StreamSessions box;
  TouchedDatasets touched;
  for (const DatasetNumber dataset : {0u, 1u}) touched.note(dataset);
  const auto plan_now = [&] {
    auto opened = OfflineContainer::open("box", box.disk().opener());
    REQUIRE(opened);
    auto file = box.disk().open("box", OpenMode::kRead).value();
    auto committed =
        CommittedIndex::open(*file, (*opened)->plan().file(0), (*opened)->root().index);
    REQUIRE(committed);
    const auto datasets = committed->steps().datasets();
    REQUIRE(datasets);
    return plan_liveness(*committed, *datasets, touched, 4);
  };
  box.create(4, [](Container& container) -> Status {
    for (int i = 0; i < 2; ++i) (void)container.declare({}, 8, 2, 0);
    BENTO_TRY(write_step(container, 0, 1));
    return write_step(container, 1, 1);
  });
  auto plan = plan_now();
  REQUIRE(plan);
  CHECK(plan->empty());
  CHECK(encode_liveness(*plan).empty());
  CHECK(decode_liveness({}, {})->empty());

  box.reopen(4, [](Container& container) -> Status {
    container.note_collective("again", {});
    if (container.comm().rank() != 1) return {};
    return write_box(container, 0, rows_of(1, 4), 2);
  });
  plan = plan_now();
  REQUIRE(plan);
  CHECK(plan->marked == std::set<DatasetNumber>{0});
  CHECK_FALSE(plan->older_kept);
  REQUIRE(plan->live.contains(1));
  REQUIRE(plan->live.at(1).size() == 1);
  CHECK(plan->live.at(0) != plan->live.at(1));

  touched.assume_all();
  plan = plan_now();
  REQUIRE(plan);
  const Bytes message = encode_liveness(*plan);
  const std::vector<std::uint32_t> everybody = {0, 1, 2, 3};
  const auto again = decode_liveness(message, everybody);
  REQUIRE(again);
  CHECK(again->all);
  CHECK(again->marked == plan->marked);
  CHECK(again->live == plan->live);
  CHECK(again->live.at(1).size() == 2);
  CHECK(again->live.at(3).size() == 2);
  for (std::size_t length = 1; length < message.size(); ++length)
    CHECK_FALSE(decode_liveness(std::span(message).first(length), everybody));
  // Each rank keeps its own.
  const std::vector<std::uint32_t> one = {1};
  const auto mine = decode_liveness(message, one);
  REQUIRE(mine);
  REQUIRE(mine->live.size() == 1);
  CHECK(mine->live.at(1) == plan->live.at(1));
}

TEST_CASE("liveness: a million writers that did the same cost a few bytes", "[core][container]") {
  LivenessPlan plan;
  plan.marked = {0};
  for (std::uint32_t writer = 0; writer < 1000; ++writer) plan.live[writer] = {4096, 8192};
  const Bytes same = encode_liveness(plan);
  CHECK(same.size() < 20);
  plan.live[500] = {4096};
  CHECK(encode_liveness(plan).size() < 40);
  const std::vector<std::uint32_t> some = {0, 499, 500, 501, 999, 1000};
  const auto decoded = decode_liveness(encode_liveness(plan), some);
  REQUIRE(decoded);
  CHECK(decoded->live.size() == 5);
  for (const auto& [writer, positions] : decoded->live) CHECK(positions == plan.live[writer]);
}

TEST_CASE("md5: records are verified with it on reading", "[core][container]") {
  StreamSessions box(HashKind::kMd5);
  box.create(1, first_step());
  const auto verdict = box.stream(0);
  const auto& record = verdict.checkpoint.blocks.at(1).containers.at(0);
  auto bytes = box.disk().content("box");
  auto opened = OfflineContainer::open("box", box.disk().opener());
  REQUIRE(opened);
  CHECK((*opened)->root().record_hash() == HashKind::kMd5);
  const Record indexed = (*opened)->index().record(0, 0);
  const std::uint64_t address = (*opened)->place(0)->address(indexed.where.offset);
  CHECK(indexed.hash == record.hash);
  CHECK(indexed.hash == fti::md5(std::span(bytes).subspan(static_cast<std::size_t>(address), 960)));

  bytes[static_cast<std::size_t>(address) + 13] ^= std::byte{2};
  box.disk().put("box", bytes);
  const auto damaged = verify_streams("box", box.disk().opener());
  REQUIRE(damaged);
  REQUIRE(damaged->count == 2);  // the record, and the file checksum over it
  CHECK(damaged->findings[0].writer == 0);
  CHECK(damaged->findings[0].file == "box");
  CHECK(damaged->findings[0].address == address);
  CHECK(damaged->findings[0].finding.offset == record.fptr);
  const auto comm = make_self_communicator();
  auto container = Container::open("box", false, box.options(), {comm.get(), [](Communicator*) {}});
  REQUIRE(container);
  const auto values = read_all(**container, 0);
  REQUIRE_FALSE(values);
  CHECK(values.error().code == Code::kCorrupt);
}

TEST_CASE("liveness: a write that failed half-way leaves no live container", "[core][container]") {
  // Every write of the session in turn fails once, with room again for the next attempt. Without
  // anything written over, nothing but the writer itself knows of it.
  for (const bool over : {true, false})
    for (std::uint64_t nth = 1; nth <= 12; ++nth) {
      INFO("write " << nth << " fails");
      StreamSessions box(nth % 2 == 0 ? HashKind::kXxh3 : HashKind::kMd5);
      const FaultFileSystem faulty(box.disk().opener());
      box.create(1, first_step());
      box.options().opener = faulty.opener();
      box.reopen(1, [&](Container& container) -> Status {
        container.note_collective("again", {});
        const DatasetNumber large = container.declare({}, 8, 2, 0);
        const DatasetNumber small = over ? 0 : container.declare({}, 8, 2, 0);
        const Box wide{Dims{0, 0}, Dims{300, 100}};  // 240,000 bytes: several chunks
        faulty.add({.on = FaultOn::kWrite, .nth = nth, .forever = false, .os_errno = ENOSPC});
        const auto written = write_box(container, large, wide, 1);
        if (over) (void)write_step(container, small, 2);
        (void)container.commit();
        faulty.clear_rules();
        if (over || !written) BENTO_TRY(write_box(container, large, wide, 2));
        BENTO_TRY(write_step(container, small, 3));
        return container.commit();
      });
      box.options().opener = box.disk().opener();
      box.sound();
    }
}

TEST_CASE("verify: a write that never reached the device is found, though hash and data agree",
          "[core][container]") {
  StreamSessions box;
  MemoryFileSystem older;
  box.create(2, [&](Container& container) -> Status {
    const DatasetNumber dataset = container.declare({}, 8, 2, 0);
    for (std::uint64_t step = 1; step <= 3; ++step) {
      // The third step is written where the first was.
      if (step == 3 && container.comm().rank() == 0) older.put("box", box.disk().content("box"));
      BENTO_TRY(container.exchange());
      BENTO_TRY(write_step(container, dataset, step));
      BENTO_TRY(container.commit());
    }
    return {};
  });
  CHECK(box.sound().records == 2);
  // Rank 1's block, header and data, as it was before.
  auto opened = OfflineContainer::open("box", box.disk().opener());
  REQUIRE(opened);
  std::optional<Record> record;
  for (std::size_t i = 0; i < 2; ++i)
    if (const Record each = (*opened)->index().record(0, i); each.where.task == 1) record = each;
  REQUIRE(record);
  const auto address =
      static_cast<std::ptrdiff_t>((*opened)->place(1)->address(record->where.offset));
  auto bytes = box.disk().content("box");
  const auto before = older.content("box");
  std::copy(before.begin() + address - record->header_distance,
            before.begin() + address + static_cast<std::ptrdiff_t>(record->stored_bytes),
            bytes.begin() + address - record->header_distance);
  box.disk().put("box", bytes);
  const auto verdict = verify_streams("box", box.disk().opener());
  REQUIRE(verdict);
  bool told = false;
  for (const auto& wrong : verdict->findings)
    told = told || wrong.finding.text.find("never reached the device") != std::string::npos;
  CHECK(told);
}

}  // namespace bento
