// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Streams of containers with checksum=md5 and FTI 1.1: it restarts from one and goes on, with right
// values every time, or refuses the first restart.
#include <algorithm>
#include <random>

#include "core/catalogue/committed_index.hpp"
#include "tests/core/container/fti_model.hpp"
#include "tests/core/container/liveness_support.hpp"

namespace bento {
namespace {

using namespace test;
using fti::HashKind;

constexpr std::uint64_t kWide = 1000;  // elements of 8 bytes in a row

/// The step in which each row of each dataset was written last.
using Rows = std::vector<std::uint64_t>;

struct Program {
  StreamSessions box{HashKind::kMd5};
  std::map<DatasetNumber, Rows> written;

  /// What a stream's rank has of each dataset: the smallest box that holds the stream's live
  /// records of it, in row-major order.
  [[nodiscard]] FtiVariables share(std::uint32_t writer) const {
    auto opened = OfflineContainer::open("box", box.disk().opener());
    REQUIRE(opened);
    const Index& index = (*opened)->index();
    FtiVariables variables;
    for (const auto& [dataset, rows] : written) {
      FtiVariable variable{static_cast<std::int32_t>(dataset), {}};
      std::optional<Box> bounds;
      for (std::size_t i = 0; i < index.size(dataset); ++i) {
        const Record record = index.record(dataset, i);
        if (record.where.task != writer) continue;
        if (!bounds) bounds = record.box;
        for (unsigned d = 0; d < 2; ++d) {
          const std::uint64_t begin = std::min(bounds->start[d], record.box.start[d]);
          bounds->count[d] = std::max(bounds->start[d] + bounds->count[d],
                                      record.box.start[d] + record.box.count[d]) -
                             begin;
          bounds->start[d] = begin;
        }
      }
      for (std::uint64_t row = 0; bounds && row < bounds->count[0]; ++row) {
        const Box one{Dims{bounds->start[0] + row, bounds->start[1]}, Dims{1, bounds->count[1]}};
        const auto values = band_values(one, rows.at(static_cast<std::size_t>(one.start[0])));
        const auto bytes = bytes_of(values);
        variable.bytes.insert(variable.bytes.end(), bytes.begin(), bytes.end());
      }
      variables.push_back(std::move(variable));
    }
    return variables;
  }

