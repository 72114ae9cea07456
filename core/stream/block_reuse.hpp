// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which blocks of one rank's stream hold nothing that anybody can read any more, so that the next
/// step may be written into them. Knows blocks written in this session and those that were dead
/// when it began; a block keeps the number and the capacities of its containers for ever, as in
/// FTI. No I/O. Source: docs/format.md, "Space is used again".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/base/hash.hpp"
#include "core/layout/plan.hpp"
#include "core/records/by_number.hpp"
#include "core/records/record.hpp"
#include "core/stream/container_fit.hpp"

namespace bento {

/// A block as its header describes it.
struct StreamBlockShape {
  Position position = 0;                  ///< of its head
  std::vector<std::uint64_t> capacities;  ///< of its containers, fillers included
};

class BlockReuse {
 public:
  /// A block of an earlier session in which every container is dead, and which nobody can read.
  void add_free(StreamBlockShape block);
  /// The same, but steps before `step` show something of it: free once none of them can be read.
  void add_dead(StreamBlockShape block, std::uint64_t step);
  /// A block that was written now, and where its records lie.
  void note_written(StreamBlockShape block, std::span<const Position> records);

  /// A free block for one large record of `bytes`: its last container has
  /// at least that and at most a seventh more. It is the caller's from now on.
  std::optional<StreamBlockShape> take_large(std::uint64_t bytes);
  /// The same for compressed data, whose sizes seldom come again: at most twice that.
  std::optional<StreamBlockShape> take_roomy(std::uint64_t bytes);
  /// Where none fits though as much is free: the largest block for a part of `bytes`, of at least
  /// `least` bytes. Part and rest must be worth records of their own.
  std::optional<StreamBlockShape> take_for_part(std::uint64_t bytes, std::uint64_t least);
  /// A free block with exactly these containers.
  std::optional<StreamBlockShape> take_small(std::span<const std::uint64_t> capacities);
  struct Fitting {
    StreamBlockShape block;
    ContainerFit fit;  ///< record_of counts `sizes`
  };
  /// Where none has exactly these: a free block into which many of the records with these sizes
  /// fit, so that at least a quarter of it is used. Of a few that are about as large as all of them
  /// the one that takes the most.
  std::optional<Fitting> take_fitting(std::span<const std::uint64_t> sizes);
  /// Can it give any?
  [[nodiscard]] bool has_small() const { return !small_.empty(); }

  /// Step `step` is committed with this record of this rank; records come in the order in which
  /// they were written. Records that lie wholly under newer ones of the same rank die with the
  /// step; their blocks are free once no step before it can be read.
  void record_committed(const Record& record, std::uint64_t step) {
    drop_covered(own_[record.dataset], record, step);
  }
  /// Step `step` is committed without these datasets; `oldest` is the oldest step that can still be
  /// read. Comes after its records.
  void deletions_committed(std::span<const DatasetNumber> deleted, std::uint64_t step,
                           std::uint64_t oldest);
  /// As of `step`, of the datasets in `concerned` (or of all) only the records at the positions
  /// `live`, ascending, can be seen: others of this session may lie under records of other ranks.
  void only_these_live(bool all, const std::set<DatasetNumber>& concerned,
                       std::span<const Position> live, std::uint64_t step, std::uint64_t oldest);

  /// No step before `oldest` can be read.
  void release(std::uint64_t oldest);

  /// Stored bytes of the records that would die in a commit of this one.
  [[nodiscard]] std::uint64_t replaced_bytes(const Record& record) const;
  /// Is there any record of the dataset that could?
  [[nodiscard]] bool knows(DatasetNumber dataset) const { return own_.contains(dataset); }

 private:
  struct Block {
    StreamBlockShape shape;
    Position end = 0;       ///< behind where its last record begins
    std::size_t alive = 0;  ///< its records that somebody may still read
  };
  struct Place {
    Position position = 0;
    std::uint64_t bytes = 0;  ///< stored
  };
  /// Boxes and places one behind the other: a Box has room for 32 dimensions, and a file may have
  /// very many datasets of one record.
  class FewRecords {
   public:
    [[nodiscard]] std::size_t size() const { return numbers_.size() / width(); }
    void add(const Box& box, const Place& place);
    void clear() { numbers_.clear(); }
    /// Drops those for which `drop(box, place)` is true.
    template <class Drop>
    void erase_if(const Drop& drop);
    template <class Visit>
    void for_each(const Visit& visit) const;

   private:
    [[nodiscard]] std::size_t width() const { return std::size_t{2} * rank_ + 2; }
    [[nodiscard]] std::pair<Box, Place> at(std::size_t number) const;

    unsigned rank_ = 0;
    std::vector<std::uint64_t> numbers_;  ///< of each: starts, counts, position, bytes
  };
  struct PerDataset {
    /// Few records are compared one by one, so that a larger one replaces several.
    FewRecords few;
    /// Beyond that only equal boxes find each other: by the hash of the box.
    std::map<Hash128, Place> by_box;
  };
  struct Dying {
    std::uint64_t step;
    Position position;
  };

  using Large = std::multimap<std::uint64_t, StreamBlockShape>;
  using Small = std::map<Hash128, std::vector<StreamBlockShape>>;
  StreamBlockShape take(Large::iterator block);
  std::optional<StreamBlockShape> take_large(std::uint64_t bytes, std::uint64_t most);
  StreamBlockShape take(Small::iterator blocks);
  void drop_covered(PerDataset& own, const Record& record, std::uint64_t step);

  std::map<Position, Block> blocks_;  ///< by where they begin; of this session
  ByNumber<PerDataset> own_;
  std::vector<Dying> dying_;                             ///< by ascending step
  std::multimap<std::uint64_t, StreamBlockShape> dead_;  ///< of earlier sessions, by the step
  Large large_;                                          ///< by the capacity for the record
  std::uint64_t large_bytes_ = 0;                        ///< all capacities in large_
  Small small_;                                          ///< by the hash of the capacities
  std::set<std::pair<std::uint64_t, Hash128>> small_by_bytes_;  ///< by their sum: keys of small_
};

}  // namespace bento
