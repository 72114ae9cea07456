// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/core/container/crash_support.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "core/offline/verify_streams.hpp"
#include "core/sion/reader.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/core/container/fake_view.hpp"
#include "tests/core/container/sion_states.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento::test {

namespace {

// The slabs of three ranks are large records, those of five small ones; all of a step's slabs of a
// rank fill more than half a chunk, so that the rest of chunks is used by what comes behind.
constexpr std::uint64_t kSlabElements = 27000;
constexpr std::uint64_t kTableRows = 12;
constexpr std::uint64_t kTableColumns = 5;

enum : DatasetNumber { kSlabs, kTable, kGrowing, kSeldom, kDoomed, kLate };

Dims growing_extent(std::uint64_t step) {
  constexpr std::uint64_t kExtents[] = {8, 16, 5, 14};
  return Dims{kExtents[(step - 1) % 4]};
}

class Script {
 public:
  explicit Script(int ranks) : ranks_(ranks) {}

  void all(Act act, DatasetNumber dataset, const Dims& extent = {}) {
    ops_.push_back({act, dataset, extent, {}, 0, 0});
  }
  void write(DatasetNumber dataset, const Box& box, std::uint64_t rank, std::uint64_t variant = 0) {
    ops_.push_back({Act::kWrite,
                    dataset,
                    {},
                    box,
                    static_cast<int>(rank % static_cast<std::uint64_t>(ranks_)),
                    variant});
  }
  /// Each rank its slab of [0, elements).
  void slabs(DatasetNumber dataset, std::uint64_t elements) {
    const auto ranks = static_cast<std::uint64_t>(ranks_);
    for (std::uint64_t r = 0; r < ranks; ++r) {
      const std::uint64_t from = elements * r / ranks;
      const std::uint64_t to = elements * (r + 1) / ranks;
      if (to > from) write(dataset, {Dims{from}, Dims{to - from}}, r);
    }
  }
  std::vector<Op> take() { return std::move(ops_); }

 private:
  int ranks_;
  std::vector<Op> ops_;
};

}  // namespace

std::vector<Op> script(std::uint64_t step, int ranks) {
  Script s(ranks);
  if (step == 1) {
    s.all(Act::kDeclare, kSlabs, Dims{kSlabElements});
    s.all(Act::kDeclare, kTable, Dims{kTableRows, kTableColumns});
    s.all(Act::kDeclare, kGrowing, growing_extent(1));
    s.all(Act::kDeclare, kSeldom, Dims{40});
    s.all(Act::kDeclare, kDoomed, Dims{30});
    s.slabs(kSeldom, 40);
  }
  if (step == 3) s.all(Act::kDeclare, kLate, Dims{20});
  s.slabs(kSlabs, kSlabElements);
  // One rank's fill, a collective call, and everybody's rows: the rows count.
  if (step % 2 == 0) {
    s.write(kTable, Box::whole(Dims{kTableRows, kTableColumns}), step, 1);
    s.all(Act::kBarrier, 0);
  }
  for (std::uint64_t row = 0; row < kTableRows; ++row)
    if (step % 3 != 0 || row % 4 != 0)  // some rows are older than others
      s.write(kTable, {Dims{row, 0}, Dims{1, kTableColumns}}, row + step);
  if (step > 1) s.all(Act::kExtent, kGrowing, growing_extent(step));
  // Grows without a write every fourth step: what the shrink before cut off must read as fill.
  if (step % 4 != 0) {
    const std::uint64_t elements = growing_extent(step)[0];
    s.write(kGrowing, {Dims{elements / 2}, Dims{elements - elements / 2}}, step);
  }
  if (step <= 2) s.slabs(kDoomed, 30);
  if (step == 3) s.all(Act::kRemove, kDoomed);
  if (step >= 3) s.write(kLate, {Dims{step % 7}, Dims{9}}, step);
  return s.take();
}

// A function of the element's place, whatever box it is written in. Boxes of two dimensions hold
// whole rows.
std::vector<std::uint64_t> values_of(const Op& op, std::uint64_t step) {
  std::vector<std::uint64_t> values(static_cast<std::size_t>(op.box.elements()));
  const std::uint64_t first = op.box.start[0] * (op.box.rank() == 2 ? kTableColumns : 1);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] =
        (step << 56) | ((op.variant + 1) << 52) | (std::uint64_t{op.dataset} << 44) | (first + i);
  return values;
}

