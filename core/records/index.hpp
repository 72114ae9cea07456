// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// From a selection to the records that hold it. In memory only; knows nothing of files or ranks'
/// streams.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/records/by_number.hpp"
#include "core/records/record.hpp"
#include "core/records/resolve.hpp"

namespace bento {

/// All records of all datasets that this process knows. Not thread-safe.
class Index {
 public:
  Index();
  ~Index();
  Index(Index&&) noexcept;
  Index& operator=(Index&&) noexcept;

  void declare(const DatasetDeclaration& dataset);
  [[nodiscard]] const DatasetDeclaration* find(DatasetNumber dataset) const;
  /// Forgets a dataset and its records.
  void remove(DatasetNumber dataset);

  /// Adds a record in any order (a rank's own at once, others' after a commit) and returns its
  /// position in its dataset. Errors: kCorrupt (unknown dataset, rank differs from its
  /// declaration).
  Result<std::size_t> add(const Record& record);
  /// Adds a record of which only `part` counts: the rest of its box has other orders.
  Result<std::size_t> add_part(const Record& record, const Box& part);
  /// Replaces a record in place: it grew, or its final location became known.
  void replace(DatasetNumber dataset, std::size_t position, const Record& record);
  /// The dimension in which a plain record would be longer by one of the same collective call that
  /// lies right behind it in row-major order; nothing if the two do not make one box.
  [[nodiscard]] std::optional<unsigned> joins(std::size_t position, const Record& by) const;
  /// Makes it longer, by so many `bytes`.
  void grow(std::size_t position, const Record& by, unsigned dimension, std::uint64_t bytes);
  [[nodiscard]] Record record(DatasetNumber dataset, std::size_t position) const;
  [[nodiscard]] const Location& where(DatasetNumber dataset, std::size_t position) const;
  /// Its bytes lie elsewhere now.
  void move(DatasetNumber dataset, std::size_t position, const Location& to);
  [[nodiscard]] Order order(DatasetNumber dataset, std::size_t position) const;
  /// Is all of it seen that was written, as far as its extents tell?
  [[nodiscard]] bool sees_all_of(DatasetNumber dataset, std::size_t position) const;
  /// Nothing of the record is seen any more; of a scalar's, every other one is later. Its place
  /// stays, since others count from there.
  void hide(DatasetNumber dataset, std::size_t position);
  [[nodiscard]] bool is_hidden(DatasetNumber dataset, std::size_t position) const;
  [[nodiscard]] std::size_t size(DatasetNumber dataset) const;
  /// Is the dataset declared, with neither records nor clips?
  [[nodiscard]] bool untouched(DatasetNumber dataset) const;
  /// What changes of extent have left of each record's box: rank starts, then rank counts, record
  /// by record. Valid until the dataset changes.
  [[nodiscard]] std::span<const std::uint64_t> visible_corners(DatasetNumber dataset) const;
  /// Forgets all records and clips; the declarations stay.
  void clear_records();
  /// The smallest extent of all clips of a dataset; nothing if there are none.
  [[nodiscard]] std::optional<Dims> clip_of(DatasetNumber dataset) const;
  /// Drops the records for which `drop` is true; positions of that dataset change. Clips stay
  /// attached.
  void erase_if(DatasetNumber dataset, const std::function<bool(const Record&)>& drop);

  /// Clips all records, present and future, whose collective count is smaller than the event's.
  Status clip(const ExtentEvent& event);

  /// Which records hold `selection`, the latest winning, and what nobody wrote. Cost O(log n + hits
  /// * log hits) once the dataset's tree is built; the tree is rebuilt lazily after additions.
  Result<Lookup> find(DatasetNumber dataset, const Box& selection) const;

  /// The same. Where very many candidates lie within the selection, those of which nothing is seen
  /// are not looked at again until they are replaced: to be used only where
  /// whatever lies above a record, as this index has it, will be above it in every other answer.
  Result<Lookup> find_and_hide(DatasetNumber dataset, const Box& selection);

  /// Appends the records that may hold some of `selection`, by their positions. Errors: as find().
  Status candidates(DatasetNumber dataset, const Box& selection, std::vector<Candidate>& out) const;

  /// Ascending.
  [[nodiscard]] std::vector<DatasetNumber> datasets() const;

 private:
  struct PerDataset;
  PerDataset& changed(PerDataset& entry);
  [[nodiscard]] PerDataset& at(DatasetNumber dataset);
  [[nodiscard]] const PerDataset& at(DatasetNumber dataset) const;
  ByNumber<PerDataset> datasets_;
  std::vector<Candidate> found_;       ///< memory for find_and_hide()
  std::vector<DatasetNumber> filled_;  ///< those with records or clips; some of them twice, or gone
};

}  // namespace bento
