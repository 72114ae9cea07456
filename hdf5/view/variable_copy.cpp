// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Copies of datasets of variable-length elements. Memory holds one record at a time.
#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hdf5/base/create_unnamed.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/data/reference_places.hpp"
#include "hdf5/data/spaces.hpp"
#include "hdf5/view/diverted_dataset.hpp"

namespace bento::vol {

namespace {

/// Makes the references of HDF5 1.12 in the copy.
class CopiedReferences final : public ReferenceValues {
 public:
  explicit CopiedReferences(ReferenceTranslator* translator) : translator_(translator) {}
  Result<std::span<const std::byte>> get(const std::byte*) override {
    return fail(Code::kInternal, "references are made here, not read");
  }
  Status put(std::span<const std::byte> stored, std::byte* reference) override {
    return translator_->make_new(stored, reference, last_);
  }

 private:
  ReferenceTranslator* translator_;
  ReferenceTranslator::LastCopy last_;
};

class VariableCopy {
 public:
  /// `references`: of elements that have some.
  VariableCopy(RecordSource& source, const DivertedDataset& from, hid_t to,
               ReferenceTranslator* references)
      : source_(source),
        from_(from),
        to_(to),
        references_(references),
        new_references_(references),
        space_(H5Scopy(from.space.get())) {
    from.variable->use_regions(references);
    if (references != nullptr) from.variable->use_references(&new_references_);
  }
  ~VariableCopy() { from_.variable->use_references(nullptr); }
  VariableCopy(const VariableCopy&) = delete;
  VariableCopy& operator=(const VariableCopy&) = delete;

  Status run() {
    if (!space_.valid()) return copy_failure(from_.path, "its extent is unreadable");
    BENTO_ASSIGN(RecordLookup seen, source_.find(from_.number, Box::whole(from_.extent)));
    // Pieces of one record one after the other: it is read once.
    std::stable_sort(seen.pieces.begin(), seen.pieces.end(),
                     [](const Piece& a, const Piece& b) { return a.record < b.record; });
    for (const Piece& piece : seen.pieces)
      BENTO_TRY(copy(seen.records[piece.record], piece.record, piece.part));
    return seen.pieces.empty() ? Status{} : fill(seen.uncovered);
  }

 private:
  // HDF5 cannot read a chunk that nobody wrote if such elements have a fill value, the file is open
  // for reading and other chunks were written ("no write intent on file", 1.14.5 and 2.0.0).
  Status fill(const std::vector<Box>& holes) {
    constexpr std::uint64_t kMost = std::uint64_t{16} << 20;  // each costs a value in a heap
    constexpr std::uint64_t kPart = 4096;
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    if (H5Pfill_value_defined(from_.dcpl.get(), &defined) < 0)
      return copy_failure(from_.path, "its fill value is unreadable");
    std::uint64_t count = 0;
    for (const Box& hole : holes) count += hole.elements();
    if (defined != H5D_FILL_VALUE_USER_DEFINED || count == 0 || count > kMost) return {};
    std::vector<std::byte> value(from_.variable->element_bytes());
    if (H5Pget_fill_value(from_.dcpl.get(), from_.type.get(), value.data()) < 0)
      return copy_failure(from_.path, "its fill value is unreadable");
    for (const Box& hole : holes)
      BENTO_TRY(for_each_part(hole, kPart, [&](const Box& part) -> Status {
        elements_.resize(part.elements() * value.size());
        fill_box(part, part, elements_.data(), value);
        return write(part);
      }));
    return {};
  }

  Status copy(const Record& record, std::size_t number, const Box& part) {
    if (record.encoding != Encoding::kVariable)
      return fail(Code::kCorrupt,
                  fmt::format("'{}' is of variable length, and a record of it is not", from_.path));
    if (stored_.empty() || number != number_) {
      BENTO_ASSIGN(stored_, source_.read_stored(record));
      number_ = number;
    }
    arena_.clear();
    elements_.assign(part.elements() * from_.variable->element_bytes(), std::byte{0});
    Status done =
        from_.variable->decode(record.box, stored_, part, part, elements_.data(),
                               [this](std::size_t bytes) { return arena_.allocate(bytes); });
    if (done && references_ != nullptr)
      done = references_->translate(from_.type.get(), elements_.data(), part.elements(),
                                    ReferenceTranslator::Regions::kAreNew);
    if (done) done = write(part);
    BENTO_TRY(destroy_references(part.elements()));
    return done;
  }

  // They hold on to the file.
  Status destroy_references(std::size_t count) {
    if (!from_.variable->has_new_references()) return {};
    BENTO_ASSIGN(const auto places, ReferencePlaces::of(from_.type.get(), from_.type.get()));
    const ErrorStackKeeper keep;
    return places.visit(elements_.data(), count,
                        [](std::byte* at, ReferencePlaces::Stored) -> Status {
                          H5R_ref_t reference;
                          std::memcpy(&reference, at, sizeof reference);
                          if (!is_null_reference(at)) H5Rdestroy(&reference);
                          return {};
                        });
  }

  Status write(const Box& part) {
    const SpaceHandle memory = simple_space(part.count);
    if (!memory.valid()) return copy_failure(from_.path, "its data cannot be written");
    if (part.rank() > 0) BENTO_TRY(select_box(space_.get(), part));
    if (H5Dwrite(to_, from_.type.get(), memory.get(), space_.get(), H5P_DEFAULT, elements_.data()) <
        0)
      return copy_failure(from_.path, "its data cannot be written");
    return {};
  }

  RecordSource& source_;
  const DivertedDataset& from_;
  hid_t to_;
  ReferenceTranslator* references_;
  CopiedReferences new_references_;
  SpaceHandle space_;
  std::size_t number_ = 0;
  std::vector<std::byte> stored_;  ///< of the record with this number
  std::vector<std::byte> elements_;
  ValueArena arena_;
};

}  // namespace

std::uint64_t stored_bytes(const RecordLookup& seen) {
  std::uint64_t bytes = 0;
  for (const Record& record : seen.records) bytes += record.stored_bytes;
  return bytes;
}

Result<MadeDataset> make_variable_copy(RecordSource& source,
                                       std::shared_ptr<const DivertedDataset> dataset, hid_t to) {
  MadeDataset made;
  made.dataset = create_unnamed(to, dataset->type.get(), dataset->space.get(), dataset->dcpl.get());
  if (!made.dataset.valid()) return copy_failure(dataset->path, "the copy is refused");
  if (dataset->variable->has_references())
    made.fill_last = [&source, about = std::move(dataset)](hid_t copy,
                                                           ReferenceTranslator& references) {
      return VariableCopy(source, *about, copy, &references).run();
    };
  else
    made.fill = [&source, about = std::move(dataset)](hid_t copy) {
      return VariableCopy(source, *about, copy, nullptr).run();
    };
  return made;
}

}  // namespace bento::vol
