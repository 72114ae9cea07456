// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Makes the seeds of tests/data/fuzz, from golden files and from small containers of our own. No
/// test: `core_tests "[make-corpus]"` runs it after a format has changed. Other files stay.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "core/bytes/byte_writer.hpp"
#include "core/comm/status_message.hpp"
#include "core/container/container.hpp"
#include "core/layout/chunk_fill.hpp"
#include "core/layout/root.hpp"
#include "core/sion/reader.hpp"
#include "core/steps/record_run.hpp"
#include "core/steps/segment_codec.hpp"
#include "core/steps/step_commit.hpp"
#include "core/steps/step_index.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/fuzz/sion_input.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;
namespace fs = std::filesystem;
using Seed = std::vector<std::byte>;

const fs::path kData = fs::path(H5BENTO_SOURCE_DIR) / "tests/data";

void store(const std::string& target, const std::string& name, const Seed& seed) {
  fs::create_directories(kData / "fuzz" / target);
  std::ofstream out(kData / "fuzz" / target / name, std::ios::binary);
  out.write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
  REQUIRE(out);
}

Seed load(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE(in);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Seed with_head(std::initializer_list<unsigned> head, std::span<const std::byte> rest) {
  Seed seed;
  for (const unsigned value : head) seed.push_back(static_cast<std::byte>(value));
  seed.insert(seed.end(), rest.begin(), rest.end());
  return seed;
}

/// A container of ours with one small step per session.
MemoryFileSystem small_container(std::uint32_t files, std::initializer_list<int> sessions) {
  MemoryFileSystem disk;
  ContainerOptions options = small_options(disk.opener());
  options.chunk_bytes = 16u << 10;
  options.files = files;
  bool first = true;
  for (const int ranks : sessions) {
    for (const auto& status : run_ranks(ranks, [&](Communicator& comm) -> Status {
           const std::shared_ptr<Communicator> shared(&comm, [](Communicator*) {});
           BENTO_ASSIGN(auto box, first ? Container::create("box", false, options, shared)
                                        : Container::open("box", true, options, shared));
           const DatasetNumber dataset = first ? box->declare({}, 8, 2, 0) : 0;
           box->note_collective("step", {});
           box->skeleton().write(0, std::vector<std::byte>(40, std::byte{7}));
           const Box rows = rows_of(comm.rank(), comm.size());
           BENTO_TRY(box->write(dataset, rows, 8, bytes_of(band_values(rows, 1))));
           return box->close();
         }))
      REQUIRE(status);
    first = false;
  }
  return disk;
}

void make_sion() {
  for (const auto* name :
       {"empty_tasks", "five_uneven", "flag_big", "keyval_inline", "nonident_ranks", "one_task"}) {
    Seed seed = with_head({0}, {});
    fuzz::pack(seed, 0, load(kData / "sion" / fmt::format("{}.sion", name)));
    store("sion", name, seed);
  }
  Seed seed = with_head({0}, {});
  fuzz::pack(seed, 0, load(kData / "sion/multi2.sion"));
  fuzz::pack(seed, 1, load(kData / "sion/multi2.sion.000001"));
  store("sion", "multi2", seed);
  const auto ours = [](const std::string& name, const MemoryFileSystem& disk) {
    Seed packed = with_head({0}, {});
    for (std::uint32_t index = 0; disk.exists(sion_file_name("box", index)); ++index)
      fuzz::pack(packed, index, disk.content(sion_file_name("box", index)));
    store("sion", name, packed);
  };
  ours("ours_one", small_container(1, {1}));
  ours("ours_two_files", small_container(2, {4}));
  ours("ours_grown", small_container(1, {2, 3}));
}

void make_root() {
  for (const int ranks : {1, 3}) {
    const auto disk = small_container(1, {ranks});
    const auto seen = probe(*disk.open("box", OpenMode::kRead).value()).value();
    const auto tasks = static_cast<unsigned>(ranks + 1);
    const auto sector = encode_root(seen.root);
    Root older = seen.root;
    --older.sequence;
    Seed both = with_head({0, tasks, 0}, sector);
    const auto other = encode_root(older);
    both.insert(both.end(), other.begin(), other.end());
    store("root", fmt::format("both_{}", ranks), both);
    store("root", fmt::format("sealed_{}", ranks),
          with_head({1, tasks, 0}, std::span(sector).first(240)));
  }
  Root grown;
  grown.fs_block = 4096;
  grown.sequence = 5;
  grown.groups = {{7, 3, 1u << 20}, {2, 1, 1u << 20}, {100, 100, 1u << 20}};
  const auto sector = encode_root(grown);
  store("root", "groups", with_head({1, 3, 0}, std::span(sector).first(260)));
  grown.groups = {{7, 1, 1u << 20}, {2, 0, 1u << 20, 7}, {9, 0, 1u << 20}, {3, 3, 1u << 20}};
  const auto brought = encode_root(grown);
  store("root", "one_file", with_head({1, 3, 0}, std::span(brought).first(352)));
}

void make_segment() {
  Segment some;
  some.step = 3;
  some.datasets = {{0, {}, 8, 2, 0}, {4, {}, 4, 1, 1}, {5, {}, 2, 0, 0}};
  some.deleted = {1, 2};
  some.extents = {{0, 9, Dims{5, 8}}};
  for (std::uint64_t i = 0; i < 6; ++i) {
    Record record;
    record.box = {Dims{2 * i, i % 2}, Dims{3, 4}};
    record.order = {8 + i % 3, 1000 + i * i, static_cast<std::uint32_t>(i)};
    record.where = {static_cast<std::uint32_t>(i), 4096 * i};
    record.stored_bytes = 96;
    some.records.push_back(record);
    record.dataset = 4;
    record.box = {Dims{10 * i}, Dims{10}};
    some.records.push_back(record);
  }
  Record scalar;
  scalar.dataset = 5;
  scalar.box = {Dims(0), Dims(0)};
  some.records.push_back(scalar);
  store("segment", "some", encode_entries(some));
  Segment regular = some;
  regular.datasets = {{0, {}, 8, 1, 0}};
  regular.records.clear();
  for (std::uint64_t i = 0; i < 100; ++i) {
    Record record;
    record.box = {Dims{i * 10}, Dims{10}};
    regular.records.push_back(record);
  }
  store("segment", "regular", encode_entries(regular));
  store("segment", "empty", encode_entries({}));
}

Seed contribution_of(std::uint32_t ranks, std::uint64_t step, bool regular) {
  ContributionBuilder::Options options;
  options.ranges = true;
  std::vector<Seed> parts;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    ContributionBuilder builder(options);
    const std::uint64_t start = regular ? rank * 10 : (rank * 17 + step * 5) % 31;
    Record record;
    record.box = {Dims{start, regular ? 0 : rank}, Dims{10, regular ? 40 : 1 + rank % 3}};
    record.order = {2 * step, step, rank};
    record.where = {rank, 4096 * step};
    record.stored_bytes = record.box.elements() * 8;
    record.header_distance = 200;
    REQUIRE(builder.add(record, 8, ValueRange{rank, rank + 5}));
    parts.push_back(builder.encode());
  }
  Seed all = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) all = merge_contributions(all, parts[i]).value();
  return all;
}

