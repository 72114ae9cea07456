// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/offline/verify_streams.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "core/base/guarded.hpp"
#include "core/fti/verify.hpp"
#include "core/offline/index_shares.hpp"
#include "core/offline/live_records.hpp"
#include "core/offline/offline.hpp"
#include "core/stream/granule_table.hpp"
#include "core/stream/stream_gate.hpp"

namespace bento {

namespace {

using fti::Damage;

/// A stream whose file block may be older than its blocks: shows what a commit would write.
class UnfinishedSource final : public fti::Source {
 public:
  UnfinishedSource(StreamSource& stream, std::uint64_t bytes, const StreamRules& rules)
      : stream_(stream) {
    fti::v11::FileBlock block;
    block.checksum = fti::to_text({});  // compared with nothing, see judge()
    fti::v11::set_hash_kind(block, rules.hash);
    block.ckpt_size = block.fs = bytes;
    fti::v11::seal(block);
    const auto encoded = fti::v11::encode(block);
    head_.assign(encoded.begin(), encoded.end());
    if (!rules.for_fti) return;
    const auto gate = encode_gate({});
    head_.insert(head_.end(), gate.begin(), gate.end());
  }
  Result<std::uint64_t> size() override { return stream_.size(); }
  [[nodiscard]] std::string name() const override { return stream_.name(); }
  Status read_at(std::uint64_t offset, std::span<std::byte> into) override {
    BENTO_TRY(stream_.read_at(offset, into));
    for (std::size_t i = 0; i < into.size() && offset + i < head_.size(); ++i)
      into[i] = head_[static_cast<std::size_t>(offset) + i];
    return {};
  }

 private:
  StreamSource& stream_;
  std::vector<std::byte> head_;
};

/// A record of the index by where it lies.
struct Indexed {
  std::uint32_t writer = 0;
  Position position = 0;
  DatasetNumber dataset = 0;
  std::uint32_t record = 0;
  bool live = false;
};

/// Tells of what is read.
class CountedSource final : public fti::Source {
 public:
  CountedSource(fti::Source& below, const VerifyStreamsOptions& options)
      : below_(below), options_(options) {}
  Result<std::uint64_t> size() override { return below_.size(); }
  [[nodiscard]] std::string name() const override { return below_.name(); }
  Status read_at(std::uint64_t offset, std::span<std::byte> into) override {
    BENTO_TRY(below_.read_at(offset, into));
    if (options_.progress) options_.progress(into.size());
    return {};
  }

 private:
  fti::Source& below_;
  const VerifyStreamsOptions& options_;
};

/// The physical files as one thread has them open.
class OwnFiles {
 public:
  /// `opening` is locked while a file is opened, because the container changes then.
  OwnFiles(OfflineContainer& container, std::mutex& opening)
      : container_(container), opening_(opening) {}

  Result<StreamPlace> place(std::uint32_t writer) {
    const ContainerPlan& plan = container_.plan();
    const std::uint32_t index = plan.file_of(writer);
    // One is enough: a thread goes through the streams of a file one after the other.
    if (!file_ || index_ != index) {
      const std::lock_guard lock(opening_);
      BENTO_ASSIGN(file_, container_.open_file(index, OpenMode::kRead));
      index_ = index;
    }
    return StreamPlace{file_.get(), plan.file(index), plan.local_task(writer), writer,
                       container_.root().stream_rules()};
  }

 private:
  OfflineContainer& container_;
  std::mutex& opening_;
  std::uint32_t index_ = 0;
  std::unique_ptr<File> file_;
};

/// The streams of some writers, one after the other. Only reads what several of these share.
class StreamJudge {
 public:
  StreamJudge(OfflineContainer& container, std::mutex& opening, const VerifyStreamsOptions& options,
              const FtiShares& shares)
      : container_(container), files_(container, opening), options_(options), shares_(shares) {}

  Result<StreamsVerdict> run(std::uint32_t writer, std::span<const Indexed> records) {
    verdict_ = {};
    BENTO_TRY(stream(writer, records));
    return std::move(verdict_);
  }