namespace {

void put_box(ModelDataset& to, const Box& box, const std::vector<std::uint64_t>& values) {
  copy_box(box, box, reinterpret_cast<const std::byte*>(values.data()), Box::whole(to.extent),
           reinterpret_cast<std::byte*>(to.values.data()), sizeof(std::uint64_t));
}

void resize(ModelDataset& dataset, const Dims& extent) {
  ModelDataset fresh{extent, {}};
  fresh.values.resize(static_cast<std::size_t>(Box::whole(extent).elements()), 0);
  // One dimension only.
  std::copy_n(dataset.values.begin(), std::min(dataset.values.size(), fresh.values.size()),
              fresh.values.begin());
  dataset = std::move(fresh);
}

}  // namespace

Model model_at(std::uint64_t step) {
  Model model;
  for (std::uint64_t now = 1; now <= step; ++now)
    for (const auto& op : script(now, 3)) {
      if (op.act == Act::kDeclare || op.act == Act::kExtent)
        resize(model[op.dataset], op.extent);
      else if (op.act == Act::kRemove)
        model.erase(op.dataset);
      else if (op.act == Act::kWrite)
        put_box(model[op.dataset], op.box, values_of(op, now));
    }
  return model;
}

namespace {

Status write_one(Container& container, std::uint64_t step, const Op& op) {
  if (op.rank != container.comm().rank()) return {};
  return container.write(op.dataset, op.box, 8, bytes_of(values_of(op, step)));
}

Status metadata(Container& container, std::uint64_t step, const Op& op) {
  if (op.act == Act::kWrite) return {};
  container.note_collective("op", fmt::format("{} {}", step, static_cast<int>(op.act)));
  if (op.act == Act::kExtent) return container.set_extent(op.dataset, op.extent);
  if (op.act == Act::kRemove) container.remove(op.dataset);
  if (op.act != Act::kDeclare) return {};
  const auto number = container.declare({std::byte(op.dataset + 1)}, 8, op.extent.rank(), 0);
  if (number != op.dataset) return fail(Code::kInternal, fmt::format("number {}", number));
  return {};
}

void begin(Container& container, std::uint64_t step) {
  container.note_collective("step", fmt::format("{}", step));
  container.skeleton().write(0, skeleton_bytes(step));
}

}  // namespace

Status carry_out(Container& container, std::uint64_t step) {
  begin(container, step);
  for (const auto& op : script(step, container.comm().size())) {
    BENTO_TRY(metadata(container, step, op));
    if (op.act == Act::kWrite) BENTO_TRY(write_one(container, step, op));
  }
  return {};
}

void carry_out_writes(Container& container, std::uint64_t step, const std::vector<Op>& ops,
                      std::vector<Op>& failed) {
  for (const auto& op : ops)
    if (op.act == Act::kWrite && !write_one(container, step, op)) failed.push_back(op);
}

void carry_out_all(Container& container, std::uint64_t step, std::vector<Op>& failed) {
  begin(container, step);
  for (const auto& op : script(step, container.comm().size())) {
    if (op.act == Act::kWrite)
      carry_out_writes(container, step, {op}, failed);
    else
      (void)metadata(container, step, op);
  }
}

std::string difference(Container& container, std::uint64_t step) {
  if (!skeleton_is(container, step)) return "the skeleton is another step's";
  const Model model = model_at(step);
  std::vector<DatasetNumber> wanted;
  for (const auto& [number, dataset] : model) wanted.push_back(number);
  std::vector<DatasetNumber> found;
  for (const auto& dataset : container.datasets()) found.push_back(dataset.number);
  std::sort(found.begin(), found.end());
  if (found != wanted) return fmt::format("{} datasets, {} wanted", found.size(), wanted.size());
  for (const auto& [number, dataset] : model) {
    const Box box = Box::whole(dataset.extent);
    std::vector<std::uint64_t> values(dataset.values.size(), 0);
    const auto lookup = container.find(number, box);
    if (!lookup) return lookup.error().text;
    for (const auto& piece : lookup->pieces) {
      const auto read = container.read(lookup->records[piece.record], piece.part, 8, box,
                                       reinterpret_cast<std::byte*>(values.data()));
      if (!read) return read.error().text;
    }
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i] != dataset.values[i])
        return fmt::format("dataset {}, element {}: {:#x}, wanted {:#x}", number, i, values[i],
                           dataset.values[i]);
  }
  const auto whole = container.confirm_read();
  if (!whole) return whole.error().text;
  return *whole ? std::string() : "another step came in between";
}

std::string difference(const ContainerOptions& options, std::uint64_t step) {
  auto container = Container::open("box", false, options, make_self_communicator());
  if (!container) return container.error().text;
  std::string different = difference(**container, step);
  const Status closed = (*container)->close();
  if (!closed && different.empty()) different = closed.error().text;
  return different;
}

