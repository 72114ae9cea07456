// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/offline/export_fti.hpp"

#include <limits>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "core/base/checked.hpp"
#include "core/catalogue/committed_index.hpp"
#include "core/fti/evolve.hpp"
#include "core/fti/names.hpp"
#include "core/fti/writer.hpp"
#include "core/offline/offline.hpp"
#include "core/offline/rank_share.hpp"

namespace bento {

namespace {

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
    shares_.resize(container_.plan().writers());
    for (const DatasetNumber dataset : index.datasets()) {
      const DatasetDeclaration& declared = *index.find(dataset);
      BENTO_ASSIGN(const Lookup seen, index.find(dataset, whole_space(declared.rank)));
      if (!seen.pieces.empty()) variables_.push_back(dataset);
      for (const Piece& piece : seen.pieces) {
        const Record record = index.record(dataset, piece.record);
        BENTO_TRY(acceptable(record));
        BENTO_ASSIGN(const std::uint64_t bytes,
                     checked_mul(piece.part.elements(), declared.element_bytes));
        Variable& variable = shares_[record.where.task][dataset];
        variable.element_bytes = declared.element_bytes;
        BENTO_ASSIGN(variable.bytes, checked_add(variable.bytes, bytes));
        variable.parts.push_back({record, piece.part});
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
    if (record.encoding == Encoding::kVariable)
      return fail(
          Code::kUnsupported,
          fmt::format("{} holds elements of variable length, which FTI does not know", where()));
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

  /// As FTI itself would have written its first checkpoint: one container for each variable, in
  /// the order in which a program protects them.
  [[nodiscard]] Result<fti::Checkpoint> checkpoint(std::uint32_t writer) const {
    std::vector<fti::Protected> all;
    for (const DatasetNumber dataset : variables_) {
      const auto share = shares_[writer].find(dataset);
      all.push_back({static_cast<std::int32_t>(dataset),
                     share == shares_[writer].end() ? 0 : share->second.bytes});
    }
    if (!all.empty()) return fti::first_checkpoint(options_.layout, all);
    fti::Checkpoint none;
    none.layout = options_.layout;
    BENTO_TRY(fti::place(none));
    return none;
  }

  Result<ExportedRank> one(std::uint32_t writer) {
    BENTO_ASSIGN(fti::Checkpoint made, checkpoint(writer));
    ExportedRank rank;
    rank.path = folder_ + "/" + fti::format_name({fti::FileKind::kRank, options_.ckpt_id, writer});
    rank.containers = variables_.size();
    fti::WriteOptions how;
    how.timestamp = options_.timestamp_ns;
    how.ckpt_id = options_.ckpt_id;
    BENTO_ASSIGN(const StreamPlace place, container_.place(writer));
    std::optional<RankShare> share;
    BENTO_ASSIGN(const auto out, options_.write(rank.path, OpenMode::kCreate));
    BENTO_TRY(fti::write_checkpoint(
        *out, made,
        [&](std::int32_t id, std::uint64_t offset, std::span<std::byte> into) -> Status {
          // Asked in file order: each variable once, from front to back.
          if (offset == 0) {
            Variable& variable = shares_[writer][static_cast<DatasetNumber>(id)];
            share.emplace(container_.root().record_hash(), place, variable.element_bytes,
                          std::move(variable.parts), options_.decode);
          }
          return share->read(into);
        },
        how));
    rank.bytes = made.meta.ckpt_size;
    BENTO_TRY(out->close());
    return rank;
  }

  /// What a writer holds of one dataset.
  struct Variable {
    std::uint64_t element_bytes = 0;
    std::uint64_t bytes = 0;  ///< of all parts, decoded
    std::vector<SharePart> parts;
  };

  OfflineContainer& container_;
  const std::string& folder_;
  const ExportFtiOptions& options_;
  std::vector<DatasetNumber> variables_;  ///< datasets of which some writer holds something
  std::vector<std::map<DatasetNumber, Variable>> shares_;  ///< per writer
};

}  // namespace

Result<std::vector<ExportedRank>> export_fti(const std::string& path, const std::string& folder,
                                             const ExportFtiOptions& options) {
  BENTO_ASSIGN(const auto container, OfflineContainer::open(path, options.read));
  return Exporter(*container, folder, options).run();
}

}  // namespace bento