 private:
  Status stream(std::uint32_t writer, std::span<const Indexed> records) {
    const ChunkFill& fill = container_.fill(writer);
    const std::uint64_t bytes = stream_bytes(fill);
    if (bytes == 0 && records.empty()) return {};  // never begun
    BENTO_ASSIGN(const StreamPlace place, files_.place(writer));
    StreamSource source(place, fill, container_.path());
    fti::Findings findings;
    if (bytes < container_.root().stream_rules().head_bytes()) {
      findings.add(Damage::kSize, 0, bytes,
                   fmt::format("{} bytes are no stream, {} records should lie there", bytes,
                               records.size()));
    } else {
      BENTO_TRY(judge(writer, source, bytes, records, findings));
    }
    ++verdict_.streams;
    verdict_.count += findings.count();
    for (const auto& finding : findings.kept()) {
      const Position at = bytes == 0 ? 0 : source.position(std::min(finding.offset, bytes - 1));
      verdict_.findings.push_back({writer, place.file->path(), place.address(at), finding, at});
    }
    return {};
  }

  Status judge(std::uint32_t writer, StreamSource& source, std::uint64_t bytes,
               std::span<const Indexed> records, fti::Findings& findings) {
    fti::VerifyOptions options;
    options.rules = fti::Rules::kStream;
    UnfinishedSource unfinished(source, bytes, container_.root().stream_rules());
    fti::Source& seen = container_.settled() ? static_cast<fti::Source&>(source) : unfinished;
    CountedSource counted(seen, options_);
    BENTO_ASSIGN(const fti::Verdict verdict, fti::verify(counted, options));
    verdict_.unhashed += verdict.unhashed;
    // Only a close marks what is dead, and numbers what is live.
    const auto may_lag = [&](const fti::Finding& finding) {
      return !container_.settled() &&
             (finding.damage == Damage::kChecksum || finding.damage == Damage::kOrder);
    };
    for (const auto& finding : verdict.findings.kept())
      if (!may_lag(finding) && !keeps_hash(verdict.checkpoint, finding) &&
          !is_reused(finding, records, source))
        findings.add(finding.damage, finding.offset, finding.bytes, finding.text, finding.record);
    compare(verdict.checkpoint, records, source, findings);
    check_gate(verdict.checkpoint, writer, findings);
    return check_tables(source, records, findings);
  }

  /// Is FTI let in where its restart would give other data than the rank's shares?
  void check_gate(const fti::Checkpoint& checkpoint, std::uint32_t writer,
                  fti::Findings& findings) const {
    const fti::Container* const gate = fti::find_gate(checkpoint);
    if (!container_.settled() || gate == nullptr || gate->id == fti::kFillerId) return;
    std::set<DatasetNumber> ids;
    for (const auto& block : checkpoint.blocks)
      for (const auto& c : block.containers) ids.insert(static_cast<DatasetNumber>(c.id));
    if (shares_.writers.contains(writer) && ids == shares_.datasets) return;
    findings.add(Damage::kOrder, gate->record_offset, 4,
                 "the gate is open, but the records are not the rank's shares of all datasets in "
                 "row-major order");
  }

  /// The hashes behind the data of large plain records, with which a reader verifies parts of it.
  Status check_tables(const StreamSource& source, std::span<const Indexed> records,
                      fti::Findings& findings) {
    const StreamRules rule = container_.root().stream_rules();
    for (const Indexed& indexed : records) {
      const Record record = container_.index().record(indexed.dataset, indexed.record);
      if (!indexed.live || record.encoding != Encoding::kPlain || record.hash == Hash128{} ||
          granule_table_bytes(rule, record.stored_bytes) == 0)
        continue;
      BENTO_ASSIGN(const StreamPlace place, files_.place(record.where.task));
      const auto table = read_granule_table(*place.file, place.address(record.where.offset), record,
                                            rule, record.hash);
      if (table) continue;
      if (table.error().code != Code::kCorrupt) return fail(table.error());
      findings.add(Damage::kChunkHash, source.offset(record.where.offset) + record.stored_bytes,
                   granule_table_bytes(rule, record.stored_bytes), table.error().text);
    }
    return {};
  }

