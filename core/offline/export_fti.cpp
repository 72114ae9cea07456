// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/offline/export_fti.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "core/base/checked.hpp"
#include "core/fti/names.hpp"
#include "core/fti/writer.hpp"
#include "core/offline/live_records.hpp"
#include "core/offline/offline.hpp"

namespace bento {

namespace {

/// A live record of one writer.
struct Live {
  Position position = 0;
  DatasetNumber dataset = 0;
  std::size_t record = 0;   ///< in the index
  std::uint64_t dptr = 0;   ///< in its variable
  std::uint64_t bytes = 0;  ///< decoded
};

/// Reads the live records of one writer, each once and from front to back, and verifies them.
class RankData {
 public:
  RankData(OfflineContainer& container, StreamPlace place, std::span<const Live> records,
           const DecodeRecord& decode)
      : container_(container), place_(std::move(place)), records_(records), decode_(decode) {}

  Status read(std::int32_t id, std::uint64_t offset, std::span<std::byte> into) {
    // Asked in file order: it is the record at hand, or the next one that is not empty.
    while (next_ < records_.size() && !holds(records_[next_], id, offset)) {
      ++next_;
      decoded_.clear();
      hasher_.reset();
    }
    if (next_ == records_.size())
      return fail(Code::kInternal,
                  fmt::format("export: byte {} of variable {} was not expected", offset, id));
    const Live& live = records_[next_];
    const Record record = container_.index().record(live.dataset, live.record);
    const std::uint64_t skip = offset - live.dptr;
    if (record.encoding != Encoding::kPlain) {
      if (skip == 0) BENTO_TRY(decode(record, live));
      std::copy_n(decoded_.begin() + static_cast<std::ptrdiff_t>(skip), into.size(), into.begin());
      return {};
    }
    if (skip == 0) hasher_.emplace(container_.root().record_hash());
    BENTO_TRY(place_.file->read_at(place_.address(live.position) + skip, into));
    hasher_->update(into);
    if (skip + into.size() < live.bytes) return {};
    return check(record, hasher_->digest());
  }

 private:
  static bool holds(const Live& live, std::int32_t id, std::uint64_t offset) {
    return live.dataset == static_cast<DatasetNumber>(id) && offset >= live.dptr &&
           offset - live.dptr < live.bytes;
  }

  [[nodiscard]] std::string where(const Record& record) const {
    return fmt::format("'{}': record of dataset {} at byte {} ({} bytes, stream of writer {})",
                       place_.file->path(), record.dataset, place_.address(record.where.offset),
                       record.stored_bytes, place_.writer);
  }

  Status check(const Record& record, const Hash128& found) const {
    if (record.hash == Hash128{} || found == record.hash) return {};
    return fail(Code::kCorrupt, where(record) + " does not match its checksum");
  }

  Status decode(const Record& record, const Live& live) {
    std::vector<std::byte> stored(static_cast<std::size_t>(record.stored_bytes));
    BENTO_TRY(place_.file->read_at(place_.address(record.where.offset), stored));
    BENTO_TRY(check(record, fti::chunk_hash(container_.root().record_hash(), stored)));
    auto decoded = decode_(record, std::move(stored));
    if (!decoded) return fail(std::move(decoded).error().with_context(where(record)));
    if (decoded->size() != live.bytes)
      return fail(Code::kCorrupt, fmt::format("{}: {} bytes behind the filters, want {}",
                                              where(record), decoded->size(), live.bytes));
    decoded_ = std::move(*decoded);
    return {};
  }

  OfflineContainer& container_;
  StreamPlace place_;
  std::span<const Live> records_;
  const DecodeRecord& decode_;
  std::size_t next_ = 0;
  std::optional<fti::ChunkHasher> hasher_;
  std::vector<std::byte> decoded_;
};

class Exporter {
 public:
  Exporter(OfflineContainer& container, const std::string& folder, const ExportFtiOptions& options)
      : container_(container), folder_(folder), options_(options) {}

  Result<std::vector<ExportedRank>> run() {
    BENTO_TRY(list_records());
    std::vector<ExportedRank> ranks;
    for (std::uint32_t writer = 0; writer < container_.plan().writers(); ++writer) {
      BENTO_ASSIGN(ExportedRank rank, one(writer));
      ranks.push_back(std::move(rank));
    }
    return ranks;
  }

