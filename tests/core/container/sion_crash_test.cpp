// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Sessions that die at every write, seen by a SION reader that knows nothing of roots: it finds
/// the container of the last close, that of the next one, or none at all.
#include <algorithm>
#include <optional>

#include <catch2/catch_test_macros.hpp>

#include "core/bytes/byte_reader.hpp"
#include "core/container/container.hpp"
#include "core/fti/v11.hpp"
#include "core/layout/root.hpp"
#include "core/sion/reader.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/core/container/sion_states.hpp"
#include "tests/support/fault_file.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;

constexpr std::size_t kFileBlockBytes = 96;

struct Session {
  int ranks = 1;
  std::uint64_t steps = 1;
};

struct Scenario {
  std::uint32_t files = 1;
  bool idle_ranks = false;  ///< every third rank writes nothing
  std::vector<Session> sessions;
};

Status write_steps(Communicator& comm, const ContainerOptions& options, const Scenario& scenario,
                   std::size_t session, bool closing) {
  const std::shared_ptr<Communicator> shared(&comm, [](Communicator*) {});
  const bool first = session == 0;
  BENTO_ASSIGN(auto container, first ? Container::create("box", false, options, shared)
                                     : Container::open("box", true, options, shared));
  const DatasetNumber dataset = first ? container->declare({}, 8, 2, 0) : 0;
  const auto steps = scenario.sessions[session].steps;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    const std::uint64_t value = 100 * session + step;
    if (scenario.idle_ranks && comm.rank() % 3 == 1) {
      container->note_collective("step", {});
      container->skeleton().write(0, skeleton_bytes(value));
    } else {
      BENTO_TRY(write_step(*container, dataset, value));
    }
    if (step < steps || !closing) BENTO_TRY(container->commit());
  }
  if (closing) return container->close();
  container->abandon();
  return {};
}

/// Runs one session on thread ranks; the first error of any of them.
Status run(const FileOpener& opener, const Scenario& scenario, std::size_t session,
           bool closing = true) {
  ContainerOptions options = small_options(opener);
  options.chunk_bytes = 16u << 10;  // the smallest: a catalogue soon needs more than one
  options.files = scenario.files;
  for (const auto& status : run_ranks(scenario.sessions[session].ranks, [&](Communicator& comm) {
         return write_steps(comm, options, scenario, session, closing);
       }))
    BENTO_TRY(status);
  return {};
}

MemoryFileSystem copy_of(const MemoryFileSystem& disk) {
  MemoryFileSystem copy;
  for (const auto& name : disk.names()) copy.put(name, disk.content(name));
  return copy;
}

/// Which bytes of a stream somebody may rely on: the data of containers with content. A commit or a
/// close renews file block and records in place, and space of the dead is used again.
std::vector<bool> relied_on(std::span<const std::byte> stream) {
  std::vector<bool> live(stream.size(), false);
  for (std::size_t at = kFileBlockBytes; at + fti::v11::kDataBlockHeadBytes <= stream.size();) {
    const auto head = fti::v11::decode_data_block(stream.subspan(at)).value();
    REQUIRE(head.dbsize <= stream.size() - at);
    std::size_t data = at + static_cast<std::size_t>(fti::v11::header_bytes(head.numvars));
    REQUIRE(data <= at + head.dbsize);
    for (std::uint32_t i = 0; i < head.numvars; ++i) {
      const auto var = fti::v11::decode_dbvar(stream.subspan(at + fti::v11::kDataBlockHeadBytes +
                                                             i * fti::v11::kDbVarBytes))
                           .value();
      if (var.hascontent)
        std::fill_n(live.begin() + static_cast<std::ptrdiff_t>(data), var.chunksize, true);
      data += static_cast<std::size_t>(var.containersize);
    }
    at += static_cast<std::size_t>(head.dbsize);
  }
  return live;
}

struct View {
  SionMapping mapping;
  std::vector<std::vector<std::byte>> streams;  ///< by global task
  std::vector<std::vector<bool>> relied_on;     ///< which of their bytes; none in a catalogue
  [[nodiscard]] bool empty() const {
    return std::ranges::all_of(streams, [](const auto& stream) { return stream.empty(); });
  }
};