  /// A container without content keeps its hash while older steps can be read, and afterwards: a
  /// session that keeps fewer steps does not go through all that others have written. Not with MD5,
  /// which FTI compares.
  [[nodiscard]] bool keeps_hash(const fti::Checkpoint& checkpoint,
                                const fti::Finding& finding) const {
    const bool for_fti = container_.root().stream_rules().hash == fti::HashKind::kMd5;
    if (for_fti || finding.damage != Damage::kChunkHash) return false;
    for (const auto& block : checkpoint.blocks)
      for (const auto& c : block.containers)
        if (finding.offset >= c.record_offset &&
            finding.offset < c.record_offset + fti::v11::kDbVarBytes)
          return !c.hascontent && !fti::is_filler(c);
    return false;
  }

  /// Where no live record begins whose data lack their hash, a writer was using the space of a dead
  /// one again, and did not come to its header.
  [[nodiscard]] bool is_reused(const fti::Finding& finding, std::span<const Indexed> records,
                               const StreamSource& source) const {
    return !container_.settled() && finding.damage == Damage::kChunkHash &&
           std::ranges::none_of(records, [&](const Indexed& record) {
             return record.live && source.offset(record.position) == finding.offset;
           });
  }

  /// Both the containers and the records come in file order.
  void compare(const fti::Checkpoint& checkpoint, std::span<const Indexed> records,
               const StreamSource& source, fti::Findings& findings) {
    auto next = records.begin();
    const auto missing = [&](const Indexed& record) {
      findings.add(Damage::kRecord, source.offset(record.position), 1,
                   fmt::format("record {} of dataset {} lies in no container", record.record,
                               record.dataset));
    };
    for (const auto& block : checkpoint.blocks)
      for (const auto& c : block.containers) {
        if (fti::is_filler(c) || &c == fti::find_gate(checkpoint)) continue;
        while (next != records.end() && source.offset(next->position) < c.fptr) missing(*next++);
        if (next == records.end() || source.offset(next->position) != c.fptr) {
          if (c.hascontent && container_.settled())
            findings.add(Damage::kOrder, c.record_offset + 12, 1,
                         fmt::format("a container of dataset {} has content, but the index knows "
                                     "no record at byte {}",
                                     c.id, c.fptr));
          continue;
        }
        same(c, *next++, findings);
      }
    while (next != records.end()) missing(*next++);
  }

  void same(const fti::Container& c, const Indexed& indexed, fti::Findings& findings) {
    const Record record = container_.index().record(indexed.dataset, indexed.record);
    if (c.id != static_cast<std::int32_t>(record.dataset) ||
        c.containersize < record.stored_bytes ||
        (c.hascontent && (c.chunksize != record.stored_bytes || c.hash != record.hash)))
      findings.add(Damage::kRecord, c.record_offset, fti::v11::kDbVarBytes,
                   fmt::format("the container's id {}, size {} or hash is not that of its record: "
                               "dataset {}, {} bytes",
                               c.id, c.containersize, record.dataset, record.stored_bytes));
    if (container_.settled() && c.hascontent != indexed.live)
      findings.add(
          Damage::kOrder, c.record_offset + 12, 1,
          fmt::format("hascontent is {:d}, but {} of the record of dataset {} can be seen",
                      c.hascontent, indexed.live ? "some part" : "nothing", record.dataset));
  }

  OfflineContainer& container_;
  OwnFiles files_;
  const VerifyStreamsOptions& options_;
  const FtiShares& shares_;
  StreamsVerdict verdict_;
};

class Verifier {
 public:
  Verifier(OfflineContainer& container, const VerifyStreamsOptions& options)
      : container_(container), options_(options) {}

