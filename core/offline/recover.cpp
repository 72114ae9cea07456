// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/offline/recover.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/layout/replace.hpp"
#include "core/offline/offline.hpp"

namespace bento {

namespace {

using RecordsOfWriters = std::vector<std::vector<Record>>;

bool lies_before(const Record& a, const Record& b) {
  return a.where.offset < b.where.offset;
}

/// What can be seen as of some kept step, by writer and position. Space of other records may have
/// been written anew.
Result<RecordsOfWriters> records_of_writers(OfflineContainer& container, File& first) {
  RecordsOfWriters records(container.plan().writers());
  const Root& root = container.root();
  const FilePlan& plan = container.plan().file(0);
  BENTO_ASSIGN(const CommittedIndex newest, CommittedIndex::open(first, plan, root.index));
  std::vector<AbsoluteStep> steps;
  BENTO_TRY(newest.steps().visit_steps([&](AbsoluteStep step, const StepInfo&) -> Status {
    steps.push_back(step);
    return {};
  }));
  std::reverse(steps.begin(), steps.end());
  for (const AbsoluteStep step : steps) {
    BENTO_ASSIGN(CommittedIndex committed, CommittedIndex::open(first, plan, root.index, step));
    committed.set_room([&container] { return container.room(); });
    BENTO_ASSIGN(const auto datasets, committed.steps().datasets());
    for (const auto& dataset : datasets) {
      BENTO_ASSIGN(RecordLookup seen, committed.find_all(dataset.number, dataset.rank));
      for (auto& record : seen.records)
        if (record.where.task < records.size())
          records[record.where.task].push_back(std::move(record));
    }
    for (auto& part : records) {
      std::sort(part.begin(), part.end(), lies_before);
      const auto same = [](const Record& a, const Record& b) { return a.where == b.where; };
      part.erase(std::unique(part.begin(), part.end(), same), part.end());
    }
  }
  return records;
}

Status go_through_streams(const std::string& path, const FileOpener& opener,
                          RecoveryReport& report) {
  BENTO_ASSIGN(const auto container, OfflineContainer::open(path, opener));
  report.step = container->root().step;
  report.was_closed = container->closed();
  const auto append = [](auto& to, auto&& from) {
    std::move(from.begin(), from.end(), std::back_inserter(to));
  };
  const ContainerPlan& plan = container->plan();
  BENTO_ASSIGN(const auto first_file, container->open_file(0, OpenMode::kRead));
  BENTO_ASSIGN(const RecordsOfWriters records, records_of_writers(*container, *first_file));
  BENTO_TRY(first_file->close());
  for (std::uint32_t index = 0; index < plan.files(); ++index) {
    BENTO_ASSIGN(const auto file, container->open_file(index, OpenMode::kReadWrite));
    const std::uint32_t first = plan.file(index).first_writer;
    for (std::uint32_t local = 0; local < plan.file(index).writers; ++local) {
      const std::uint32_t writer = first + local;
      const StreamPlace place{file.get(), plan.file(index), local, writer,
                              container->root().stream_rules()};
      const ChunkFill& fill = container->fill(writer);
      BENTO_ASSIGN(RepairedStream repaired, repair_stream(place, fill, records[writer]));
      append(report.rebuilt, std::move(repaired.rebuilt));
      append(report.beyond_repair, std::move(repaired.beyond_repair));
      BENTO_ASSIGN(auto lost, find_uncommitted(place, fill));
      append(report.lost, std::move(lost));
    }
    BENTO_TRY(file->close());
  }
  // Each session adds at most one physical file, and only the last session can have been cut off.
  const auto next = look_before_create(container->names(), plan.files(), container->root().file_id,
                                       plan.file(plan.files() - 1).superblock_address(), opener);
  if (next && *next == InTheWay::kOurs)
    report.left_over.push_back(container->names().of_new(plan.files()));
  return {};
}

}  // namespace

Result<RecoveryReport> recover(const std::string& path, const ContainerOptions& options,
                               const ViewBuilder& view) {
  RecoveryReport report;
  // Holds the lock while the streams are repaired.
  BENTO_ASSIGN(const auto container,
               Container::open(path, true, options, make_self_communicator()));
  Status done = go_through_streams(path, options.opener, report);
  if (!done) {
    container->abandon();
    return fail(std::move(done).error());
  }
  container->complete_again();
  done = container->close(view);
  report.notes = container->notes();
  // Streams with headers beyond repair cannot be marked; everything before that is in place.
  const bool expected =
      !done && done.error().code == Code::kCorrupt && !report.beyond_repair.empty();
  if (!done && !expected) return fail(std::move(done).error());

  VerifyOptions all;
  all.opener = options.opener;
  BENTO_ASSIGN(report.verdict, verify_container(path, all));
  return report;
}

}  // namespace bento
