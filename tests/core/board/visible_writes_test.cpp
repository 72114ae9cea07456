// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Ranks, as threads, that write in turns with nothing between but a barrier, and read what others
/// have written without their help.
#include <random>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "tests/core/container/container_support.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/remote_ranks.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;
using Random = std::mt19937_64;

constexpr std::uint64_t kColumnsHere = 64;
constexpr std::byte kFiltered{0x5A};

Status barrier(Communicator& comm) {
  BENTO_ASSIGN(const auto all, comm.gather({}));
  BENTO_ASSIGN(const auto answer, comm.broadcast({}));
  return {};
}

std::uint64_t below(Random& random, std::uint64_t limit) {
  return random() % limit;
}

/// A dataset as it must be, of rows that may become more or fewer.
struct Model {
  DatasetNumber number = 0;
  std::uint64_t rows = 0;
  std::vector<std::uint64_t> values;

  void resize(std::uint64_t to) {
    rows = to;
    values.resize(rows * kColumnsHere);
  }
  void fill(const Box& box, std::uint64_t value) {
    for (std::uint64_t row = 0; row < box.count[0]; ++row)
      for (std::uint64_t column = 0; column < box.count[1]; ++column)
        values[(box.start[0] + row) * kColumnsHere + box.start[1] + column] = value;
  }
};

Box random_box(Random& random, std::uint64_t rows, bool large) {
  Box box{Dims{0, 0}, Dims{rows, kColumnsHere}};
  if (large) return box;
  box.start[0] = below(random, rows);
  box.count[0] = 1 + below(random, std::min<std::uint64_t>(rows - box.start[0], 3));
  if (random() % 2 == 0) {
    box.start[1] = below(random, kColumnsHere);
    box.count[1] = 1 + below(random, kColumnsHere - box.start[1]);
  }
  return box;
}

Result<std::vector<std::uint64_t>> read_once(Container& container, DatasetNumber number,
                                             const Box& box) {
  std::vector<std::uint64_t> values(box.elements(), 0);
  auto* const to = reinterpret_cast<std::byte*>(values.data());
  BENTO_ASSIGN(const RecordLookup lookup, container.find(number, box));
  for (const auto& piece : lookup.pieces) {
    const Record& record = lookup.records[piece.record];
    if (record.encoding == Encoding::kPlain) {
      BENTO_TRY(container.read(record, piece.part, 8, box, to));
      continue;
    }
    BENTO_ASSIGN(auto stored, container.read_stored(record));
    for (auto& byte : stored) byte ^= kFiltered;
    copy_box(piece.part, record.box, stored.data(), box, to, 8);
  }
  return values;
}

class Program {
 public:
  Program(Communicator& comm, std::unique_ptr<Container> container, std::uint64_t seed)
      : comm_(comm),
        container_(std::move(container)),
        random_(seed),
        own_random_(seed * 100 + static_cast<std::uint64_t>(comm.rank())) {}

  Status run(int operations) {
    for (int i = 0; i < 3; ++i) declare();
    for (int i = 0; i < operations; ++i) {
      BENTO_TRY(operate());
      BENTO_TRY(barrier(comm_));
      for (int reads = 0; reads < 2; ++reads) BENTO_TRY(check(own_random_, i));
      BENTO_TRY(barrier(comm_));
    }
    BENTO_TRY(barrier(comm_));
    return container_->close();
  }

  [[nodiscard]] const std::vector<Model>& models() const { return models_; }

  static Status compare(Container& container, const Model& model, const Box& box,
                        const std::string& when) {
    BENTO_ASSIGN(const auto values, read_of_one_step(container, [&] {
                   return read_once(container, model.number, box);
                 }));
    for (std::uint64_t i = 0; i < values.size(); ++i) {
      const std::uint64_t row = box.start[0] + i / box.count[1];
      const std::uint64_t column = box.start[1] + i % box.count[1];
      const std::uint64_t wanted = model.values[row * kColumnsHere + column];
      if (values[i] != wanted)
        return fail(Code::kInternal, fmt::format("{}: rank {}: dataset {} at {}, {}: {}, not {}",
                                                 when, container.comm().rank(), model.number, row,
                                                 column, values[i], wanted));
    }
    return {};
  }

