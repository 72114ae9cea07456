// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What is committed, as of one step: the step index in the catalogue of physical file 0, read
/// page by page as questions come. A dataset that is asked for often, or has few records, is kept
/// in memory as the pieces that can be seen. Not thread-safe; task-local.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/error.hpp"
#include "core/catalogue/catalogue.hpp"
#include "core/io/read_ahead.hpp"
#include "core/records/by_number.hpp"
#include "core/records/resolve.hpp"
#include "core/steps/blob_cache.hpp"
#include "core/steps/step_index.hpp"

namespace bento {

/// Blobs of the step index in a catalogue. With a space it takes new ones, too.
class CatalogueBlobs final : public SegmentSource, public SegmentSink {
 public:
  explicit CatalogueBlobs(Catalogue catalogue, CatalogueSpace* space = nullptr)
      : catalogue_(std::move(catalogue)), space_(space) {}
  Result<Blob> read(const BlobRef& ref) override;
  Status read_into(const BlobRef& ref, std::vector<std::byte>& bytes) override;
  Result<BlobRef> append(std::span<const std::byte> bytes) override;
  Result<std::uint64_t> stored_bytes() override;
  /// As Catalogue's.
  void gather() { catalogue_.gather(); }
  Status write_gathered() { return catalogue_.write_gathered(); }

 private:
  Catalogue catalogue_;
  CatalogueSpace* space_;
};

/// The part of a container's root and of a step's payload that say the same thing.
inline BlobRef blob_ref(const CatalogueRef& ref) {
  return {ref.position, ref.bytes, ref.hash};
}
inline CatalogueRef catalogue_ref(const BlobRef& ref) {
  return {ref.position, ref.bytes, ref.hash};
}

/// What a step keeps besides its records: the skeleton as it was.
struct StepPayload {
  CatalogueRef skeleton;
  std::uint64_t skeleton_bytes = 0;
};
std::vector<std::byte> encode_payload(const StepPayload& payload);
Result<StepPayload> decode_payload(std::span<const std::byte> bytes);

/// Is a dataset likely to be asked for again? Then it is taken into memory, if that pays.
enum class Asked { kMaybeAgain, kOnce };

class CommittedIndex {
 public:
  /// Nothing committed yet.
  CommittedIndex() = default;
  /// As of `step`, or the newest. `file` must outlive it. Errors: kNotFound (a step that is not
  /// kept: says which are), kCorrupt, kIo.
  /// `ahead`, if any, is what it is read through; nothing of it may change then. `cache`, if any,
  /// has blobs that are known already.
  static Result<CommittedIndex> open(File& file, const FilePlan& plan, const CatalogueRef& root,
                                     std::optional<AbsoluteStep> step = std::nullopt,
                                     ReadAhead* ahead = nullptr,
                                     std::shared_ptr<BlobCache> cache = nullptr);

  [[nodiscard]] bool empty() const { return !index_; }
  /// Must not be empty.
  [[nodiscard]] const StepIndex& steps() const { return *index_; }
  /// Where the step index is read from, for segments that steps() opened. Must not be empty.
  [[nodiscard]] SegmentSource& source() const { return *cached_; }

  /// Says how many bytes all physical files have; asked when a question finds very many records, of
  /// which no more are believed than have room in the files. Without it there is no such limit.
  using Room = std::function<Result<std::uint64_t>()>;
  void set_room(Room room) { room_ = std::move(room); }

  /// Which records show `selection`, and what nobody wrote; each record is seen in some piece.
  /// Hashes are zero, see stored_hash().
  /// Errors: kCorrupt, kIo.
  Result<RecordLookup> find(DatasetNumber dataset, const Box& selection,
                            Asked asked = Asked::kMaybeAgain);
  /// The record in which all of `selection` is seen, if that is known in memory; else null. Valid
  /// until the next call.
  [[nodiscard]] const Record* find_one(DatasetNumber dataset, const Box& selection) const;
  /// The same of a dataset that nothing was asked of yet, if StepIndex::find_only() finds it; else
  /// null: find() knows. Errors: as find().
  Result<const Record*> find_at_once(DatasetNumber dataset, const Box& selection);
  /// As StepIndex::find(), within what the files have room for; `values` as there. Errors: as
  /// there.
  Result<StepLookup> look_up(DatasetNumber dataset, const Box& selection,
                             std::optional<ValueRange> values = std::nullopt);
  /// All that can be seen of a dataset, wherever it lies; `uncovered` is left empty.
  Result<RecordLookup> find_all(DatasetNumber dataset, unsigned rank);

  /// The same container after its next commit. What this knows of datasets that did not change
  /// stays known, and so do blobs. Errors: as open().
  Status move_on(File& file, const FilePlan& plan, const CatalogueRef& root, ReadAhead* ahead,
                 std::shared_ptr<BlobCache> cache);

 private:
  class DatasetRecords;
  struct Queries {
    unsigned times = 0;
    std::shared_ptr<const DatasetRecords> records;
  };
  Result<StepLookup> look_up(DatasetNumber dataset, const Box& selection, FindOptions options);
  Result<std::shared_ptr<const DatasetRecords>> remember(DatasetNumber dataset, Queries& queries,
                                                         unsigned rank);

  std::unique_ptr<FileAhead> file_;  ///< if it is read ahead
  std::unique_ptr<CatalogueBlobs> blobs_;
  std::shared_ptr<BlobCache> cache_;
  std::unique_ptr<CachedSource> cached_;    ///< blobs_ through cache_
  std::unique_ptr<PassingSource> passing_;  ///< for the first question about a dataset
  std::optional<StepIndex> index_;
  ByNumber<Queries> queries_;
  Record only_;  ///< what find_at_once() has found
  Room room_;
};

/// Box of everything that a dataset of this many dimensions may hold.
Box whole_space(unsigned rank);

}  // namespace bento