namespace {

/// What a dead process sends: nothing.
class MortalCommunicator final : public Communicator {
 public:
  MortalCommunicator(Communicator& below, std::function<bool()> dead)
      : below_(below), dead_(std::move(dead)) {}
  [[nodiscard]] int rank() const override { return below_.rank(); }
  [[nodiscard]] int size() const override { return below_.size(); }
  Result<std::vector<Bytes>> gather(std::span<const std::byte> payload) override {
    BENTO_TRY(alive());
    return below_.gather(payload);
  }
  Result<Bytes> combine(std::span<const std::byte> payload, const Merge& merge) override {
    BENTO_TRY(alive());
    return below_.combine(payload, merge);
  }
  Result<Bytes> broadcast(std::span<const std::byte> payload) override {
    BENTO_TRY(alive());
    return below_.broadcast(payload);
  }
  Result<Bytes> shift(int distance, std::span<const std::byte> payload) override {
    BENTO_TRY(alive());
    return below_.shift(distance, payload);
  }

 private:
  Status alive() const {
    if (dead_ && dead_()) return fail(Code::kPeer, "this rank is dead");
    return {};
  }
  Communicator& below_;
  std::function<bool()> dead_;
};

void raise(std::atomic<std::uint64_t>& to, std::uint64_t value) {
  std::uint64_t now = to.load();
  while (now < value && !to.compare_exchange_weak(now, value)) {
  }
}

Status live_as(const std::shared_ptr<Communicator>& comm, const CrashSession& session, bool first,
               const ContainerOptions& options, Life& life) {
  BENTO_ASSIGN(auto container, first ? Container::create("box", false, options, comm)
                                     : Container::open("box", true, options, comm));
  const std::uint64_t from = container->step().number();
  for (std::uint64_t step = from + 1; step <= from + session.steps; ++step) {
    BENTO_TRY(carry_out(*container, step));
    raise(life.attempted, step);
    const bool last = step == from + session.steps && session.closes;
    const ViewBuilder view =
        session.view_pages == 0 ? ViewBuilder{} : fake_view(session.view_pages);
    BENTO_TRY(last ? container->close(view) : container->commit());
    raise(life.committed, step);
  }
  if (!session.closes) container->abandon();
  return {};
}

}  // namespace

Status live(const CrashSession& session, bool first,
            const std::function<ContainerOptions(int rank)>& options, Life& life,
            const std::function<bool(int rank)>& dead) {
  for (const auto& status : run_ranks(session.ranks, [&](Communicator& comm) {
         const int rank = comm.rank();
         std::function<bool()> gone;
         if (dead) gone = [&dead, rank] { return dead(rank); };
         const auto mortal = std::make_shared<MortalCommunicator>(comm, std::move(gone));
         return live_as(mortal, session, first, options(rank), life);
       }))
    BENTO_TRY(status);
  return {};
}

ContainerOptions crash_options(FileOpener opener) {
  ContainerOptions options = small_options(std::move(opener));
  options.chunk_bytes = 128u << 10;
  return options;
}

FaultFileSystem faults_over(const MemoryFileSystem& disk) {
  return FaultFileSystem(disk.opener(), [disk](const std::string& name) { disk.remove(name); });
}

MemoryFileSystem copy_of(const MemoryFileSystem& disk) {
  MemoryFileSystem copy;
  for (const auto& name : disk.names()) copy.put(name, disk.content(name));
  return copy;
}

namespace {

void require_sion(const MemoryFileSystem& disk) {
  auto reader = SionReader::open(disk.opener(), "box");
  if (!reader) FAIL("SION: " << reader.error().text);
  const auto mapping = reader->mapping();
  for (std::uint64_t task = 0; task < reader->tasks(); ++task) {
    REQUIRE(reader->blocks(task) == reader->file(mapping[task].file).meta1.max_blocks);
    REQUIRE(reader->global_rank(task) == static_cast<std::int64_t>(task));
    std::vector<std::byte> stream(static_cast<std::size_t>(reader->stream_bytes(task)));
    REQUIRE(reader->read_stream(task, 0, stream));
  }
}

}  // namespace

void require_whole(const MemoryFileSystem& disk, std::uint64_t step) {
  REQUIRE(difference(crash_options(disk.opener()), step) == "");
  const auto verdict = verify_streams("box", disk.opener());
  if (!verdict) FAIL("streams: " << verdict.error().text);
  for (const auto& wrong : verdict->findings)
    FAIL("writer " << wrong.writer << ", byte " << wrong.address << " of " << wrong.file << ": "
                   << wrong.finding.text);
  REQUIRE(verdict->sound());
  require_sion(disk);
  keep_sion_state(disk, SionState::kWhole);
}

}  // namespace bento::test