 private:
  void declare() {
    container_->note_collective("create", {});
    Model model;
    model.number = container_->declare({}, 8, 2, 0);
    model.resize(1 + below(random_, 300));
    declared_ += model.values.size() * 8;
    models_.push_back(std::move(model));
    if (below(random_, 3) == 0) container_->declared(declared_);
  }

  Status write() {
    const auto who = static_cast<int>(below(random_, static_cast<std::uint64_t>(comm_.size())));
    const int pieces = 1 + static_cast<int>(below(random_, 4));
    Model& model = models_[below(random_, models_.size())];
    const bool large = below(random_, 8) == 0;
    const bool follow = below(random_, 3) == 0;  // pieces that continue each other
    Box box = random_box(random_, model.rows, large);
    for (int piece = 0; piece < pieces; ++piece) {
      if (piece > 0 && follow && box.start[0] + 2 * box.count[0] <= model.rows)
        box.start[0] += box.count[0];
      else if (piece > 0)
        box = random_box(random_, model.rows, false);
      const bool filtered = below(random_, 6) == 0;
      model.fill(box, ++stamp_);
      if (comm_.rank() != who) continue;
      const std::vector<std::uint64_t> values(box.elements(), stamp_);
      std::vector<std::byte> bytes(bytes_of(values).begin(), bytes_of(values).end());
      if (filtered)
        for (auto& byte : bytes) byte ^= kFiltered;
      // Of filtered records not everything fits a chunk, and nothing can be cut.
      if (filtered && bytes.size() <= container_->largest_record())
        BENTO_TRY(container_->write_filtered(model.number, box, 0, bytes));
      else
        BENTO_TRY(container_->write(model.number, box, 8, bytes_of(values)));
    }
#ifndef __SANITIZE_THREAD__
    // What comes at the same time gives one or the other, but no error.
    if (comm_.rank() != who && below(own_random_, 3) == 0) BENTO_TRY(read_any());
#endif
    return comm_.rank() == who ? container_->publish() : Status{};
  }

  /// Rows of several datasets, one of each after the other: what waits is joined when it goes out.
  Status write_in_turn() {
    const auto who = static_cast<int>(below(random_, static_cast<std::uint64_t>(comm_.size())));
    const std::uint64_t rows = 8 + below(random_, 24);
    const std::uint64_t first = below(random_, 40);
    const std::uint64_t column = random_() % 2 == 0 ? 0 : below(random_, kColumnsHere);
    for (std::uint64_t row = first; row < first + rows; ++row) {
      for (Model& model : models_) {
        if (row >= model.rows) continue;
        const Box box{Dims{row, column}, Dims{1, kColumnsHere - column}};
        model.fill(box, ++stamp_);
        if (comm_.rank() != who) continue;
        const std::vector<std::uint64_t> values(box.elements(), stamp_);
        BENTO_TRY(container_->write(model.number, box, 8, bytes_of(values)));
      }
    }
    return comm_.rank() == who ? container_->publish() : Status{};
  }

  /// Every second column of some rows; what lies between is as the rank that writes sees it.
  Status write_with_gaps() {
    const auto who = static_cast<int>(below(random_, static_cast<std::uint64_t>(comm_.size())));
    Model& model = models_[below(random_, models_.size())];
    Box box = random_box(random_, model.rows, below(random_, 4) == 0);
    const std::uint64_t blocks = (box.count[1] + 1) / 2;
    box.count[1] = 2 * blocks - 1;
    const RegularSelection written{box.start, Dims{box.count[0], 2}, Dims{1, blocks},
                                   Dims{box.count[0], 1}};
    ++stamp_;
    written.for_each_in(box, [&](const Box& part) { model.fill(part, stamp_); });
    if (comm_.rank() != who) return {};
    BENTO_ASSIGN(const bool takes, container_->takes_gaps(model.number, box));
    if (takes) {
      BENTO_ASSIGN(auto values, read_of_one_step(*container_, [&] {
                     return read_once(*container_, model.number, box);
                   }));
      for (std::uint64_t i = 0; i < values.size(); ++i)
        if (i % box.count[1] % 2 == 0) values[i] = stamp_;
      BENTO_TRY(container_->write_with_gaps(model.number, box, 8, bytes_of(values), written,
                                            ValueRange::everything()));
    } else {
      Status done;
      written.for_each_in(box, [&](const Box& part) {
        const std::vector<std::uint64_t> values(part.elements(), stamp_);
        if (done) done = container_->write(model.number, part, 8, bytes_of(values));
      });
      BENTO_TRY(std::move(done));
    }
    return container_->publish();
  }