/// An index of some steps as the target takes it: length of the root, the root, all blobs where
/// their references say.
Seed index_of(std::uint64_t steps, bool regular) {
  constexpr std::size_t kRoot = 1 + 120;
  MemoryBlobs blobs;
  blobs.bytes().resize(kRoot);
  BlobRef root;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    StepCommit commit;
    commit.step = AbsoluteStep(step);
    if (step == 1) {
      DatasetDeclaration dataset;
      dataset.rank = 2;
      dataset.element_bytes = 8;
      commit.declared.push_back(dataset);
    }
    if (step == 3) commit.extents.push_back({0, 2 * step, Dims{33, 40}});
    const Seed contribution = contribution_of(4, step, regular);
    commit.contribution = contribution;
    root = commit_step(blobs, blobs, root, commit).value().root;
  }
  Seed store = blobs.bytes();
  REQUIRE(root.bytes < kRoot);
  store[0] = static_cast<std::byte>(root.bytes);
  std::copy_n(store.begin() + static_cast<std::ptrdiff_t>(root.position), root.bytes,
              store.begin() + 1);
  return store;
}

void make_index_segments() {
  ByteWriter run;
  Row row;
  Record record;
  record.box = {Dims{0, 0}, Dims{4, 4}};
  record.stored_bytes = 128;
  REQUIRE(to_row({2, 8}, record, row));
  RecordRun rows(RowShape{2, 8}.width(), row);
  for (std::uint64_t i = 1; i < 20; ++i) {
    record.box.start = Dims{i / 5 * 4, i % 5 * 4};
    record.where.offset += 512;
    REQUIRE(to_row({2, 8}, record, row));
    rows.append(RecordRun(RowShape{2, 8}.width(), row));
  }
  rows.encode(run);
  store("index_segments", "run", with_head({0}, run.view()));
  Seed two = contribution_of(5, 1, true);
  store("index_segments", "one_contribution", with_head({1}, two));
  // The target merges the halves.
  two.insert(two.end(), two.begin(), two.end());
  store("index_segments", "two_contributions", with_head({1}, two));
  const Seed irregular = contribution_of(9, 2, false);
  store("index_segments", "irregular_contribution", with_head({1}, irregular));
  store("index_segments", "one_step", with_head({2}, index_of(1, true)));
  store("index_segments", "five_steps", with_head({2}, index_of(5, true)));
  store("index_segments", "irregular_steps", with_head({2}, index_of(20, false)));
  ByteWriter page;
  page.u8(1);
  page.varint(1);
  page.bytes(run.view());
  store("index_segments", "page_of_runs", with_head({3}, page.view()));
}

