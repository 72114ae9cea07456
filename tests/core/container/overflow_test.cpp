// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Sessions whose physical files reach their size limit go on in new ones: what is read afterwards,
/// the SION view, the streams, later sessions of more and fewer ranks, crashes.
#include "core/layout/overflow.hpp"

#include <cerrno>
#include <map>

#include <catch2/catch_test_macros.hpp>

#include "core/offline/offline.hpp"
#include "core/sion/reader.hpp"
#include "tests/core/container/liveness_support.hpp"
#include "tests/support/fault_file.hpp"

namespace bento {
namespace {

using namespace test;

constexpr std::uint64_t kChunk = 16u << 10;
constexpr std::uint64_t kColumnsOfRow = 4500;  ///< 36000 bytes: three chunks for one rank
constexpr std::uint64_t kRowsOfSet = 40;

/// This rank's part of a row.
Box part_of(Communicator& comm, std::uint64_t row) {
  const auto ranks = static_cast<std::uint64_t>(comm.size());
  const std::uint64_t each = kColumnsOfRow / ranks;
  return {Dims{row, static_cast<std::uint64_t>(comm.rank()) * each}, Dims{1, each}};
}

/// What the rows hold: the generation they were written with; 0 for none.
using Rows = std::map<std::uint64_t, std::uint64_t>;

/// Rows, each with its generation, and a commit behind each.
StreamSessions::Body rows_written(std::vector<std::pair<std::uint64_t, std::uint64_t>> rows,
                                  bool first, bool commit_last = true) {
  return [=](Container& container) -> Status {
    if (first) {
      container.note_collective("declare", {});
      (void)container.declare({}, 8, 2, 0);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      container.note_collective("row", {});
      BENTO_TRY(write_box(container, 0, part_of(container.comm(), rows[i].first), rows[i].second));
      if (commit_last || i + 1 < rows.size()) BENTO_TRY(container.commit());
    }
    return {};
  };
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> range(std::uint64_t first, std::uint64_t end,
                                                           std::uint64_t generation) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> rows;
  for (std::uint64_t row = first; row < end; ++row) rows.emplace_back(row, generation);
  return rows;
}

/// Fails unless the rows, and no others, hold their generation.
void require_rows(const MemoryFileSystem& disk, const Rows& rows) {
  ContainerOptions options = small_options(disk.opener());
  auto box = Container::open("box", false, options, make_self_communicator());
  if (!box) FAIL(box.error().text);
  for (std::uint64_t row = 0; row < kRowsOfSet; ++row) {
    INFO("row " << row);
    const Box all{Dims{row, 0}, Dims{1, kColumnsOfRow}};
    std::vector<std::uint64_t> values(kColumnsOfRow, 0);
    const auto lookup = (*box)->find(0, all);
    REQUIRE(lookup);
    for (const auto& piece : lookup->pieces)
      REQUIRE((*box)->read(lookup->records[piece.record], piece.part, 8, all,
                           reinterpret_cast<std::byte*>(values.data())));
    const auto wanted = rows.find(row);
    if (wanted == rows.end())
      REQUIRE(lookup->pieces.empty());
    else
      REQUIRE(values == band_values(all, wanted->second));
  }
}

/// What a SION reader must find in a closed container: all tasks, equal block counts, and streams
/// as long as the stream table says, in every physical file that any root names.
void require_sion(const MemoryFileSystem& disk) {
  auto box = OfflineContainer::open("box", disk.opener());
  if (!box) FAIL(box.error().text);
  const ContainerPlan& plan = (*box)->plan();
  REQUIRE((*box)->closed());
  auto reader = SionReader::open(disk.opener(), "box");
  if (!reader) FAIL(reader.error().text);
  REQUIRE(reader->tasks() == plan.globals());
  for (std::uint32_t task = 0; task < plan.globals(); ++task) {
    REQUIRE(reader->global_rank(task) == static_cast<std::int64_t>(task));
    REQUIRE(reader->blocks(task) == reader->file(reader->mapping()[task].file).meta1.max_blocks);
  }
  for (std::uint32_t writer = 0; writer < plan.writers(); ++writer) {
    const FilePlan& part = plan.file(plan.file_of(writer));
    const std::uint32_t task = part.first_global + plan.local_task(writer);
    REQUIRE(reader->stream_bytes(task) == stream_bytes((*box)->fill(writer)));
    REQUIRE(stream_bytes((*box)->fill(writer)) >= fti::v11::kFileBlockBytes);
  }
}

std::size_t groups_of(const MemoryFileSystem& disk) {
  return probe(*disk.open("box", OpenMode::kRead).value())->root.groups.size();
}

/// No writer has a block that ends beyond the limit.
void require_within(const MemoryFileSystem& disk, std::uint64_t limit) {
  auto box = OfflineContainer::open("box", disk.opener());
  REQUIRE(box);
  for (std::uint32_t writer = 0; writer < (*box)->plan().writers(); ++writer) {
    const ContainerPlan& plan = (*box)->plan();
    INFO("writer " << writer);
    REQUIRE((*box)->fill(writer).size() <= plan.file(plan.file_of(writer)).blocks_within(limit));
  }
}

class Sessions : public StreamSessions {
 public:
  Sessions(std::uint64_t limit, std::uint32_t files, fti::HashKind hash = fti::HashKind::kXxh3)
      : StreamSessions(hash, files) {
    options().chunk_bytes = kChunk;
    options().logical_limit = limit;
  }
  void require_whole(const Rows& rows) const {
    require_rows(disk(), rows);
    (void)sound();
    require_sion(disk());
    require_within(disk(), const_cast<Sessions*>(this)->options().logical_limit);
  }
};

Rows rows_of(std::uint64_t first, std::uint64_t end, std::uint64_t generation, Rows rows = {}) {
  for (std::uint64_t row = first; row < end; ++row) rows[row] = generation;
  return rows;
}

TEST_CASE("overflow: writers of ranks", "[core][container][overflow]") {
  const std::vector<FileGroup> groups = {
      {3, 1, kChunk, 0}, {2, 1, kChunk, 3}, {4, 2, kChunk, 0}, {1, 1, kChunk, 0}};
  const auto plan = ContainerPlan::of(groups, 4096).value();
  CHECK(plan.ranks() == 5);
  CHECK(plan.writers() == 10);
  const std::vector<std::uint32_t> wanted = {9, 6, 7, 8, 4};
  for (std::uint32_t rank = 0; rank < 5; ++rank) CHECK(plan.writer_of_rank(rank) == wanted[rank]);
  const std::vector<std::uint32_t> ranks = {0, 1, 2, 3, 4, 0, 1, 2, 3, 0};
  for (std::uint32_t writer = 0; writer < 10; ++writer)
    CHECK(plan.rank_of_writer(writer) == ranks[writer]);
  const std::vector<FileGroup> hole = {{3, 1, kChunk, 0}, {2, 1, kChunk, 4}};
  CHECK_FALSE(ContainerPlan::of(hole, 4096));
}

TEST_CASE("overflow: a root holds as many groups as a plan", "[core][container][overflow]") {
  Root root;
  root.fs_block = 4096;
  for (std::uint32_t i = 0; i < kMaxGroups; ++i)
    root.groups.push_back({2, 1, kChunk, i % 3 == 0 ? 0u : 1u});
  const auto back = decode_root(encode_root(root));
  REQUIRE(back);
  CHECK(back->groups == root.groups);
}

TEST_CASE("overflow: it is decided an epoch ahead, and only if it helps",
          "[core][container][overflow]") {
  const FileGroup group{2, 1, kChunk, 0};
  const auto plan = ContainerPlan::of({&group, 1}, 4096).value();
  const std::uint64_t limit = plan.file(0).data_start() + 10 * plan.file(0).block_bytes();
  const auto fills = [](std::size_t first, std::size_t second) {
    return std::vector<ChunkFill>{ChunkFill(first, kChunk), ChunkFill(second, kChunk)};
  };
  CHECK_FALSE(overflow_at_commit(plan, 2, fills(7, 8), fills(7, 8), limit));
  CHECK(overflow_at_commit(plan, 2, fills(7, 8), fills(7, 9), limit));
  CHECK_FALSE(overflow_at_commit(plan, 1, fills(7, 8), fills(7, 9), limit));  // not its rank
  CHECK_FALSE(overflow_at_commit(plan, 2, fills(3, 1), fills(6, 1), limit));
  CHECK(overflow_at_commit(plan, 2, fills(3, 1), fills(7, 1), limit));
  // An epoch as large as a file: a new one each time, but not for one that was just begun.
  CHECK(overflow_at_commit(plan, 2, {}, fills(10, 1), limit));
  CHECK_FALSE(overflow_at_commit(plan, 2, {}, fills(1, 1), plan.file(0).data_start()));
  CHECK(overflow_at_open(plan, 2, fills(8, 8), 3, limit));
  CHECK_FALSE(overflow_at_open(plan, 2, fills(8, 8), 8, limit));
}

TEST_CASE("overflow: a session of one rank goes on in several files",
          "[core][container][overflow]") {
  for (const auto hash : {fti::HashKind::kXxh3, fti::HashKind::kMd5}) {
    Sessions box(600u << 10, 1, hash);  // 18 blocks
    box.create(1, rows_written(range(0, 4, 1), true));
    CHECK(groups_of(box.disk()) == 1);
    box.require_whole(rows_of(0, 4, 1));

    Sessions more(600u << 10, 1, hash);
    more.create(1, rows_written(range(0, 14, 1), true));
    CHECK(groups_of(more.disk()) >= 3);
    more.require_whole(rows_of(0, 14, 1));
  }
}

TEST_CASE("overflow: three ranks, in one file and in two", "[core][container][overflow]") {
  for (const std::uint32_t files : {1u, 2u}) {
    INFO(files << " files");
    Sessions box(400u << 10, files);
    box.create(3, rows_written(range(0, 14, 1), true));
    CHECK(groups_of(box.disk()) >= 3);
    box.require_whole(rows_of(0, 14, 1));
    // The records of the newest step die in files of several groups.
    box.reopen(3, rows_written(range(0, 14, 2), false));
    box.require_whole(rows_of(0, 14, 2));
  }
}

TEST_CASE("overflow: blocks are used again on both sides of it", "[core][container][overflow]") {
  Sessions box(400u << 10, 1);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> rows;
  for (std::uint64_t i = 0; i < 40; ++i) rows.emplace_back(i % 3 == 0 ? i / 3 : 20, i + 1);
  box.create(3, rows_written(rows, true, false));
  CHECK(groups_of(box.disk()) >= 2);
  Rows wanted;
  for (const auto& [row, generation] : rows) wanted[row] = generation;
  box.require_whole(wanted);
}

TEST_CASE("overflow: later sessions with fewer and with more ranks",
          "[core][container][overflow]") {
  Sessions box(400u << 10, 2);
  box.create(3, rows_written(range(0, 8, 1), true));
  const std::size_t groups = groups_of(box.disk());
  CHECK(groups >= 2);
  box.reopen(1, rows_written(range(4, 12, 2), false));
  box.require_whole(rows_of(4, 12, 2, rows_of(0, 8, 1)));
  box.reopen(5, rows_written(range(10, 20, 3), false));
  box.require_whole(rows_of(10, 20, 3, rows_of(4, 12, 2, rows_of(0, 8, 1))));
  box.killed(2, rows_written(range(18, 24, 4), false));
  Rows wanted = rows_of(18, 24, 4, rows_of(10, 20, 3, rows_of(4, 12, 2, rows_of(0, 8, 1))));
  require_rows(box.disk(), wanted);
  box.reopen(4, rows_written(range(2, 3, 5), false));
  wanted[2] = 5;
  box.require_whole(wanted);
  CHECK(groups_of(box.disk()) > groups + 1);
}

TEST_CASE("overflow: at an open, if the files are nearly full", "[core][container][overflow]") {
  Sessions box(400u << 10, 1);
  box.create(1, rows_written(range(0, 3, 1), true, false));
  CHECK(groups_of(box.disk()) == 1);
  box.reopen(1, rows_written(range(3, 4, 2), false, false));
  CHECK(groups_of(box.disk()) == 2);
  box.require_whole(rows_of(3, 4, 2, rows_of(0, 3, 1)));
}

TEST_CASE("overflow: ranks that write nothing", "[core][container][overflow]") {
  Sessions box(400u << 10, 1);
  box.create(3, [](Container& container) -> Status {
    container.note_collective("declare", {});
    (void)container.declare({}, 8, 2, 0);
    for (std::uint64_t row = 0; row < 14; ++row) {
      container.note_collective("row", {});
      // Rank 1 never, rank 2 only late.
      if (container.comm().rank() == 0 || (container.comm().rank() == 2 && row > 10))
        BENTO_TRY(write_box(container, 0, part_of(container.comm(), row), 1));
      BENTO_TRY(container.commit());
    }
    return {};
  });
  CHECK(groups_of(box.disk()) >= 2);
  (void)box.sound();
  require_sion(box.disk());
}

TEST_CASE("overflow: beyond the limit between two commits a write fails, after them it goes on",
          "[core][container][overflow]") {
  Sessions box(400u << 10, 1);
  Rows wanted;
  box.create(1, [&](Container& container) -> Status {
    container.note_collective("declare", {});
    (void)container.declare({}, 8, 2, 0);
    // Larger than the buffer, so that it cannot wait for the commit there.
    const std::uint64_t each = 9000;
    const auto write_row = [&](std::uint64_t row) {
      return write_box(container, 1, {Dims{row, 0}, Dims{1, each}}, 1);
    };
    (void)container.declare({}, 8, 2, 0);
    container.declared(1u << 20);
    BENTO_TRY(container.commit());
    Status full;
    std::uint64_t row = 0;
    while (full && row < 100) full = write_row(row++);
    REQUIRE_FALSE(full);
    CHECK(full.error().os_errno == EFBIG);
    CHECK(full.error().code == Code::kNoSpace);
    CHECK(full.error().text.find("chunk=") != std::string::npos);
    const auto told = container.commit();
    REQUIRE_FALSE(told);
    CHECK(told.error().os_errno == EFBIG);
    // Small data waits in the buffer; a commit must not fail for want of a block.
    BENTO_TRY(write_box(container, 0, part_of(container.comm(), 7), 1));
    BENTO_TRY(container.commit());
    CHECK(container.plan().groups().size() == 2);
    BENTO_TRY(write_row(50));
    BENTO_TRY(write_row(51));
    return container.commit();
  });
  require_rows(box.disk(), rows_of(7, 8, 1));
  (void)box.sound();
  require_sion(box.disk());
}

TEST_CASE("overflow: that there can be no further file does not fail the commit",
          "[core][container][overflow]") {
  Sessions box(400u << 10, 1);
  // Something that is not ours has the name.
  box.disk().put("box.000001", std::vector<std::byte>(100, std::byte{'x'}));
  std::vector<std::string> notes;
  box.create(1, [&](Container& container) -> Status {
    BENTO_TRY(rows_written(range(0, 3, 1), true)(container));
    notes = container.notes();
    return {};
  });
  CHECK(groups_of(box.disk()) == 1);
  REQUIRE_FALSE(notes.empty());
  CHECK(notes[0].find("box.000001") != std::string::npos);
  require_rows(box.disk(), rows_of(0, 3, 1));
}

TEST_CASE("overflow: the catalogue says that it cannot go on", "[core][container][overflow]") {
  Sessions box(400u << 10, 1);
  box.create(1, [&](Container& container) -> Status {
    container.note_collective("skeleton", {});
    BENTO_TRY(container.commit());
    container.skeleton().write(0, std::vector<std::byte>(500u << 10, std::byte{1}));
    const auto failed = container.commit();
    REQUIRE_FALSE(failed);
    CHECK(failed.error().os_errno == EFBIG);
    CHECK(failed.error().text.find("metadata and index") != std::string::npos);
    CHECK(failed.error().text.find("chunk=") != std::string::npos);
    container.skeleton() = PagedImage();
    return {};
  });
}

MemoryFileSystem copy_of(const MemoryFileSystem& disk) {
  MemoryFileSystem copy;
  for (const auto& name : disk.names()) copy.put(name, disk.content(name));
  return copy;
}

/// One session that writes rows with a commit behind each; how many commits returned.
Status session_of(const FileOpener& opener, int ranks, bool create, std::uint64_t first,
                  std::uint64_t rows, std::uint64_t& committed) {
  ContainerOptions options = small_options(opener);
  options.chunk_bytes = kChunk;
  options.logical_limit = 400u << 10;
  for (const auto& status : run_ranks(ranks, [&](Communicator& comm) -> Status {
         const std::shared_ptr<Communicator> shared(&comm, [](Communicator*) {});
         BENTO_ASSIGN(auto box, create ? Container::create("box", false, options, shared)
                                       : Container::open("box", true, options, shared));
         for (std::uint64_t row = first; row < first + rows; ++row) {
           BENTO_TRY(rows_written({{row, 1}}, create && row == first)(*box));
           if (comm.rank() == 0) committed = row + 1;
         }
         return box->close();
       }))
    BENTO_TRY(status);
  return {};
}

void die_everywhere(const MemoryFileSystem& start, int ranks, bool create, std::uint64_t first,
                    std::uint64_t rows) {
  const MemoryFileSystem whole = copy_of(start);
  const FaultFileSystem counter(whole.opener());
  std::uint64_t committed = 0;
  REQUIRE(session_of(counter.opener(), ranks, create, first, rows, committed));
  REQUIRE(groups_of(whole) >= 2);
  const std::uint64_t changes = counter.counts().changes();
  std::size_t with_overflow = 0;
  for (std::uint64_t last = 1; last <= changes; ++last) {
    const MemoryFileSystem disk = copy_of(start);
    const FaultFileSystem faulty(disk.opener());
    const std::uint64_t torn = last % 2 == 0 ? 100 : FaultRule::kWhole;
    faulty.add({.on = FaultOn::kChange, .nth = last, .die = true, .torn_at = torn});
    committed = first;
    (void)session_of(faulty.opener(), ranks, create, first, rows, committed);
    INFO("died at change " << last << " of " << changes << ", rows known: " << committed);
    if (committed == 0) continue;  // there may be no container
    const auto left = probe(*disk.open("box", OpenMode::kRead).value());
    REQUIRE(left);
    if (left->root.groups.size() > 1) ++with_overflow;
    // The commit under way may have become the newest root.
    const std::uint64_t step = left->root.step;
    REQUIRE(step >= committed);
    REQUIRE(step <= committed + 1);
    require_rows(disk, rows_of(0, step, 1));
    // And the container goes on.
    REQUIRE(session_of(disk.opener(), ranks, false, step, 2, committed));
    require_rows(disk, rows_of(0, step + 2, 1));
    const auto verdict = verify_streams("box", disk.opener());
    REQUIRE(verdict);
    for (const auto& wrong : verdict->findings) INFO(wrong.finding.text);
    REQUIRE(verdict->findings.empty());
    require_sion(disk);
  }
  CHECK(with_overflow > 0);
  CHECK(with_overflow < changes);
}

TEST_CASE("overflow crash: a session that creates", "[core][container][overflow]") {
  die_everywhere({}, 1, true, 0, 5);
}

TEST_CASE("overflow crash: a later session of two ranks", "[core][container][overflow]") {
  const MemoryFileSystem disk;
  std::uint64_t committed = 0;
  REQUIRE(session_of(disk.opener(), 2, true, 0, 2, committed));
  die_everywhere(disk, 2, false, 2, 4);
}

}  // namespace
}  // namespace bento