  Status read_any() {
    const Model& model = models_[below(own_random_, models_.size())];
    const Box box = Box::whole(Dims{model.rows, kColumnsHere});
    BENTO_ASSIGN(const auto values, read_of_one_step(*container_, [&] {
                   return read_once(*container_, model.number, box);
                 }));
    return {};
  }

  Status resize() {
    Model& model = models_[below(random_, models_.size())];
    container_->note_collective("extent", {});
    const std::uint64_t rows = 1 + below(random_, 300);
    if (rows < model.rows)
      BENTO_TRY(container_->set_extent(model.number, Dims{rows, kColumnsHere}));
    model.resize(rows);
    return {};
  }

  Status operate() {
    const std::uint64_t kind = below(random_, 100);
    if (kind < 3) {
      declare();
      return {};
    }
    if (kind < 6 && models_.size() > 1) {
      const auto at = static_cast<std::ptrdiff_t>(below(random_, models_.size()));
      container_->note_collective("delete", {});
      container_->remove(models_[static_cast<std::size_t>(at)].number);
      models_.erase(models_.begin() + at);
      declare();
      return {};
    }
    if (kind < 12) return resize();
    if (kind < 15) return container_->commit();
    if (kind < 18) return container_->exchange();
    if (kind < 30) return write_with_gaps();
    if (kind < 45) return write_in_turn();
    return write();
  }

  Status check(Random& random, int operation) {
    const Model& model = models_[below(random, models_.size())];
    const Box box = random_box(random, model.rows, below(random, 4) == 0);
    return compare(*container_, model, box, fmt::format("operation {}", operation));
  }

  Communicator& comm_;
  std::unique_ptr<Container> container_;
  Random random_;      ///< the same on all ranks
  Random own_random_;  ///< of this rank's reads
  std::vector<Model> models_;
  std::uint64_t stamp_ = 0;
  std::uint64_t declared_ = 0;
};

Status run_program(const MemoryFileSystem& disk, Communicator& comm, std::uint64_t seed,
                   int operations) {
  const std::shared_ptr<Communicator> shared(&comm, [](Communicator*) {});
  ContainerOptions options = small_options(disk.opener());
  options.chunk_bytes = seed % 2 == 0 ? 1u << 20 : 256u << 10;
  options.stream.buffer_bytes = 64u << 10;
  options.files = seed % 3 == 0 && comm.size() > 1 ? 2 : 1;
  options.verify = seed % 5 == 0 ? Verification::kAll : Verification::kSmall;
  options.share_uncommitted = true;
  options.must_share = true;
  BENTO_ASSIGN(auto container, Container::create("box", false, options, shared));
  Program program(comm, std::move(container), seed);
  BENTO_TRY(program.run(operations));
  BENTO_ASSIGN(container, Container::open("box", false, options, shared));
  for (const Model& model : program.models())
    BENTO_TRY(Program::compare(*container, model, Box::whole(Dims{model.rows, kColumnsHere}),
                               "after a new open"));
  return container->close();
}