void make_fills() {
  const std::vector<ChunkFill> fills = {{16384, 16384, 5}, {}, {0}, {100, 0, 16384}};
  store("fills", "four", with_head({4, 0, 14}, encode_fills(fills)));
  store("fills", "none", with_head({9, 0, 20}, encode_fills(std::vector<ChunkFill>(9))));
  store("fills", "full", with_head({1, 0, 43}, encode_fills(std::vector<ChunkFill>{{1ull << 43}})));
}

void make_message() {
  ByteWriter good;
  put_status(good, {});
  store("message", "good", std::move(good).take());
  ByteWriter bad;
  put_status(bad, fail(Code::kNoSpace, "'/scratch/box': no space left", 28));
  store("message", "bad", std::move(bad).take());
}

void make_fti() {
  for (const auto& [version, layout] : {std::pair("v1.1", 0u), std::pair("v1.6", 1u)})
    for (const auto* name :
         {"ckpt1/Ckpt1-Rank0", "ckpt2/Ckpt2-Rank1", "ckpt4/Ckpt4-Rank0", "ckpt3/Ckpt3-RSed0"}) {
      const auto content = load(kData / "fti" / version / "mixed" / fmt::format("{}.fti", name));
      const std::string seed = fmt::format("{}_{}", version, fs::path(name).filename().string());
      store("fti", seed, with_head({layout}, content));
      // The same with sizes and hash of the meta made right whatever is changed.
      store("fti", seed + "_sealed", with_head({layout | 2}, content));
    }
  const auto disk = small_container(1, {2});
  auto reader = SionReader::open(disk.opener(), "box").value();
  Seed stream(static_cast<std::size_t>(reader.stream_bytes(0)));
  REQUIRE(reader.read_stream(0, 0, stream));
  store("fti", "ours", with_head({4}, stream));
  store("fti", "ours_sealed", with_head({6}, stream));
}

TEST_CASE("make the seeds of tests/data/fuzz", "[.][make-corpus]") {
  make_sion();
  make_root();
  make_segment();
  make_index_segments();
  make_fills();
  make_message();
  make_fti();
}

}  // namespace
}  // namespace bento
