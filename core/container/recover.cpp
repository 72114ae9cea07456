// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/recover.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/container/offline.hpp"
#include "core/container/sion_view.hpp"

namespace bento {

namespace {

/// The index's records, by writer and position.
std::vector<std::vector<Record>> records_of_writers(const OfflineContainer& container) {
  std::vector<std::vector<Record>> records(container.plan().writers());
  for (const DatasetNumber dataset : container.index().datasets())
    for (std::size_t i = 0; i < container.index().size(dataset); ++i) {
      Record record = container.index().record(dataset, i);
      if (record.where.task < records.size())
        records[record.where.task].push_back(std::move(record));
    }
  for (auto& part : records)
    std::sort(part.begin(), part.end(),
              [](const Record& a, const Record& b) { return a.where.offset < b.where.offset; });
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
  const auto records = records_of_writers(*container);
  const ContainerPlan& plan = container->plan();
  for (std::uint32_t index = 0; index < plan.files(); ++index) {
    BENTO_ASSIGN(const auto file, opener(physical_name(path, index), OpenMode::kReadWrite));
    const std::uint32_t first = plan.file(index).first_writer;
    for (std::uint32_t local = 0; local < plan.file(index).writers; ++local) {
      const std::uint32_t writer = first + local;
      const StreamPlace place{file.get(), plan.file(index), local, writer};
      const ChunkFill& fill = container->fill(writer);
      BENTO_ASSIGN(RepairedStream repaired,
                   repair_stream(place, fill, records[writer], container->root().record_hash()));
      append(report.rebuilt, std::move(repaired.rebuilt));
      append(report.beyond_repair, std::move(repaired.beyond_repair));
      BENTO_ASSIGN(auto lost, find_uncommitted(place, fill));
      append(report.lost, std::move(lost));
    }
    BENTO_TRY(file->close());
  }
  // Each session adds at most one physical file, and only the last session can have been cut off.
  const std::string next = physical_name(path, plan.files());
  if (auto file = opener(next, OpenMode::kRead)) {
    BENTO_ASSIGN(const bool ours, looks_like_sion(**file));
    if (ours) report.left_over.push_back(next);
    BENTO_TRY((*file)->close());
  }
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

  BENTO_ASSIGN(StreamsVerdict verdict, verify_streams(path, options.opener));
  report.damage = std::move(verdict.findings);
  report.damage_count = verdict.count;
  return report;
}

}  // namespace bento