/// Is all there that `before` showed, and nothing else?
bool same(const std::optional<View>& before, const std::optional<View>& now) {
  if (!before || !now) return before.has_value() == now.has_value();
  if (before->mapping != now->mapping || before->streams.size() != now->streams.size())
    return false;
  for (std::size_t task = 0; task < now->streams.size(); ++task) {
    const auto& old = before->streams[task];
    const auto& fresh = now->streams[task];
    if (old.size() != fresh.size()) return false;
    for (std::size_t i = 0; i < old.size(); ++i)
      if (before->relied_on[task][i] && old[i] != fresh[i]) return false;
  }
  return true;
}

/// What a SION reader sees; nothing if it refuses. Also checks what a real SIONlib needs: the tasks
/// of a file have equal block counts, global rank equals mapping index.
std::optional<View> view_of(const MemoryFileSystem& disk) {
  auto reader = SionReader::open(disk.opener(), "box");
  keep_sion_state(disk, reader ? SionState::kAccepted : SionState::kRefused);
  if (!reader) return std::nullopt;
  View view;
  view.mapping = reader->mapping();
  for (std::uint64_t task = 0; task < reader->tasks(); ++task) {
    const auto& info = reader->file(view.mapping[task].file);
    REQUIRE(reader->blocks(task) == info.meta1.max_blocks);
    REQUIRE(reader->global_rank(task) == static_cast<std::int64_t>(task));
    std::vector<std::byte> stream(static_cast<std::size_t>(reader->stream_bytes(task)));
    REQUIRE(reader->read_stream(task, 0, stream));
    const bool catalogue = view.mapping[task].task + 1 == info.meta1.tasks();
    view.relied_on.push_back(catalogue ? std::vector<bool>(stream.size(), false)
                                       : relied_on(stream));
    view.streams.push_back(std::move(stream));
  }
  return view;
}

/// Is it the view that an undisturbed session leaves? The catalogue of file 0 holds times, so its
/// bytes differ from run to run: it must be the one that the newest root means.
bool is_new(const View& view, const View& wanted, const MemoryFileSystem& disk) {
  if (view.mapping != wanted.mapping) return false;
  const auto seen = probe(*disk.open("box", OpenMode::kRead).value()).value();
  if (seen.kind != FileKind::kContainer) return false;
  const auto plan = ContainerPlan::of(seen.root.groups, seen.root.fs_block).value();
  const std::uint32_t catalogue = plan.file(0).catalogue_global;
  for (std::size_t task = 0; task < view.streams.size(); ++task) {
    if (task == catalogue) continue;
    if (view.streams[task].size() != wanted.streams[task].size()) return false;
    for (std::size_t i = 0; i < view.streams[task].size(); ++i)
      if (wanted.relied_on[task][i] && view.streams[task][i] != wanted.streams[task][i])
        return false;
  }
  const auto& bytes = view.streams[catalogue];
  for (const auto& ref : {seen.root.skeleton, seen.root.index, seen.root.streams}) {
    if (ref.position + ref.bytes > bytes.size()) return false;
    const auto blob = std::span(bytes).subspan(static_cast<std::size_t>(ref.position),
                                               static_cast<std::size_t>(ref.bytes));
    if (hash128(blob) != ref.hash) return false;
  }
  const bool closed = (seen.root.flags & kRootClosed) != 0;
  return closed ? bytes.size() <= seen.root.catalogue_end : bytes.size() == seen.root.catalogue_end;
}

struct Counts {
  std::uint64_t old_views = 0;
  std::uint64_t new_views = 0;
  std::uint64_t refused = 0;
};