  /// Does FTI restart from the stream? Anything but right values or a refusal fails.
  [[nodiscard]] bool goes_on(std::uint32_t writer) const {
    return test::goes_on(box.stream_bytes_of(writer), share(writer));
  }
};

/// Rows [first, first + count) of a dataset, written as a whole by one rank.
struct Band {
  DatasetNumber dataset = 0;
  std::uint64_t first = 0, count = 0;
};

/// One session in which each rank writes its pieces, turn by turn; each turn is a step.
StreamSessions::Body pieces(Program& program, DatasetNumber datasets, bool create,
                            std::vector<std::vector<std::vector<Band>>> turns_of_ranks,
                            std::uint64_t first_step) {
  for (std::size_t turn = 0; turn < turns_of_ranks.front().size(); ++turn)
    for (const auto& turns : turns_of_ranks)
      for (const Band& piece : turns[turn]) {
        Rows& rows = program.written[piece.dataset];
        rows.resize(std::max<std::size_t>(rows.size(), piece.first + piece.count));
        std::fill_n(rows.begin() + static_cast<std::ptrdiff_t>(piece.first), piece.count,
                    first_step + turn);
      }
  return [=](Container& container) -> Status {
    if (create)
      for (DatasetNumber i = 0; i < datasets; ++i) (void)container.declare({}, 8, 2, 0);
    const auto& turns = turns_of_ranks[static_cast<std::size_t>(container.comm().rank())];
    for (std::size_t turn = 0; turn < turns.size(); ++turn) {
      container.note_collective("turn", {});
      for (const Band& piece : turns[turn])
        BENTO_TRY(write_box(container, piece.dataset,
                            {Dims{piece.first, 0}, Dims{piece.count, kWide}}, first_step + turn));
      BENTO_TRY(container.commit());
    }
    return {};
  };
}

using Turns = std::vector<std::vector<Band>>;  // of one rank

/// A session of one rank that creates a container of one dataset.
bool one_rank_goes_on(const Turns& turns, std::uint64_t chunk_bytes = 1u << 20) {
  Program program;
  program.box.options().chunk_bytes = chunk_bytes;
  program.box.create(1, pieces(program, 1, true, {turns}, 1));
  program.box.sound();
  return program.goes_on(0);
}

}  // namespace

TEST_CASE("restart of FTI: a rank's share in one piece, small and large, written again and again",
          "[core][container]") {
  for (const std::uint64_t rows : {1u, 4u, 20u}) {
    const Band all{0, 0, rows};
    for (std::size_t turns = 1; turns <= 5; ++turns) CHECK(one_rank_goes_on(Turns(turns, {all})));
    // Cut along the chunks.
    CHECK(one_rank_goes_on(Turns(1, {all}), 96u << 10));
    CHECK(one_rank_goes_on(Turns(2, {all}), 96u << 10));
  }
}

TEST_CASE("restart of FTI: the pieces of a share must come in their order", "[core][container]") {
  for (const std::uint64_t rows : {2u, 20u}) {
    const Band first{0, 0, rows}, second{0, rows, rows};
    CHECK(one_rank_goes_on({{first, second}}));
    CHECK(one_rank_goes_on({{first, second}, {first, second}}));
    CHECK(one_rank_goes_on({{first, second}, {first, second}, {first, second}}));
    CHECK_FALSE(one_rank_goes_on({{second, first}}));
    CHECK_FALSE(one_rank_goes_on({{first, second}, {second, first}}));
    CHECK_FALSE(one_rank_goes_on({{first}, {second}, {first}}));
    // Behind less dead space than there are live bytes.
    CHECK_FALSE(one_rank_goes_on({{first}, {{0, 0, 2 * rows}}}));
    // Pieces that leave a gap, or hide a part of one before.
    CHECK_FALSE(one_rank_goes_on({{first, {0, 3 * rows, rows}}}));
    CHECK_FALSE(one_rank_goes_on({{{0, 0, 2 * rows}}, {second}}));
  }
}

TEST_CASE("restart of FTI: each dataset must have a share in each stream", "[core][container]") {
  Program program;
  program.box.options().chunk_bytes = 1u << 20;
  const Turns both{{{0, 0, 20}, {1, 0, 1}}}, one{{{0, 20, 20}}};
  program.box.create(2, pieces(program, 2, true, {both, one}, 1));
  program.box.sound();
  CHECK(program.goes_on(0));
  CHECK_FALSE(program.goes_on(1));
  // It gets one in the next session, and loses another in the one after that.
  program.box.reopen(2, pieces(program, 2, false, {Turns(1), Turns{{{1, 1, 1}}}}, 2));
  program.box.sound();
  CHECK(program.goes_on(0));
  CHECK(program.goes_on(1));
  program.box.reopen(1, pieces(program, 2, false, {Turns{{{1, 0, 2}}}}, 3));
  program.box.sound();
  CHECK_FALSE(program.goes_on(1));
}

TEST_CASE("restart of FTI: deleted datasets, records without a hash, filtered ones",
          "[core][container]") {
  const Turns both{{{0, 0, 20}, {1, 0, 20}}};
  SECTION("the container of a deleted dataset is one variable too many") {
    Program program;
    program.box.create(1, pieces(program, 2, true, {both}, 1));
    program.box.reopen(1, [](Container& container) -> Status {
      container.note_collective("delete", {});
      container.remove(1);
      return {};
    });
    program.written.erase(1);
    program.box.sound();
    CHECK_FALSE(program.goes_on(0));
  }
  SECTION("a dataset whose number is not its place") {
    Program program;
    program.box.create(1, [](Container& container) -> Status {
      for (int i = 0; i < 2; ++i) (void)container.declare({}, 8, 2, 0);
      container.remove(0);
      return write_box(container, 1, {Dims{0, 0}, Dims{20, kWide}}, 1);
    });
    program.written[1] = Rows(20, 1);
    program.box.sound();
    CHECK(program.goes_on(0));
  }
  SECTION("no hash") {
    Program program;
    program.box.create(1, pieces(program, 2, true, {both}, 1));
    program.box.options().stream.hash = HashKind::kNone;
    program.box.reopen(1, pieces(program, 2, false, {both}, 2));
    program.box.sound();
    CHECK_FALSE(program.goes_on(0));
  }
  SECTION("filtered") {
    Program program;
    program.box.create(1, [](Container& container) -> Status {
      const DatasetNumber dataset = container.declare({}, 8, 2, 0);
      const Box box{Dims{0, 0}, Dims{1, kWide}};
      return container.write_filtered(dataset, box, 0, bytes_of(band_values(box, 1)));
    });
    program.written[0] = Rows(1, 1);
    program.box.sound();
    CHECK_FALSE(program.goes_on(0));
  }
  SECTION("other hashes") {
    StreamSessions box(HashKind::kXxh3);
    box.create(1, [](Container& container) -> Status {
      return write_step(container, container.declare({}, 8, 2, 0), 1);
    });
    FtiModel model(box.stream_bytes_of(0));
    CHECK_FALSE(model.restart({{0, std::vector<std::byte>(960)}}));
    CHECK(model.refusal() == "file checksum");
  }
}

TEST_CASE("restart of FTI: a session that was killed leaves a stream that FTI refuses",
          "[core][container]") {
  Program program;
  program.box.create(1, pieces(program, 1, true, {Turns{{{0, 0, 20}}}}, 1));
  program.box.killed(1, pieces(program, 1, false, {Turns{{{0, 0, 20}}}}, 2));
  FtiModel model(program.box.stream_bytes_of(0));
  CHECK_FALSE(model.restart(program.share(0)));
  program.box.reopen(1, [](Container&) -> Status { return {}; });
  program.box.sound();
  CHECK(program.goes_on(0));
}

TEST_CASE("restart of FTI: random programs, right values or a refusal", "[core][container]") {
  int accepted = 0;
  int refused = 0;
  for (unsigned seed = 1; seed <= 25; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const auto below = [&](unsigned end) { return static_cast<unsigned>(random() % end); };
    Program program;
    program.box.options().chunk_bytes = 64u << (10 + below(5));
    const DatasetNumber datasets = 1 + below(3);
    const unsigned most_ranks = 1 + below(3);
    const unsigned sessions = 1 + below(3);
    const unsigned wild = below(4);  // 0: an orderly program
    std::uint64_t step = 1;
    for (unsigned session = 0; session < sessions; ++session) {
      const unsigned ranks = wild > 1 && session > 0 ? 1 + below(most_ranks) : most_ranks;
      const unsigned turns = 1 + below(3);
      std::vector<Turns> all(ranks, Turns(turns));
      for (unsigned rank = 0; rank < ranks; ++rank)
        for (unsigned turn = 0; turn < turns; ++turn) {
          auto& mine = all[rank][turn];
          for (DatasetNumber dataset = 0; dataset < datasets; ++dataset) {
            const std::uint64_t rows = 12 * (dataset + 1) / ranks;
            const std::uint64_t parts = 1 + (seed + dataset) % 3;
            for (std::uint64_t part = 0; part < parts; ++part)
              if (wild < 2 || below(5) != 0)
                mine.push_back({dataset, rank * rows + part * rows / parts,
                                (part + 1) * rows / parts - part * rows / parts});
          }
          std::erase_if(mine, [](const Band& piece) { return piece.count == 0; });
          if (wild > 0 && below(3) == 0) std::reverse(mine.begin(), mine.end());
          if (wild > 2) std::shuffle(mine.begin(), mine.end(), random);
        }
      const auto body = pieces(program, datasets, session == 0, all, step);
      if (session == 0)
        program.box.create(static_cast<int>(ranks), body);
      else
        program.box.reopen(static_cast<int>(ranks), body);
      step += turns;
      for (std::uint32_t writer = 0; writer < most_ranks; ++writer)
        ++(program.goes_on(writer) ? accepted : refused);
    }
    program.box.sound();
  }
  CHECK(accepted > 25);
  CHECK(refused > 25);
}

}  // namespace bento
