// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/offline/survey.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/catalogue/catalogue.hpp"
#include "core/catalogue/catalogue_space.hpp"
#include "core/catalogue/catalogue_sweep.hpp"
#include "core/catalogue/committed_index.hpp"
#include "core/catalogue/view_table.hpp"
#include "core/container/published_view.hpp"
#include "core/io/file_lock.hpp"
#include "core/layout/holder.hpp"
#include "core/layout/identity.hpp"
#include "core/layout/superblock.hpp"

namespace bento {

namespace {

constexpr std::size_t kProblems = 20;
/// A writer that commits all the time is asked again so often.
constexpr int kTries = 20;
/// States of datasets in older steps that are looked at; beyond it would take long.
constexpr std::uint64_t kOlderStates = 2000;

/// Where a record lies, and how long it is.
using Seen = std::set<std::pair<Location, std::uint64_t>>;

class SpaceCount {
 public:
  SpaceCount(const std::vector<ChunkFill>& fills, const ContainerPlan& plan) : plan_(plan) {
    use_.chunks.reserve(fills.size());
    for (const auto& fill : fills) {
      auto& chunks = use_.chunks.emplace_back();
      for (const std::uint64_t used : fill) {
        chunks.push_back({used, 0, 0});
        use_.used += used;
      }
    }
  }

  void add(const Record& record, bool newest) {
    if (!seen_.insert({record.where, record.stored_bytes}).second) return;
    if (newest) ++use_.records;
    ChunkUse* const chunk = chunk_of(record.where);
    if (chunk == nullptr) return;
    // Records that overlap each other, as no writer leaves them, do not make more of a chunk.
    const std::uint64_t free = chunk->used - chunk->live - chunk->older;
    const std::uint64_t bytes = std::min(record.stored_bytes, free);
    (newest ? chunk->live : chunk->older) += bytes;
    (newest ? use_.live : use_.older) += bytes;
  }

  SpaceUse finish() {
    use_.dead = use_.used - use_.live - use_.older;
    return std::move(use_);
  }
  SpaceUse& use() { return use_; }

 private:
  ChunkUse* chunk_of(const Location& where) {
    if (where.task >= use_.chunks.size()) return nullptr;
    const std::uint64_t bytes = plan_.file(plan_.file_of(where.task)).chunk_bytes;
    auto& chunks = use_.chunks[where.task];
    if (bytes == 0 || where.offset / bytes >= chunks.size()) return nullptr;
    return &chunks[static_cast<std::size_t>(where.offset / bytes)];
  }

  const ContainerPlan& plan_;
  SpaceUse use_;
  Seen seen_;
};

}  // namespace

std::string describe_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!error && std::filesystem::is_directory(status)) return "a folder";
  if (!error && std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return "no regular file";
  const auto file = open_posix_file(path, OpenMode::kRead);
  if (!file) return "not readable";
  const auto identity = find_identity(**file);
  return describe(**file, identity ? *identity : std::nullopt);
}

Status check_is_container(const std::string& path, const FileOpener& opener) {
  // A pipe would be waited for.
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!error && std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return fail(Code::kInvalidArgument,
                fmt::format("'{}' is {}, and no h5bento container", path, describe_file(path)));
  BENTO_ASSIGN(const auto file, opener(path, OpenMode::kRead));
  BENTO_ASSIGN(const Probe seen, probe(*file));
  if (seen.kind == FileKind::kContainer) return {};
  BENTO_TRY(refuse_damaged(*file, seen));
  return fail(Code::kInvalidArgument, fmt::format("'{}' is {}, and no h5bento container", path,
                                                  describe(*file, std::nullopt)));
}

Result<Survey> Survey::open(const std::string& path, const FileOpener& opener) {
  BENTO_TRY(check_is_container(path, opener));
  Survey survey;
  Status looked;
  for (int tries = 0; tries < kTries; ++tries) {
    survey = Survey();
    survey.path_ = path;
    survey.opener_ = opener;
    looked = survey.look();
    if (looked && survey.problems_.empty() && survey.view() != ViewState::kEdited) break;
    // A writer may have gone on, and written over what the root of a moment ago refers to, or given
    // it another view; or both copies of the root, when one of them had been read.
    if (!survey.first_) break;
    BENTO_ASSIGN(const Probe now, probe(*survey.first_));
    const bool same =
        now.kind != FileKind::kContainer ||
        (now.root.sequence == survey.root_.sequence && now.mirrored == survey.root_is_mirrored_);
    if (same) break;
  }
  BENTO_TRY(std::move(looked));
  return survey;
}

