// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A container of many files that is brought into one, byte by byte: every kept step is what it
/// was, SION readers find the same streams, and sessions go on with more ranks and with fewer.
#include "core/offline/one_file_container.hpp"

#include <algorithm>
#include <map>

#include <catch2/catch_test_macros.hpp>

#include "core/offline/offline.hpp"
#include "core/offline/verify_container.hpp"
#include "core/sion/reader.hpp"
#include "tests/core/container/liveness_support.hpp"

namespace bento {
namespace {

using namespace test;

constexpr std::uint64_t kChunk = 64u << 10;
constexpr std::uint64_t kColumnsOfRow = 9000;  ///< 72000 bytes: more than a chunk

/// Each rank writes its part of these rows, and all commit behind each.
StreamSessions::Body rows_written(std::uint64_t first, std::uint64_t end, std::uint64_t generation,
                                  bool declare = false) {
  return [=](Container& container) -> Status {
    if (declare) {
      container.note_collective("declare", {});
      (void)container.declare({}, 8, 2, 0);
    }
    const auto ranks = static_cast<std::uint64_t>(container.comm().size());
    const auto rank = static_cast<std::uint64_t>(container.comm().rank());
    const std::uint64_t each = kColumnsOfRow / ranks;
    for (std::uint64_t row = first; row < end; ++row) {
      container.note_collective("row", {});
      container.skeleton().write(0, skeleton_bytes(generation * 100 + row));
      BENTO_TRY(write_box(container, 0, {Dims{row, rank * each}, Dims{1, each}}, generation));
      BENTO_TRY(container.commit());
    }
    return {};
  };
}

using Values = std::vector<std::uint64_t>;

/// What can be read, and the metadata, as of each kept step.
std::map<std::uint64_t, std::pair<Values, std::vector<std::byte>>> steps_of(
    const MemoryFileSystem& disk) {
  ContainerOptions options = small_options(disk.opener());
  auto newest = Container::open("box", false, options, make_self_communicator());
  if (!newest) FAIL(newest.error().text);
  std::map<std::uint64_t, std::pair<Values, std::vector<std::byte>>> all;
  constexpr std::uint64_t kRowsOfSet = 12;
  const Box whole = Box::whole(Dims{kRowsOfSet, kColumnsOfRow});
  for (auto step = (*newest)->oldest_step().number(); step <= (*newest)->step().number(); ++step) {
    options.step = AbsoluteStep(step);
    auto box = Container::open("box", false, options, make_self_communicator());
    if (!box) FAIL(box.error().text);
    Values values(kRowsOfSet * kColumnsOfRow, 0);
    const auto lookup = (*box)->find(0, whole);
    REQUIRE(lookup);
    for (const auto& piece : lookup->pieces)
      REQUIRE((*box)->read(lookup->records[piece.record], piece.part, 8, whole,
                           reinterpret_cast<std::byte*>(values.data())));
    const auto skeleton = (*box)->skeleton().bytes();
    all[step] = {std::move(values), {skeleton.begin(), skeleton.end()}};
  }
  return all;
}

Survey survey_of(const MemoryFileSystem& disk) {
  auto survey = Survey::open("box", disk.opener());
  if (!survey) FAIL(survey.error().text);
  return std::move(*survey);
}

void copy_part(const MemoryFileSystem& from, File& to, const StreamPart& part) {
  const auto file = from.open(physical_name("box", part.file), OpenMode::kRead).value();
  std::vector<std::byte> bytes(static_cast<std::size_t>(part.bytes));
  REQUIRE(file->read_at(part.from, bytes));
  REQUIRE(to.write_at(part.to, bytes));
}

/// The container as one file, of the same name on another disk.
void bring(const MemoryFileSystem& from, const MemoryFileSystem& to) {
  Survey survey = survey_of(from);
  const auto one = OneFileContainer::of(survey);
  if (!one) FAIL(one.error().text);
  const auto file = to.open("box", OpenMode::kCreateExclusive).value();
  std::uint64_t bytes = 0;
  StreamParts parts = one->streams();
  while (const auto part = parts.next()) {
    copy_part(from, *file, *part);
    bytes += part->bytes;
  }
  CHECK(bytes == one->stream_bytes());
  for (const auto& part : one->catalogue()) copy_part(from, *file, part);
  REQUIRE(one->finish(*file, "box"));
  const auto once = to.content("box");
  // Whoever died meanwhile comes to the same.
  REQUIRE(one->finish(*file, "box"));
  CHECK(to.content("box") == once);
}

void require_sound(const MemoryFileSystem& disk) {
  VerifyOptions options;
  options.opener = disk.opener();
  const auto verdict = verify_container("box", options);
  if (!verdict) FAIL(verdict.error().text);
  for (const auto& wrong : verdict->findings) FAIL_CHECK(wrong.file << ": " << wrong.text);
  REQUIRE(verdict->sound());
  REQUIRE(verdict->closed);
}

/// SION readers find one file with all writers, and each writer's stream byte by byte.
void require_same_streams(const StreamSessions& many, const StreamSessions& one) {
  const auto box = OfflineContainer::open("box", many.disk().opener());
  REQUIRE(box);
  const ContainerPlan& plan = (*box)->plan();
  const auto reader = SionReader::open(one.disk().opener(), "box");
  if (!reader) FAIL(reader.error().text);
  REQUIRE(reader->files() == 1);
  REQUIRE(reader->tasks() == plan.writers() + 1);
  for (std::uint32_t writer = 0; writer < plan.writers(); ++writer) {
    INFO("writer " << writer);
    CHECK(reader->global_rank(writer) == static_cast<std::int64_t>(writer));
    CHECK(one.stream_bytes_of(writer) == many.stream_bytes_of(writer));
  }
  const auto now = OfflineContainer::open("box", one.disk().opener());
  REQUIRE(now);
  for (std::uint32_t writer = 0; writer < plan.writers(); ++writer)
    CHECK((*now)->plan().rank_of_writer(writer) == plan.rank_of_writer(writer));
}

class ManyFiles : public StreamSessions {
 public:
  explicit ManyFiles(std::uint64_t limit, fti::HashKind hash = fti::HashKind::kXxh3)
      : StreamSessions(hash, 2) {
    options().chunk_bytes = kChunk;
    options().keep = 3;
    options().logical_limit = limit;
  }
};

TEST_CASE("one file: kept steps, added ranks and overflow groups", "[core][offline][onefile]") {
  for (const auto hash : {fti::HashKind::kXxh3, fti::HashKind::kMd5}) {
    ManyFiles many(1u << 20, hash);
    many.create(2, rows_written(0, 3, 1, true));
    many.reopen(3, rows_written(2, 6, 2));
    many.reopen(2, rows_written(0, 8, 3));
    const std::size_t groups = survey_of(many.disk()).plan().groups().size();
    CHECK(groups >= 3);

    StreamSessions one(hash);
    bring(many.disk(), one.disk());
    CHECK(one.disk().names() == std::vector<std::string>{"box"});
    CHECK(survey_of(one.disk()).plan().groups().size() == groups);
    const auto before = steps_of(many.disk());
    CHECK(before.size() == 3);
    CHECK(steps_of(one.disk()) == before);
    require_sound(one.disk());
    require_same_streams(many, one);

    // The next sessions: fewer ranks, then more than ever.
    one.options().keep = 3;
    int last = 4;
    for (const int ranks : {1, 3, 5}) {
      one.reopen(ranks, rows_written(4, 7, static_cast<std::uint64_t>(last)));
      many.reopen(ranks, rows_written(4, 7, static_cast<std::uint64_t>(last)));
      ++last;
      CHECK(steps_of(one.disk()) == steps_of(many.disk()));
      require_sound(one.disk());
    }
    CHECK(one.disk().names() == std::vector<std::string>{"box", "box.000001"});
  }
}

TEST_CASE("one file: of what was in one already, again", "[core][offline][onefile]") {
  ManyFiles many(kMaxLogicalBytes);
  many.create(2, rows_written(0, 3, 1, true));
  StreamSessions once;
  bring(many.disk(), once.disk());
  once.reopen(4, rows_written(1, 4, 2));
  StreamSessions twice;
  bring(once.disk(), twice.disk());
  CHECK(twice.disk().names().size() == 1);
  CHECK(steps_of(twice.disk()) == steps_of(once.disk()));
  require_same_streams(once, twice);
  require_sound(twice.disk());
}

TEST_CASE("one file: says why streams cannot lie in it as they are", "[core][offline][onefile]") {
  ManyFiles many(kMaxLogicalBytes);
  many.create(4, rows_written(0, 3, 1, true));
  const auto refused = [&](std::uint64_t limit) -> Error {
    Survey survey = survey_of(many.disk());
    auto one = OneFileContainer::of(survey, limit);
    REQUIRE_FALSE(one);
    return one.error();
  };
  SECTION("the size limit") {
    CHECK(refused(4 * kChunk).code == Code::kUnsupported);
    CHECK(refused(4 * kChunk).text.find("beyond 262144 bytes") != std::string::npos);
  }
  SECTION("a program that did not close it") {
    many.killed(4, rows_written(3, 4, 2));
    CHECK(refused(kMaxLogicalBytes).code == Code::kUnsupported);
    CHECK(refused(kMaxLogicalBytes).text.find("has not closed it") != std::string::npos);
  }
  SECTION("a file that is gone") {
    many.disk().remove("box.000001");
    CHECK(refused(kMaxLogicalBytes).code == Code::kUnsupported);
    CHECK(refused(kMaxLogicalBytes).text.find("box.000001") != std::string::npos);
  }
  SECTION("a damaged index") {
    Survey survey = survey_of(many.disk());
    const FilePlan& file = survey.plan().file(0);
    auto bytes = many.disk().content("box");
    bytes[file.address(file.catalogue_task(), survey.root().index.position)] ^= std::byte{1};
    many.disk().put("box", bytes);
    CHECK(refused(kMaxLogicalBytes).code == Code::kCorrupt);
  }
  SECTION("a file of another container") {
    ManyFiles other(kMaxLogicalBytes);
    other.create(4, rows_written(0, 3, 1, true));
    many.disk().put("box.000001", other.disk().content("box.000001"));
    CHECK(refused(kMaxLogicalBytes).code == Code::kUnsupported);
    CHECK(refused(kMaxLogicalBytes).text.find("box.000001") != std::string::npos);
  }
  SECTION("a file that was cut off") {
    auto bytes = many.disk().content("box.000001");
    bytes.resize(100u << 10);
    many.disk().put("box.000001", bytes);
    CHECK(refused(kMaxLogicalBytes).code == Code::kCorrupt);
    CHECK(refused(kMaxLogicalBytes).text.find("box.000001' has 102400 bytes") != std::string::npos);
  }
}

}  // namespace
}  // namespace bento