/// A crashed container goes on being right: a session that commits without closing leaves the view
/// as it was (META2 always lies inside a chunk here), and the next close makes a new one. What
/// readers of the `old_view` rely on is what had content then, not what the session that died has
/// put into space of the dead.
void go_on(const MemoryFileSystem& disk, const Scenario& scenario, std::size_t session,
           const std::optional<View>& old_view) {
  auto before = view_of(disk);
  if (old_view && same(old_view, before)) before = old_view;
  const std::size_t next = std::max<std::size_t>(session, 1);
  Scenario again = scenario;
  again.sessions.resize(std::max(again.sessions.size(), next + 1), {1, 1});
  const auto opened = probe(*disk.open("box", OpenMode::kRead).value());
  REQUIRE(opened);
  if (opened->kind != FileKind::kContainer || (opened->root.flags & kRootProvisional) != 0) return;
  REQUIRE(run(disk.opener(), again, next, false));
  REQUIRE(same(before, view_of(disk)));
  REQUIRE(run(disk.opener(), again, next));
  const auto after = view_of(disk);
  REQUIRE(after);
  REQUIRE(is_new(*after, *after, disk));
}

/// Lets one session die at each of its writes, on a copy of `start`.
Counts die_everywhere(const MemoryFileSystem& start, const Scenario& scenario,
                      std::size_t session) {
  const auto old_view = view_of(start);
  const MemoryFileSystem whole = copy_of(start);
  const FaultFileSystem counter(whole.opener());
  REQUIRE(run(counter.opener(), scenario, session));
  const auto new_view = view_of(whole);
  REQUIRE(new_view);
  REQUIRE(is_new(*new_view, *new_view, whole));

  Counts counts;
  const std::uint64_t changes = counter.counts().changes();
  for (std::uint64_t last = 1; last <= changes; ++last)
    for (const std::uint64_t torn : {std::uint64_t{0}, std::uint64_t{100}, FaultRule::kWhole}) {
      const MemoryFileSystem disk = copy_of(start);
      const FaultFileSystem faulty(disk.opener());
      faulty.add({.on = FaultOn::kChange, .nth = last, .die = true, .torn_at = torn});
      (void)run(faulty.opener(), scenario, session);
      INFO("session " << session << " died at change " << last << " of " << changes << ", " << torn
                      << " bytes of it written");
      const auto view = view_of(disk);
      if (!view) {
        ++counts.refused;
      } else if (same(old_view, view) || (session == 0 && view->empty())) {
        ++counts.old_views;
      } else {
        REQUIRE(is_new(*view, *new_view, disk));
        ++counts.new_views;
      }
      if (torn == FaultRule::kWhole && disk.exists("box")) go_on(disk, scenario, session, old_view);
    }
  return counts;
}

void check_scenario(const Scenario& scenario) {
  const MemoryFileSystem disk;
  for (std::size_t session = 0; session < scenario.sessions.size(); ++session) {
    const Counts counts = die_everywhere(disk, scenario, session);
    // None of the three is there by chance only.
    CHECK(counts.old_views > 0);
    CHECK(counts.new_views > 0);
    if (session == 0) CHECK(counts.refused > 0);
    REQUIRE(run(disk.opener(), scenario, session));
  }
}

TEST_CASE("sion crash: four writers in one file", "[core][container][sioncrash]") {
  check_scenario({1, false, {{4, 2}, {4, 2}}});
}

TEST_CASE("sion crash: seven writers in three files", "[core][container][sioncrash][full]") {
  check_scenario({3, false, {{7, 1}, {7, 2}}});
}

TEST_CASE("sion crash: sessions of 2, 5 and 3 writers, the second adds a file",
          "[core][container][sioncrash]") {
  check_scenario({1, false, {{2, 1}, {5, 1}, {3, 1}}});
}

TEST_CASE("sion crash: files are added behind several", "[core][container][sioncrash][full]") {
  check_scenario({2, false, {{2, 1}, {3, 1}, {5, 2}}});
}

TEST_CASE("sion crash: tasks that never write", "[core][container][sioncrash]") {
  check_scenario({2, true, {{4, 1}, {3, 1}}});
}

TEST_CASE("sion crash: a catalogue of many chunks", "[core][container][sioncrash]") {
  check_scenario({1, false, {{1, 5}, {2, 4}}});
}

}  // namespace
}  // namespace bento