/// `nodes` 0: one, whose ranks do not read from afar.
void run_seeds(std::uint64_t first, std::uint64_t count, int operations, int nodes = 0) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    CAPTURE(seed);
    const MemoryFileSystem disk;
    RemoteRanks remote(std::max(nodes, 1));
    const int ranks = std::array{2, 3, 5}[seed % 3];
    const auto results = run_ranks(ranks, [&](Communicator& comm) {
      const auto of_nodes = remote.communicator(comm);
      return run_program(disk, nodes == 0 ? comm : *of_nodes, seed, operations);
    });
    for (const auto& status : results)  // first who failed, then who missed it
      if (!status && status.error().code != Code::kPeer) require_ok(status);
    for (const auto& status : results) require_ok(status);
  }
}

}  // namespace

TEST_CASE("board: what another rank writes anew is not read as what it was", "[core][board]") {
  // More records of another rank than are kept, each of which was verified.
  constexpr DatasetNumber kDatasets = 48;
  const Box box{Dims{0, 0}, Dims{1024, kColumnsHere}};
  const Box row{Dims{500, 0}, Dims{1, kColumnsHere}};
  const MemoryFileSystem disk;
  const auto results = run_ranks(2, [&](Communicator& comm) -> Status {
    const std::shared_ptr<Communicator> shared(&comm, [](Communicator*) {});
    ContainerOptions options = small_options(disk.opener());
    options.chunk_bytes = 16u << 20;
    options.share_uncommitted = true;
    options.must_share = true;
    BENTO_ASSIGN(const auto container, Container::create("box", false, options, shared));
    for (DatasetNumber number = 0; number < kDatasets; ++number) container->declare({}, 8, 2, 0);
    BENTO_TRY(container->commit());  // from here on, large records go to the file
    const auto write = [&](DatasetNumber number, std::uint64_t step) -> Status {
      if (comm.rank() != 1) return {};
      BENTO_TRY(container->write(number, box, 8, bytes_of(band_values(box, step))));
      return container->publish();
    };
    for (DatasetNumber number = 0; number < kDatasets; ++number) BENTO_TRY(write(number, 1));
    BENTO_TRY(barrier(comm));
    std::optional<RecordLookup> before;
    for (DatasetNumber number = 0; comm.rank() == 0 && number < kDatasets; ++number) {
      BENTO_ASSIGN(auto lookup, container->find(number, row));
      if (number == 0) before = lookup;
      BENTO_ASSIGN(const auto values, read_once(*container, number, row));
      if (values != band_values(row, 1)) return fail(Code::kInternal, "wrong values at first");
    }
    BENTO_TRY(barrier(comm));
    BENTO_TRY(write(0, 2));
    BENTO_TRY(barrier(comm));
    if (comm.rank() == 0) {
      std::vector<std::uint64_t> values(row.elements());
      const Status read = container->read(before->records.at(0), row, 8, row,
                                          reinterpret_cast<std::byte*>(values.data()));
      if (read || read.error().code != Code::kBusy)
        return fail(Code::kInternal, "what is written anew was read as what it was: " +
                                         (read ? (values == band_values(row, 1) ? "old" : "new")
                                               : read.error().text));
      BENTO_ASSIGN(values, read_once(*container, 0, row));
      if (values != band_values(row, 2)) return fail(Code::kInternal, "wrong values at last");
    }
    BENTO_TRY(barrier(comm));
    return container->close();
  });
  for (const auto& status : results)
    if (!status && status.error().code != Code::kPeer) require_ok(status);
  for (const auto& status : results) require_ok(status);
}

TEST_CASE("board: ranks see what others have written after a barrier", "[core][board]") {
  run_seeds(1, 12, 60);
}

TEST_CASE("board: ranks of several nodes see what others have written after a barrier",
          "[core][board]") {
  run_seeds(21, 12, 60, 2);
  run_seeds(41, 6, 60, 3);
}

TEST_CASE("board: many random programs of ranks of several nodes", "[core][board][long]") {
  run_seeds(2000, 250, 200, 2);
  run_seeds(3000, 250, 200, 3);
}

TEST_CASE("board: many random programs of ranks that see each other", "[core][board][long]") {
  run_seeds(1000, 500, 200);
}

}  // namespace bento
