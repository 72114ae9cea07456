// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/offline/older_records.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/base/guarded.hpp"
#include "core/fti/checksum.hpp"
#include "core/stream/record_hash.hpp"

namespace bento {

namespace {

constexpr std::size_t kKept = 1000;
/// States of datasets in older steps: each is looked up as a whole.
constexpr std::uint64_t kMostStates = 2000;
constexpr std::uint64_t kPieceBytes = 1u << 20;

struct OlderRecord {
  Record record;
  AbsoluteStep as_of;
};

class OlderCheck {
 public:
  OlderCheck(Survey& survey, const VerifyOptions& options) : survey_(survey), options_(options) {}

  Result<OlderVerdict> run() {
    BENTO_TRY(list());
    const std::size_t jobs =
        std::clamp<std::size_t>(options_.jobs, 1, std::max<std::size_t>(records_.size(), 1));
    std::vector<Status> results(jobs);
    const auto work = [&](std::size_t job) { results[job] = guarded([&] { return some(); }); };
    std::vector<std::thread> threads;
    for (std::size_t job = 1; job < jobs; ++job) {
      try {
        threads.emplace_back(work, job);
      } catch (const std::system_error&) {
        break;  // fewer do it, too
      }
    }
    work(0);
    for (auto& thread : threads) thread.join();
    for (auto& result : results) BENTO_TRY(std::move(result));
    std::ranges::sort(verdict_.findings, {}, [](const ContainerFinding& finding) {
      return std::pair(finding.writer, finding.address);
    });
    verdict_.records = looked_at_;
    return std::move(verdict_);
  }

 private:
  // A record is older than all steps that may show it: the first one seen says which.
  Status list() {
    std::set<Location> seen;
    const AbsoluteStep newest(survey_.root().step);
    const auto all =
        survey_.visit_records(kMostStates, [&](const Record& record, AbsoluteStep as_of) -> Status {
          if (record.where.task >= survey_.plan().writers() ||
              record.where.offset > kMaxLogicalBytes)
            return fail(Code::kCorrupt,
                        fmt::format("'{}': a record of writer {} at position {}, there are {} "
                                    "writers",
                                    survey_.path(), record.where.task, record.where.offset,
                                    survey_.plan().writers()));
          if (seen.insert(record.where).second && as_of != newest)
            records_.push_back({record, as_of});
          return {};
        });
    if (!all) return fail(all.error());
    verdict_.complete = *all;
    std::ranges::sort(records_, {}, [](const OlderRecord& one) { return one.record.where; });
    return {};
  }

  Status some() {
    std::unique_ptr<File> file;
    std::uint32_t opened = 0;
    while (!failed_) {
      const std::size_t i = next_.fetch_add(1);
      if (i >= records_.size()) return {};
      const std::uint32_t index = survey_.plan().file_of(records_[i].record.where.task);
      const auto check = [&]() -> Status {
        if (!file || opened != index) {
          BENTO_ASSIGN(file, options_.opener(survey_.files()[index].path, OpenMode::kRead));
          opened = index;
        }
        return one(*file, index, records_[i]);
      };
      Status done = check();
      if (done) continue;
      if (done.error().code != Code::kCorrupt) failed_ = true;
      if (failed_) return done;
      damaged(index, records_[i], done.error().text);
    }
    return {};
  }

  Status one(File& file, std::uint32_t index, const OlderRecord& older) {
    const Record& record = older.record;
    const FilePlan& plan = survey_.plan().file(index);
    const std::uint64_t address =
        plan.address(survey_.plan().local_task(record.where.task), record.where.offset);
    BENTO_ASSIGN(const Hash128 wanted, stored_hash(file, address, record));
    if (wanted == Hash128{}) return {};
    BENTO_ASSIGN(const std::uint64_t bytes, file.size());
    if (address > bytes || record.stored_bytes > bytes - address)
      return fail(Code::kCorrupt, "its data lies outside the file");
    fti::ChunkHasher hasher(survey_.root().record_hash());
    std::vector<std::byte> piece;
    for (std::uint64_t at = 0; at < record.stored_bytes; at += piece.size()) {
      piece.resize(static_cast<std::size_t>(std::min(kPieceBytes, record.stored_bytes - at)));
      BENTO_TRY(file.read_at(address + at, piece));
      hasher.update(piece);
      if (options_.progress) options_.progress(piece.size());
    }
    ++looked_at_;
    if (hasher.digest() == wanted) return {};
    return fail(Code::kCorrupt,
                fmt::format("its {} bytes do not have their hash", record.stored_bytes));
  }

  void damaged(std::uint32_t index, const OlderRecord& older, const std::string& why) {
    const Record& record = older.record;
    const std::uint32_t local = survey_.plan().local_task(record.where.task);
    const std::lock_guard lock(telling_);
    ++verdict_.count;
    if (verdict_.findings.size() >= kKept) return;
    verdict_.findings.push_back(
        {DamagedPart::kStream, survey_.files()[index].path,
         survey_.plan().file(index).address(local, record.where.offset), record.where.task,
         record.dataset, older.as_of.number(),
         fmt::format("a record that only older kept steps show, such as {}: {}",
                     older.as_of.number(), why)});
  }

  Survey& survey_;
  const VerifyOptions& options_;
  std::vector<OlderRecord> records_;
  std::mutex telling_;
  OlderVerdict verdict_;
  std::atomic<std::uint64_t> looked_at_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
};

}  // namespace

Result<OlderVerdict> verify_older_records(Survey& survey, const VerifyOptions& options) {
  return OlderCheck(survey, options).run();
}

}  // namespace bento