Status Survey::look() {
  BENTO_ASSIGN(first_, opener_(path_, OpenMode::kRead));
  BENTO_ASSIGN(const Probe seen, probe(*first_));
  if (seen.kind != FileKind::kContainer)
    return fail(Code::kBusy, fmt::format("'{}' was replaced while it was read", path_));
  root_ = seen.root;
  root_is_mirrored_ = seen.mirrored;
  BENTO_TRY(refuse_joined(path_, root_));
  names_ = ContainerNames::of(*first_);
  BENTO_ASSIGN(plan_, ContainerPlan::of(root_.groups, root_.fs_block));
  holder_ = read_holder_note(*first_);
  if (is_locked(*first_))
    writing_ = Writing::kNow;
  else if (!closed() || !holder_.empty())
    writing_ = Writing::kEnded;
  look_at_files();
  look_at_view();
  if (!committed()) return {};
  if (!root_is_mirrored_ && writing_ != Writing::kNow)
    problem("only one of the two copies of the root is whole; 'h5bento repair' writes both");
  Catalogue catalogue(*first_, plan_.file(0));
  const auto read = [&]() -> Status {
    BENTO_ASSIGN(const auto bytes,
                 read_stream_table(catalogue, root_.streams, plan_,
                                   [this](std::uint32_t index) -> Result<std::uint64_t> {
                                     return files_[index].apparent;
                                   }));
    BENTO_ASSIGN(fills_, decode_fills(bytes, plan_.writers(), plan_.largest_chunk()));
    return {};
  };
  if (Status done = read(); !done)
    problem(fmt::format("the stream table cannot be read: {}", done.error().text));
  return {};
}

void Survey::look_at_files() {
  PartRule rule(path_, root_);
  if (Status first = rule.check_first(*first_, plan_.file(0)); !first) problem(first.error().text);
  files_.resize(plan_.files());
  for (std::uint32_t index = 0; index < plan_.files(); ++index) {
    SurveyedFile& file = files_[index];
    std::unique_ptr<File> opened;
    File* handle = first_.get();
    if (index > 0) {
      auto found = names_.open(index, OpenMode::kRead, opener_);
      if (!found) {
        file.path = names_.of_new(index);
        problem(found.error().text);
        continue;
      }
      opened = std::move(*found);
      handle = opened.get();
      Status same = rule.check_other(*handle, plan_.file(index), index, *first_, plan_.file(0));
      if (!same) problem(same.error().text);
    }
    file.found = true;
    // As the user named it, if that is where it is.
    file.path = physical_name(path_, index);
    if (index > 0 && absolute_name(file.path) != absolute_name(handle->path()))
      file.path = handle->path();
    if (const auto bytes = handle->size()) file.apparent = file.allocated = *bytes;
    struct stat found{};
    if (handle->descriptor() >= 0 && ::fstat(handle->descriptor(), &found) == 0)
      file.allocated = static_cast<std::uint64_t>(found.st_blocks) * 512;
  }
}

void Survey::look_at_view() {
  Superblock bytes{};
  if (!first_->read_some(plan_.file(0).superblock_address(), bytes)) return;
  const Hash128 hash = hash128(bytes);
  const bool never = root_.superblock == Hash128{};
  const bool ours =
      never ? bytes == Superblock{} : hash == root_.superblock || hash == root_.superblock_before;
  if (!ours && committed())
    view_ = ViewState::kEdited;
  else if (bytes != Superblock{})
    view_ = ViewState::kThere;
}

void Survey::problem(std::string text) {
  if (problems_.size() < kProblems) problems_.push_back(std::move(text));
}

std::uint64_t Survey::room() const {
  std::uint64_t bytes = 0;
  for (const auto& file : files_) bytes += file.apparent;
  return bytes;
}

