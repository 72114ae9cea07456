// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Rank files made of a container: FTI accepts them under the rules of both releases, and they hold
// each writer's live records.
#include "core/offline/export_fti.hpp"

#include <algorithm>
#include <map>

#include "core/catalogue/catalogue.hpp"
#include "core/fti/variables.hpp"
#include "core/fti/verify.hpp"
#include "core/steps/segment_codec.hpp"
#include "tests/core/container/liveness_support.hpp"

namespace bento {
namespace {

using namespace test;
using fti::HashKind;
using fti::Layout;
using Values = std::vector<std::uint64_t>;

ExportFtiOptions options_for(const StreamSessions& box, Layout layout) {
  ExportFtiOptions options;
  options.layout = layout;
  options.ckpt_id = 7;
  options.timestamp_ns = 1'700'000'000'123'456'789;
  options.read = box.disk().opener();
  options.write = box.disk().opener();
  return options;
}

std::vector<ExportedRank> exported(const ExportFtiOptions& options) {
  auto ranks = export_fti("box", "out", options);
  if (!ranks) FAIL(ranks.error().text);
  return *ranks;
}

/// Verifies a rank file as its FTI would, and returns its variables.
std::map<std::int32_t, Values> content_of(const StreamSessions& box, const ExportedRank& rank,
                                          Layout layout) {
  INFO(rank.path);
  const auto bytes = box.disk().content(rank.path);
  CHECK(bytes.size() == rank.bytes);
  fti::MemorySource source(bytes, rank.path);
  const auto verdict = fti::verify(source);
  REQUIRE(verdict);
  for (const auto& finding : verdict->findings.kept()) FAIL_CHECK(finding.text);
  CHECK(verdict->fti_accepts());
  CHECK(verdict->layout == layout);
  CHECK(verdict->hash_kind == HashKind::kMd5);
  std::map<std::int32_t, Values> content;
  const auto variables = fti::Variables::of(verdict->checkpoint);
  REQUIRE(variables);
  for (const auto& variable : variables->list()) {
    Values values(static_cast<std::size_t>(variable.bytes / 8));
    REQUIRE(variables->read(source, variable.id, 0, std::as_writable_bytes(std::span(values))));
    content[variable.id] = values;
  }
  return content;
}

Values joined(std::initializer_list<Values> parts) {
  Values all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// A session that deletes dataset 0 and makes another with one filtered record, whose stored bytes
/// are those of a record of dataset 0.
void add_filtered_record(StreamSessions& box, const Box& region) {
  box.reopen(1, [&](Container& container) -> Status {
    BENTO_ASSIGN(const RecordLookup old, container.find(0, whole_space(2)));
    BENTO_ASSIGN(const auto stored, container.read_stored(old.records.at(0)));
    container.note_collective("again", {});
    const DatasetNumber fresh = container.declare({}, 8, 2, 0);
    container.remove(0);
    return container.write_filtered(fresh, region, 0, stored);
  });
}

}  // namespace

TEST_CASE("export to FTI: accepted by both releases, whatever hash the container has",
          "[core][container]") {
  for (const auto hash : {HashKind::kXxh3, HashKind::kMd5, HashKind::kNone})
    for (const Layout layout : {Layout::kV11, Layout::kV16}) {
      StreamSessions box(hash, 2);
      box.create(3, [](Container& container) -> Status {
        for (int i = 0; i < 2; ++i) (void)container.declare({}, 8, 2, 0);
        for (std::uint64_t step = 1; step <= 2; ++step) {
          BENTO_TRY(write_step(container, 1, step));
          BENTO_TRY(write_step(container, 0, 10 + step));
          BENTO_TRY(container.commit());
        }
        return {};
      });
      const auto ranks = exported(options_for(box, layout));
      REQUIRE(ranks.size() == 3);
      for (int rank = 0; rank < 3; ++rank) {
        const auto& file = ranks[static_cast<std::size_t>(rank)];
        CHECK(file.path == "out/Ckpt7-Rank" + std::to_string(rank) + ".fti");
        CHECK(file.containers == 2);
        const auto content = content_of(box, file, layout);
        REQUIRE(content.size() == 2);
        CHECK(content.at(0) == band_values(rows_of(rank, 3), 12));
        CHECK(content.at(1) == band_values(rows_of(rank, 3), 2));
      }
    }
}

TEST_CASE("export to FTI: what can be seen, in row-major order, across chunks and sessions",
          "[core][container]") {
  for (const Layout layout : {Layout::kV11, Layout::kV16}) {
    StreamSessions box;
    const Box wide{Dims{0, 0}, Dims{300, 100}};  // 240,000 bytes: several chunks
    box.create(2, [&](Container& container) -> Status {
      const DatasetNumber dataset = container.declare({}, 8, 2, 0);
      if (container.comm().rank() == 0) {
        BENTO_TRY(write_box(container, dataset, {Dims{400, 0}, Dims{10, 10}}, 1));
        BENTO_TRY(write_box(container, dataset, {Dims{500, 0}, Dims{10, 10}}, 1));
      }
      return {};
    });
    box.reopen(1, [&](Container& container) -> Status {
      container.note_collective("again", {});
      BENTO_TRY(write_box(container, 0, {Dims{400, 0}, Dims{10, 10}}, 2));
      return write_box(container, 0, wide, 3);
    });
    const auto ranks = exported(options_for(box, layout));
    REQUIRE(ranks.size() == 2);
    const auto content = content_of(box, ranks[0], layout);
    CHECK(content.at(0) ==
          joined({band_values(wide, 3), band_values({Dims{400, 0}, Dims{10, 10}}, 2),
                  band_values({Dims{500, 0}, Dims{10, 10}}, 1)}));
    CHECK(ranks[0].containers == 1);
    // Rank 1 wrote nothing.
    CHECK(content_of(box, ranks[1], layout) == std::map<std::int32_t, Values>{{0, {}}});
  }
}

TEST_CASE("export to FTI: what FTI 1.1 indexes its variables with is the place of the id",
          "[core][container]") {
  StreamSessions box;
  box.create(1, [](Container& container) -> Status {
    for (int i = 0; i < 4; ++i) (void)container.declare({}, 8, 2, 0);
    for (const DatasetNumber dataset : {3u, 0u, 2u}) BENTO_TRY(write_step(container, dataset, 1));
    return {};
  });
  const auto ranks = exported(options_for(box, Layout::kV11));
  const auto bytes = box.disk().content(ranks.at(0).path);
  fti::MemorySource source(bytes);
  const auto read = fti::read_checkpoint(source);
  REQUIRE(read);
  std::vector<std::pair<std::int32_t, std::int32_t>> places;
  for (const auto& container : read->blocks.at(0).containers)
    places.emplace_back(container.id, container.idx);
  CHECK(places == std::vector<std::pair<std::int32_t, std::int32_t>>{{0, 0}, {2, 1}, {3, 2}});
}

TEST_CASE("export to FTI: pieces beside each other, one over another, and of another rank",
          "[core][container]") {
  StreamSessions box;
  const Box whole{Dims{0, 0}, Dims{40, 30}};
  std::vector<std::uint64_t> wanted = band_values(whole, 1);
  const auto lay = [&](const Box& part, std::uint64_t step) {
    const auto values = band_values(part, step);
    copy_box(part, part, bytes_of(values).data(), whole,
             reinterpret_cast<std::byte*>(wanted.data()), 8);
  };
  const Box right{Dims{0, 20}, Dims{40, 10}}, left{Dims{0, 0}, Dims{40, 20}};
  const Box spot{Dims{10, 15}, Dims{7, 9}}, theirs{Dims{35, 0}, Dims{5, 30}};
  box.create(2, [&](Container& container) -> Status {
    const DatasetNumber dataset = container.declare({}, 8, 2, 0);
    if (container.comm().rank() == 0) {
      BENTO_TRY(write_box(container, dataset, right, 1));
      BENTO_TRY(write_box(container, dataset, left, 1));
      BENTO_TRY(write_box(container, dataset, spot, 2));
    }
    container.note_collective("then", {});
    if (container.comm().rank() == 1) BENTO_TRY(write_box(container, dataset, theirs, 3));
    return {};
  });
  lay(spot, 2);
  for (const Layout layout : {Layout::kV11, Layout::kV16}) {
    const auto ranks = exported(options_for(box, layout));
    const Values mine(wanted.begin(), wanted.begin() + 35 * 30);
    CHECK(content_of(box, ranks.at(0), layout).at(0) == mine);
    CHECK(content_of(box, ranks.at(1), layout).at(0) == band_values(theirs, 3));
  }
}

TEST_CASE("export to FTI: a damaged record is named, not exported", "[core][container]") {
  StreamSessions box;
  box.create(2, [](Container& container) -> Status {
    return write_step(container, container.declare({}, 8, 2, 0), 1);
  });
  auto opened = OfflineContainer::open("box", box.disk().opener());
  REQUIRE(opened);
  const Record record = (*opened)->index().record(0, 1);
  const std::uint64_t address = (*opened)->place(record.where.task)->address(record.where.offset);
  auto bytes = box.disk().content("box");
  bytes[static_cast<std::size_t>(address) + 100] ^= std::byte{1};
  box.disk().put("box", bytes);
  const auto ranks = export_fti("box", "out", options_for(box, Layout::kV16));
  REQUIRE_FALSE(ranks);
  CHECK(ranks.error().code == Code::kCorrupt);
  INFO(ranks.error().text);
  CHECK(ranks.error().text.find("'box'") != std::string::npos);
  CHECK(ranks.error().text.find("byte " + std::to_string(address)) != std::string::npos);
  CHECK(ranks.error().text.find("writer " + std::to_string(record.where.task)) !=
        std::string::npos);
}

TEST_CASE("export to FTI: filtered records need somebody who decodes them", "[core][container]") {
  StreamSessions box;
  box.create(1, [](Container& container) -> Status {
    return write_step(container, container.declare({}, 8, 2, 0), 1);
  });
  const Box region{Dims{0, 0}, Dims{kRows, 2 * kColumns}};
  add_filtered_record(box, region);
  ExportFtiOptions options = options_for(box, Layout::kV16);
  const auto refused = export_fti("box", "out", options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kUnsupported);
  CHECK(refused.error().text.find("dataset 1") != std::string::npos);
  CHECK(refused.error().text.find("filtered") != std::string::npos);
  CHECK(box.disk().names() == std::vector<std::string>{"box"});  // no file was begun

  // The "filter": every byte of the elements is there once instead of twice.
  options.decode = [&](const Record& record, std::vector<std::byte> stored) {
    CHECK(record.box == region);
    stored.insert(stored.end(), stored.begin(), stored.end());
    return Result<std::vector<std::byte>>(stored);
  };
  const auto ranks = exported(options);
  const auto content = content_of(box, ranks.at(0), Layout::kV16);
  CHECK(content.at(1) == joined({whole_values(1), whole_values(1)}));

  options.decode = [](const Record&, std::vector<std::byte> stored) {
    return Result<std::vector<std::byte>>(std::move(stored));
  };
  const auto short_one = export_fti("box", "out", options);
  REQUIRE_FALSE(short_one);
  CHECK(short_one.error().text.find("behind the filters") != std::string::npos);
}

TEST_CASE("export to FTI: nothing committed, no container, no file", "[core][container]") {
  StreamSessions box;
  CHECK(export_fti("box", "out", options_for(box, Layout::kV16)).error().code == Code::kNotFound);
  box.disk().put("box", std::vector<std::byte>(5000));
  CHECK(export_fti("box", "out", options_for(box, Layout::kV16)).error().code == Code::kCorrupt);
}

}  // namespace bento