 private:
  /// All are looked at before the first file is begun: what must be refused is refused at once.
  Status list_records() {
    const Index& index = container_.index();
    live_.resize(container_.plan().writers());
    for (const DatasetNumber dataset : index.datasets()) {
      const std::uint64_t element_bytes = index.find(dataset)->element_bytes;
      BENTO_ASSIGN(const auto live, live_records(index, dataset));
      for (std::size_t i = 0; i < live.size(); ++i) {
        if (!live[i]) continue;
        const Record record = index.record(dataset, i);
        BENTO_TRY(acceptable(record));
        Live found{record.where.offset, dataset, i, 0, record.stored_bytes};
        if (record.encoding != Encoding::kPlain) {
          BENTO_ASSIGN(found.bytes, checked_mul(record.box.elements(), element_bytes));
        }
        live_[record.where.task].push_back(found);
      }
    }
    for (auto& records : live_) {
      std::sort(records.begin(), records.end(),
                [](const Live& a, const Live& b) { return a.position < b.position; });
      std::map<DatasetNumber, std::uint64_t> sizes;
      for (Live& record : records) {
        std::uint64_t& size = sizes[record.dataset];
        record.dptr = size;
        BENTO_ASSIGN(size, checked_add(size, record.bytes));
      }
    }
    return {};
  }

  [[nodiscard]] Status acceptable(const Record& record) const {
    const ContainerPlan& plan = container_.plan();
    if (record.where.task >= plan.writers())
      return fail(Code::kCorrupt,
                  fmt::format("'{}': a record of writer {}, there are {}", container_.path(),
                              record.where.task, plan.writers()));
    const std::uint32_t index = plan.file_of(record.where.task);
    const FilePlan& file = plan.file(index);
    const auto where = [&] {
      return fmt::format(
          "'{}': record of dataset {} at position {} ({} bytes, stream of writer {})",
          physical_name(container_.path(), index), record.dataset, record.where.offset,
          record.stored_bytes, record.where.task);
    };
    if (record.where.offset > kMaxLogicalBytes ||
        record.stored_bytes > file.chunk_bytes - record.where.offset % file.chunk_bytes)
      return fail(Code::kCorrupt,
                  fmt::format("{} does not lie in one chunk of {}", where(), file.chunk_bytes));
    if (record.encoding != Encoding::kPlain && !options_.decode)
      return fail(Code::kUnsupported,
                  fmt::format("{} is filtered (compressed): FTI knows no filters, and nothing is "
                              "here to decode it",
                              where()));
    if (record.dataset > static_cast<DatasetNumber>(std::numeric_limits<std::int32_t>::max()))
      return fail(Code::kUnsupported,
                  fmt::format("{}: the number of the dataset is no id for FTI", where()));
    return {};
  }

  [[nodiscard]] Result<fti::Checkpoint> checkpoint(std::span<const Live> records) const {
    fti::Checkpoint made;
    made.layout = options_.layout;
    std::map<DatasetNumber, std::int32_t> ids;  // how many containers so far; later: idx
    for (const Live& record : records) ids[record.dataset] = 0;
    std::map<DatasetNumber, std::int32_t> places;
    for (const auto& [dataset, none] : ids)
      places.emplace(dataset, static_cast<std::int32_t>(places.size()));
    if (!records.empty()) made.blocks.resize(1);
    for (const Live& record : records) {
      fti::Container container;
      container.id = static_cast<std::int32_t>(record.dataset);
      container.idx = options_.layout == fti::Layout::kV11 ? places[record.dataset] : 0;
      container.containerid = ids[record.dataset]++;
      container.hascontent = true;
      container.dptr = record.dptr;
      container.chunksize = container.containersize = record.bytes;
      made.blocks[0].containers.push_back(container);
    }
    BENTO_TRY(fti::place(made));
    return made;
  }

  Result<ExportedRank> one(std::uint32_t writer) {
    const std::vector<Live>& records = live_[writer];
    BENTO_ASSIGN(fti::Checkpoint made, checkpoint(records));
    ExportedRank rank;
    rank.path = folder_ + "/" + fti::format_name({fti::FileKind::kRank, options_.ckpt_id, writer});
    rank.containers = records.size();
    fti::WriteOptions how;
    how.timestamp = options_.timestamp_ns;
    how.ckpt_id = options_.ckpt_id;
    BENTO_ASSIGN(const StreamPlace place, container_.place(writer));
    RankData data(container_, place, records, options_.decode);
    BENTO_ASSIGN(const auto out, options_.write(rank.path, OpenMode::kCreate));
    BENTO_TRY(fti::write_checkpoint(
        *out, made,
        [&data](std::int32_t id, std::uint64_t offset, std::span<std::byte> into) {
          return data.read(id, offset, into);
        },
        how));
    rank.bytes = made.meta.ckpt_size;
    BENTO_TRY(out->close());
    return rank;
  }

  OfflineContainer& container_;
  const std::string& folder_;
  const ExportFtiOptions& options_;
  std::vector<std::vector<Live>> live_;  ///< per writer, in the order of its stream
};

}  // namespace

Result<std::vector<ExportedRank>> export_fti(const std::string& path, const std::string& folder,
                                             const ExportFtiOptions& options) {
  BENTO_ASSIGN(const auto container, OfflineContainer::open(path, options.read));
  return Exporter(*container, folder, options).run();
}

}  // namespace bento