Result<bool> Survey::visit_records(std::uint64_t most_states, const VisitRecord& visit) {
  if (!committed()) return true;
  const auto open_at = [&](std::optional<AbsoluteStep> step) -> Result<CommittedIndex> {
    BENTO_ASSIGN(CommittedIndex index,
                 CommittedIndex::open(*first_, plan_.file(0), root_.index, step));
    if (index.empty())
      return fail(Code::kCorrupt, fmt::format("'{}': the root names no step index", path_));
    index.set_room([this]() -> Result<std::uint64_t> { return room(); });
    return index;
  };
  const auto visit_at = [&](CommittedIndex& index, DatasetNumber number) -> Status {
    BENTO_ASSIGN(const auto dataset, index.steps().dataset(number));
    if (!dataset) return {};
    BENTO_ASSIGN(const RecordLookup all, index.find_all(number, dataset->rank));
    for (const auto& record : all.records) BENTO_TRY(visit(record, index.steps().as_of()));
    return {};
  };
  const auto visit_all = [&](CommittedIndex& index) -> Status {
    BENTO_ASSIGN(const auto datasets, index.steps().datasets());
    for (const auto& dataset : datasets) BENTO_TRY(visit_at(index, dataset.number));
    return {};
  };
  BENTO_ASSIGN(CommittedIndex newest, open_at(std::nullopt));
  BENTO_TRY(visit_all(newest));
  if (newest.steps().oldest() == newest.steps().newest()) return true;

  // A dataset looks as it did one step before each of the steps that wrote it, and in the oldest;
  // one that was deleted, also in the last step that wrote it.
  std::uint64_t states = 0;
  std::map<DatasetNumber, AbsoluteStep> last;
  std::vector<std::pair<AbsoluteStep, std::vector<DatasetNumber>>> older;
  const auto listed =
      newest.steps().visit_steps([&](AbsoluteStep step, const StepInfo& info) -> Status {
        states += info.datasets.size();
        if (states > most_states) return fail(Code::kUnsupported, "too many to look at");
        for (const DatasetNumber number : info.datasets) last.emplace(number, step);
        if (step > newest.steps().oldest())
          older.emplace_back(AbsoluteStep(step.number() - 1), info.datasets);
        return {};
      });
  if (states > most_states) return false;
  if (!listed) return fail(listed.error());
  BENTO_ASSIGN(const auto there, newest.steps().datasets());
  for (const auto& dataset : there) last.erase(dataset.number);
  for (const auto& [number, step] : last) older.emplace_back(step, std::vector{number});
  for (const auto& [step, written] : older) {
    BENTO_ASSIGN(CommittedIndex then, open_at(step));
    for (const DatasetNumber number : written) BENTO_TRY(visit_at(then, number));
  }
  BENTO_ASSIGN(CommittedIndex oldest, open_at(newest.steps().oldest()));
  BENTO_TRY(visit_all(oldest));
  return true;
}

Result<SpaceUse> Survey::space() {
  SpaceCount count(fills_, plan_);
  const AbsoluteStep newest(root_.step);
  BENTO_ASSIGN(count.use().older_counted,
               visit_records(kOlderStates, [&](const Record& record, AbsoluteStep step) -> Status {
                 count.add(record, step == newest);
                 return {};
               }));
  if (committed()) {
    BENTO_ASSIGN(const CommittedIndex index,
                 CommittedIndex::open(*first_, plan_.file(0), root_.index));
    if (!index.empty()) {
      BENTO_ASSIGN(const auto declared, index.steps().datasets());
      count.use().datasets = declared.size();
    }
  }
  return count.finish();
}

Result<bool> Survey::view_is_whole() {
  if (view_ != ViewState::kThere || root_.view.bytes == 0) return true;
  Superblock superblock{};
  BENTO_TRY(first_->read_some(plan_.file(0).superblock_address(), superblock));
  if (hash128(superblock) != root_.superblock) return true;  // that of the close before
  Catalogue catalogue(*first_, plan_.file(0));
  BENTO_ASSIGN(const auto bytes, catalogue.read(root_.view, "table of the native view"));
  BENTO_ASSIGN(const ViewTable table, decode_view_table(bytes));
  BENTO_ASSIGN(const Hash128 found, hash_of_view(*first_, plan_.file(0), table));
  return found == table.hash;
}

Result<ViewState> Survey::examined_view() {
  BENTO_ASSIGN(const bool whole, view_is_whole());
  return whole ? view_ : ViewState::kEdited;
}

Result<std::uint64_t> Survey::catalogue_in_use() {
  if (!committed()) return std::uint64_t{0};
  BENTO_ASSIGN(const Root root, in_use_of(*first_, plan_.file(0), root_));
  BENTO_ASSIGN(auto ranges, ranges_in_use(*first_, plan_.file(0), root));
  std::uint64_t bytes = 0;
  for (const auto& range : joined(std::move(ranges))) bytes += range.end - range.begin;
  return bytes;
}

}  // namespace bento
