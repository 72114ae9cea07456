// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/offline/offline.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/catalogue/catalogue.hpp"
#include "core/catalogue/committed_index.hpp"
#include "core/layout/holder.hpp"
#include "core/stream/record_hash.hpp"

namespace bento {

namespace {

Status more_than_said(const std::string& path, const StepSegment& segment) {
  return fail(Code::kCorrupt,
              fmt::format("'{}': step {} of dataset {} says that it has {} records, and has more",
                          path, segment.step().number(), segment.dataset(), segment.records()));
}

/// Of which something can be seen, the oldest first: a later step is later whatever the orders are.
Result<std::vector<Record>> records_by_age(CommittedIndex& committed,
                                           const DatasetDeclaration& dataset) {
  BENTO_ASSIGN(const StepLookup found,
               committed.look_up(dataset.number, whole_space(dataset.rank)));
  std::vector<bool> visible(found.records.size(), false);
  for (const Piece& piece : found.pieces) visible[piece.record] = true;
  std::vector<const FoundRecord*> seen;
  for (std::size_t i = 0; i < found.records.size(); ++i)
    if (visible[i]) seen.push_back(&found.records[i]);
  std::stable_sort(seen.begin(), seen.end(), [](const FoundRecord* a, const FoundRecord* b) {
    return a->step != b->step ? a->step < b->step : a->record.order < b->record.order;
  });
  std::vector<Record> records;
  records.reserve(seen.size());
  for (const FoundRecord* one : seen) records.push_back(one->record);
  return records;
}

}  // namespace

Result<std::unique_ptr<OfflineContainer>> OfflineContainer::open(const std::string& path,
                                                                 const FileOpener& opener) {
  auto container = std::unique_ptr<OfflineContainer>(new OfflineContainer(path, opener));
  container->files_.resize(1);
  BENTO_ASSIGN(container->files_[0], opener(path, OpenMode::kRead));
  File* const first = container->files_[0].get();
  container->names_ = ContainerNames::of(*first);
  BENTO_ASSIGN(const Probe seen, probe(*first));
  if (seen.kind != FileKind::kContainer)
    return fail(Code::kCorrupt, fmt::format("'{}' holds no valid h5bento root{}{}", path,
                                            seen.problem.empty() ? "" : ": ", seen.problem));
  BENTO_TRY(refuse_joined(path, seen.root));
  if ((seen.root.flags & kRootProvisional) != 0)
    return fail(Code::kNotFound, fmt::format("'{}' holds no committed data", path));
  container->root_ = seen.root;
  container->begun_ = !read_holder_note(*first).empty();
  BENTO_ASSIGN(container->plan_, ContainerPlan::of(seen.root.groups, seen.root.fs_block));
  container->rule_ = PartRule(path, seen.root);
  BENTO_TRY(container->rule_.check_first(*first, container->plan_.file(0)));
  container->files_.resize(container->plan_.files());

  Catalogue catalogue(*first, container->plan_.file(0));
  BENTO_ASSIGN(const auto fills,
               read_stream_table(catalogue, seen.root.streams, container->plan_,
                                 [&](std::uint32_t index) -> Result<std::uint64_t> {
                                   BENTO_ASSIGN(File* const handle, container->file(index));
                                   return handle->size();
                                 }));
  BENTO_ASSIGN(container->fills_,
               decode_fills(fills, container->plan_.writers(), container->plan_.largest_chunk()));
  BENTO_ASSIGN(CommittedIndex committed,
               CommittedIndex::open(*first, container->plan_.file(0), seen.root.index));
  if (committed.empty())
    return fail(Code::kCorrupt, fmt::format("'{}': the root names no step index", path));
  committed.set_room([&container] { return container->room(); });
  BENTO_ASSIGN(const auto datasets, committed.steps().datasets());
  for (const auto& dataset : datasets) BENTO_TRY(container->load(committed, dataset));
  return container;
}

// Only what can be seen: space of other records may have been written anew.
Status OfflineContainer::load(CommittedIndex& committed, const DatasetDeclaration& dataset) {
  index_.declare(dataset);
  BENTO_ASSIGN(const std::vector<Record> seen, records_by_age(committed, dataset));
  if (seen.empty()) return {};
  BENTO_ASSIGN(const auto steps, committed.steps().stored_steps(dataset.number));
  std::vector<StepSegment> segments;
  for (const AbsoluteStep step : steps) {
    BENTO_ASSIGN(auto segment, committed.steps().segment(dataset.number, step));
    if (!segment) continue;
    for (const auto& event : segment->extents()) BENTO_TRY(index_.clip(event));
    segments.push_back(std::move(*segment));
  }
  Hashes hashes;
  std::uint64_t age = 0;
  for (Record record : seen) {
    BENTO_TRY(check(record));
    BENTO_ASSIGN(const StreamPlace at, place(record.where.task));
    auto hash = stored_hash(*at.file, at.address(record.where.offset), record);
    // What cannot be read is for the verification of the stream to say.
    if (hash) {
      record.hash = *hash;
      hashes[{record.where, record.order.collective}] = *hash;
    }
    // A session goes on with the collective count at which the one before ended, and times are only
    // stored where ranks wrote the same place: between steps they say nothing.
    record.order.time_ns = ++age;
    record.order.rank = 0;
    BENTO_TRY(index_.add(record));
  }
  for (const auto& segment : segments) BENTO_TRY(compare_digest(committed, segment, hashes));
  return {};
}

// Only of steps that can still be seen as a whole: dbvars of other records may say something newer.
Status OfflineContainer::compare_digest(CommittedIndex& committed, const StepSegment& segment,
                                        const Hashes& hashes) {
  if (segment.records() == 0 || segment.records() > hashes.size()) return {};
  RecordDigest found;
  Location first;
  std::uint64_t seen = 0;
  std::uint64_t all = 0;
  QueryBudget budget;
  BENTO_TRY(segment.find(committed.source(), nullptr, budget,
                         [&](std::uint64_t, const Record& stored) -> Status {
                           if (++all > segment.records()) return more_than_said(path_, segment);
                           const auto hash = hashes.find({stored.where, stored.order.collective});
                           if (hash == hashes.end()) return {};
                           if (seen++ == 0) first = stored.where;
                           Record record = stored;
                           record.hash = hash->second;
                           found.add(record);
                           return {};
                         }));
  if (seen == segment.records() && !(found == segment.digest()))
    lost_.push_back({segment.dataset(), segment.step(), first});
  return {};
}

Status OfflineContainer::check(const Record& record) const {
  if (record.where.task < plan_.writers() && record.where.offset <= kMaxLogicalBytes) return {};
  return fail(Code::kCorrupt,
              fmt::format("'{}': a record of writer {} at position {}, there are {} writers", path_,
                          record.where.task, record.where.offset, plan_.writers()));
}

Result<std::uint64_t> OfflineContainer::room() {
  std::uint64_t bytes = 0;
  for (std::uint32_t index = 0; index < plan_.files(); ++index) {
    BENTO_ASSIGN(File* const handle, file(index));
    BENTO_ASSIGN(const std::uint64_t one, handle->size());
    bytes += one;
  }
  return bytes;
}

Result<File*> OfflineContainer::file(std::uint32_t index) {
  if (!files_[index]) {
    BENTO_ASSIGN(files_[index], open_file(index, OpenMode::kRead));
  }
  return files_[index].get();
}

Result<std::unique_ptr<File>> OfflineContainer::open_file(std::uint32_t index, OpenMode mode) {
  BENTO_ASSIGN(auto handle, names_.open(index, mode, opener_));
  BENTO_TRY(index == 0
                ? rule_.check_first(*handle, plan_.file(0))
                : rule_.check_other(*handle, plan_.file(index), index, *files_[0], plan_.file(0)));
  return handle;
}

Result<StreamPlace> OfflineContainer::place(std::uint32_t writer) {
  const std::uint32_t index = plan_.file_of(writer);
  BENTO_ASSIGN(File* const handle, file(index));
  return StreamPlace{handle, plan_.file(index), plan_.local_task(writer), writer,
                     root_.stream_rules()};
}

}  // namespace bento