  Result<StreamsVerdict> run() {
    BENTO_TRY(list_records());
    if (container_.root().stream_rules().for_fti) {
      BENTO_ASSIGN(shares_, shares_in(container_.index(), container_.plan().writers()));
    }
    verdicts_.resize(by_writer_.size());
    const std::size_t jobs = std::clamp<std::size_t>(options_.jobs, 1, by_writer_.size());
    std::vector<Status> results(jobs);
    const auto work = [&](std::size_t job) {
      results[job] = guarded([&] { return some_streams(); });
    };
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
    StreamsVerdict all;
    for (auto& verdict : verdicts_) merge(all, std::move(verdict));
    all.records = records_.size();
    for (const auto& lost : container_.lost_steps()) BENTO_TRY(report(lost, all));
    return all;
  }

 private:
  Status some_streams() {
    StreamJudge judge(container_, opening_, options_, shares_);
    while (!failed_) {
      const std::size_t writer = next_.fetch_add(1);
      if (writer >= by_writer_.size()) return {};
      auto verdict = judge.run(static_cast<std::uint32_t>(writer), by_writer_[writer]);
      if (!verdict) {
        failed_ = true;
        return fail(std::move(verdict).error());
      }
      verdicts_[writer] = std::move(*verdict);
    }
    return {};
  }

  static void merge(StreamsVerdict& to, StreamsVerdict from) {
    to.streams += from.streams;
    to.unhashed += from.unhashed;
    to.count += from.count;
    std::move(from.findings.begin(), from.findings.end(), std::back_inserter(to.findings));
  }

  Status report(const OfflineContainer::LostStep& lost, StreamsVerdict& to) {
    BENTO_ASSIGN(const StreamPlace place, container_.place(lost.first.task));
    const StreamSource source(place, container_.fill(lost.first.task), container_.path());
    ++to.count;
    to.findings.push_back(
        {lost.first.task,
         place.file->path(),
         place.address(lost.first.offset),
         {Damage::kRecord, source.offset(lost.first.offset), 1, fti::Finding::kNoRecord,
          fmt::format("the records of dataset {} are not those that step {} was committed with: "
                      "some of its writes never reached the device",
                      lost.dataset, lost.step.number())},
         lost.first.offset});
    return {};
  }

  Status list_records() {
    const Index& index = container_.index();
    for (const DatasetNumber dataset : index.datasets()) {
      BENTO_ASSIGN(const auto live, live_records(index, dataset));
      for (std::size_t i = 0; i < live.size(); ++i) {
        const Location where = index.record(dataset, i).where;
        records_.push_back(
            {where.task, where.offset, dataset, static_cast<std::uint32_t>(i), live[i]});
      }
    }
    std::sort(records_.begin(), records_.end(), [](const Indexed& a, const Indexed& b) {
      return a.writer != b.writer ? a.writer < b.writer : a.position < b.position;
    });
    auto next = records_.begin();
    for (std::uint32_t writer = 0; writer < container_.plan().writers(); ++writer) {
      const auto first = next;
      while (next != records_.end() && next->writer == writer) ++next;
      by_writer_.emplace_back(first, next);
    }
    if (next == records_.end()) return {};
    return fail(Code::kCorrupt,
                fmt::format("'{}': a record of writer {}, there are {}", container_.path(),
                            next->writer, container_.plan().writers()));
  }

  OfflineContainer& container_;
  const VerifyStreamsOptions& options_;
  FtiShares shares_;
  std::vector<Indexed> records_;
  std::vector<std::span<const Indexed>> by_writer_;
  std::vector<StreamsVerdict> verdicts_;
  std::mutex opening_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
};

}  // namespace

Result<StreamsVerdict> verify_streams(const std::string& path, const FileOpener& opener,
                                      const VerifyStreamsOptions& options) {
  BENTO_ASSIGN(const auto container, OfflineContainer::open(path, opener));
  return Verifier(*container, options).run();
}

}  // namespace bento
