// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/catalogue/committed_index.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/fti/v11.hpp"
#include "core/records/box_tree.hpp"

namespace bento {

namespace {

/// A dataset of so few records is taken into memory at the second question: many are asked for
/// once. One of up to kMostRecords when it was asked for kOften times, since each question then
/// costs more than a share of the whole.
constexpr std::uint64_t kFewRecords = 4096;
constexpr std::uint64_t kMostRecords = 1u << 20;
constexpr unsigned kAgain = 2;
constexpr unsigned kOften = 16;

/// What a question may find and visit before the sizes of the files are held against it.
constexpr std::uint64_t kFewFound = 1u << 16;
constexpr std::uint64_t kFewVisits = 1u << 21;
constexpr std::uint64_t kFewBoxes = 1u << 18;
/// A record takes its dbvar and something behind it.
constexpr std::uint64_t kLeastRecordBytes = fti::v11::kDbVarBytes;
/// Lines of single bytes, every other one along each dimension, leave a piece for two of them.
constexpr std::uint64_t kLeastBoxBytes = 2;

/// Leaves out records of which nothing can be seen.
RecordLookup take_seen(StepLookup found) {
  RecordLookup out;
  if (found.records.size() == 1 && !found.pieces.empty()) {  // all pieces are seen in it
    out.records.push_back(std::move(found.records.front().record));
  } else {
    const std::size_t none = found.records.size();
    std::vector<std::size_t> place(none, none);
    for (auto& piece : found.pieces) {
      if (place[piece.record] == none) {
        place[piece.record] = out.records.size();
        out.records.push_back(std::move(found.records[piece.record].record));
      }
      piece.record = place[piece.record];
    }
  }
  out.pieces = std::move(found.pieces);
  out.uncovered = std::move(found.uncovered);
  return out;
}

}  // namespace

Box whole_space(unsigned rank) {
  Box box{Dims(rank), Dims(rank)};
  for (unsigned d = 0; d < rank; ++d) box.count[d] = kMostElements;
  return box;
}

// --- blobs
// -------------------------------------------------------------------------------------------

Result<Blob> CatalogueBlobs::read(const BlobRef& ref) {
  BENTO_ASSIGN(auto bytes, catalogue_.read(catalogue_ref(ref), "index blob"));
  return std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

Status CatalogueBlobs::read_into(const BlobRef& ref, std::vector<std::byte>& bytes) {
  return catalogue_.read_into(catalogue_ref(ref), "index blob", bytes);
}

Result<std::uint64_t> CatalogueBlobs::stored_bytes() {
  BENTO_TRY(write_gathered());
  return catalogue_.file_bytes();
}

Result<BlobRef> CatalogueBlobs::append(std::span<const std::byte> bytes) {
  if (space_ == nullptr) return fail(Code::kInternal, "these blobs are for reading only");
  if (bytes.size() > kMaxBlobBytes)
    return fail(Code::kUnsupported,
                fmt::format("a part of the step index has {} bytes, at most {} can be read back; "
                            "write less in one step",
                            bytes.size(), kMaxBlobBytes));
  BENTO_ASSIGN(const CatalogueRef ref, catalogue_.append(*space_, bytes));
  return blob_ref(ref);
}

std::vector<std::byte> encode_payload(const StepPayload& payload) {
  ByteWriter out;
  put_ref(out, blob_ref(payload.skeleton));
  out.varint(payload.skeleton_bytes);
  return std::move(out).take();
}

Result<StepPayload> decode_payload(std::span<const std::byte> bytes) {
  ByteReader in(bytes, std::endian::little, "step payload");
  StepPayload payload;
  BENTO_ASSIGN(const BlobRef skeleton, get_ref(in));
  payload.skeleton = catalogue_ref(skeleton);
  BENTO_ASSIGN(payload.skeleton_bytes, in.varint());
  return payload;
}

// --- index
// -------------------------------------------------------------------------------------------

/// The visible pieces of one dataset.
class CommittedIndex::DatasetRecords {
 public:
  DatasetRecords(RecordLookup all, unsigned rank) : all_(std::move(all)), rank_(rank) {
    for (const auto& piece : all_.pieces) append_corners(corners_, piece.part);
    if (rank_ != 0) tree_.build(corners_, rank_, all_.pieces.size());
  }

  // Who reads on next to what was read last is answered without looking further.
  [[nodiscard]] const Record* find_one(const Box& selection) const {
    if (selection.rank() != rank_ || all_.pieces.empty()) return nullptr;
    if (!contains(all_.pieces[last_].part, selection)) {
      if (rank_ == 0) return nullptr;
      hits_.clear();
      tree_.find(corners_, selection, hits_);
      if (hits_.size() != 1 || !contains(all_.pieces[hits_.front()].part, selection))
        return nullptr;
      last_ = hits_.front();
    }
    return &all_.records[all_.pieces[last_].record];
  }

  [[nodiscard]] Result<RecordLookup> find(const Box& selection) const {
    if (selection.rank() != rank_)
      return fail(
          Code::kInvalidArgument,
          fmt::format("a selection of {} dimensions in a dataset of {}", selection.rank(), rank_));
    std::vector<std::size_t> hits;
    if (rank_ == 0) {
      for (std::size_t i = 0; i < all_.pieces.size(); ++i) hits.push_back(i);
    } else {
      tree_.find(corners_, selection, hits);
    }
    std::sort(hits.begin(), hits.end());
    RecordLookup out;
    out.pieces.reserve(hits.size());
    place_.resize(all_.records.size());
    ++answers_;
    std::uint64_t covered = 0;
    for (const std::size_t hit : hits) {
      const Piece& piece = all_.pieces[hit];
      Place& place = place_[piece.record];
      if (place.answer != answers_) {
        out.records.push_back(all_.records[piece.record]);
        place = {answers_, out.records.size() - 1};
      }
      out.pieces.push_back({place.at, intersect(piece.part, selection)});
      covered += out.pieces.back().part.elements();
    }
    if (covered != selection.elements()) {
      std::vector<Candidate> candidates;
      candidates.reserve(out.pieces.size());
      for (const Piece& piece : out.pieces) candidates.push_back({piece.record, {}, piece.part});
      Lookup rest;
      QueryBudget budget;
      BENTO_TRY(resolve_latest(selection, candidates, budget, rest));
      out.uncovered = std::move(rest.uncovered);
    }
    return out;
  }

 private:
  RecordLookup all_;
  unsigned rank_;
  std::vector<std::uint64_t> corners_;
  BoxTree tree_;
  mutable std::size_t last_ = 0;  ///< the piece that find_one() found last
  mutable std::vector<std::size_t> hits_;
  /// Where a record of all_ is in an answer.
  struct Place {
    std::uint64_t answer = 0;
    std::size_t at = 0;
  };
  mutable std::uint64_t answers_ = 0;
  mutable std::vector<Place> place_;
};

Result<CommittedIndex> CommittedIndex::open(File& file, const FilePlan& plan,
                                            const CatalogueRef& root,
                                            std::optional<AbsoluteStep> step, ReadAhead* ahead,
                                            std::shared_ptr<BlobCache> cache) {
  CommittedIndex opened;
  if (root.bytes == 0) return opened;
  if (ahead != nullptr)
    opened.file_ = std::make_unique<FileAhead>(file, *ahead, ReadAhead::kAllTheFile);
  File& from = ahead != nullptr ? *opened.file_ : file;
  opened.blobs_ = std::make_unique<CatalogueBlobs>(Catalogue(from, plan));
  opened.cache_ = cache ? std::move(cache) : std::make_shared<BlobCache>();
  opened.cached_ = std::make_unique<CachedSource>(*opened.blobs_, *opened.cache_);
  opened.passing_ = std::make_unique<PassingSource>(*opened.blobs_);
  BENTO_ASSIGN(opened.index_, StepIndex::open(*opened.cached_, blob_ref(root), step));
  return opened;
}

Result<StepLookup> CommittedIndex::look_up(DatasetNumber dataset, const Box& selection,
                                           std::optional<ValueRange> values) {
  FindOptions options;
  options.values = values;
  return look_up(dataset, selection, std::move(options));
}

// Few questions come to these limits, and only then do the files have to be looked at.
Result<StepLookup> CommittedIndex::look_up(DatasetNumber dataset, const Box& selection,
                                           FindOptions options) {
  if (!room_) return index_->find(dataset, selection, options);
  options.budget = {kFewVisits, kFewFound, kFewBoxes};
  auto found = index_->find(dataset, selection, options);
  if (found || found.error().code != Code::kUnsupported) return found;
  BENTO_ASSIGN(const std::uint64_t room, room_());
  options.budget.records = kFewFound + room / kLeastRecordBytes;
  options.budget.boxes = kFewBoxes + room / kLeastBoxBytes;
  options.budget.visits = std::min(QueryBudget{}.visits, kFewVisits + room);
  return index_->find(dataset, selection, options);
}

Status CommittedIndex::move_on(File& file, const FilePlan& plan, const CatalogueRef& root,
                               ReadAhead* ahead, std::shared_ptr<BlobCache> cache) {
  const AbsoluteStep before = index_ ? index_->newest() : AbsoluteStep();
  BENTO_ASSIGN(CommittedIndex next, open(file, plan, root, std::nullopt, ahead, std::move(cache)));
  if (next.index_ && next.index_->newest().number() == before.number() + 1) {
    BENTO_ASSIGN(const StepInfo info, next.index_->step(next.index_->newest()));
    next.queries_ = std::move(queries_);
    for (const DatasetNumber dataset : info.datasets) next.queries_.erase(dataset);
  } else if (next.index_ && next.index_->newest() == before) {
    next.queries_ = std::move(queries_);
  }
  next.room_ = std::move(room_);
  *this = std::move(next);
  return {};
}

Result<RecordLookup> CommittedIndex::find_all(DatasetNumber dataset, unsigned rank) {
  RecordLookup out;
  if (!index_) return out;
  BENTO_ASSIGN(const auto declared, index_->rank_of(dataset));
  if (!declared) return out;
  BENTO_ASSIGN(StepLookup found, look_up(dataset, whole_space(rank)));
  out = take_seen(std::move(found));
  out.uncovered.clear();
  return out;
}

Result<std::shared_ptr<const CommittedIndex::DatasetRecords>> CommittedIndex::remember(
    DatasetNumber dataset, Queries& queries, unsigned rank) {
  ++queries.times;
  if (queries.records) return queries.records;
  if (queries.times != kAgain && queries.times != kOften) return queries.records;
  BENTO_ASSIGN(const auto extent, index_->extent_of(dataset));
  if (extent.records > (queries.times == kAgain ? kFewRecords : kMostRecords))
    return queries.records;
  BENTO_ASSIGN(RecordLookup all, find_all(dataset, rank));
  queries.records = std::make_shared<const DatasetRecords>(std::move(all), rank);
  return queries.records;
}

const Record* CommittedIndex::find_one(DatasetNumber dataset, const Box& selection) const {
  const Queries* const seen = queries_.find(dataset);
  if (seen == nullptr || !seen->records) return nullptr;
  return seen->records->find_one(selection);
}

Result<const Record*> CommittedIndex::find_at_once(DatasetNumber dataset, const Box& selection) {
  if (!index_ || selection.empty() || queries_.contains(dataset)) return nullptr;
  BENTO_ASSIGN(const bool found, index_->find_only(dataset, selection, *passing_, only_));
  if (!found) return nullptr;
  queries_[dataset].times = 1;
  return &only_;
}

Result<RecordLookup> CommittedIndex::find(DatasetNumber dataset, const Box& selection,
                                          Asked asked) {
  RecordLookup out;
  if (selection.empty()) return out;
  std::optional<unsigned> rank;
  if (index_) {
    if (const Queries* const seen = queries_.find(dataset); seen != nullptr && seen->records)
      return seen->records->find(selection);
    BENTO_ASSIGN(rank, index_->rank_of(dataset));
  }
  if (!rank) {
    out.uncovered.push_back(selection);
    return out;
  }
  FindOptions options;
  if (asked == Asked::kMaybeAgain) {
    Queries& queries = queries_[dataset];
    BENTO_ASSIGN(const auto records, remember(dataset, queries, *rank));
    if (records) return records->find(selection);
    if (queries.times == 1) options.through = passing_.get();
  }
  BENTO_ASSIGN(StepLookup found, look_up(dataset, selection, std::move(options)));
  return take_seen(std::move(found));
}

}  // namespace bento
