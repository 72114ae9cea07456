// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// For programs that go through large records slice by slice, as through the columns of a matrix,
/// or through every fourth of them: a slice lies in many short runs, so some slices are read
/// together and kept. Makes no file call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/records/record.hpp"

namespace bento {

class SliceCache {
 public:
  /// A box of a record.
  struct Slab {
    Box box;
    std::vector<std::byte> bytes;
    bool verified = false;
  };

  /// The slab in which all of `part` is, and which is verified if it must be; null if there is
  /// none. Valid until the next call. Counts as a question for `part`.
  const Slab* find(const Record& record, const Box& part, bool verified);
  /// What to read instead of `part`, which find() did not find: the slices that a program will ask
  /// for next, if it goes on as it did. Nothing: `part` alone.
  [[nodiscard]] std::optional<Box> wider(const Record& record, const Box& part,
                                         std::uint64_t element_bytes) const;
  /// Keeps a slab of the record that was asked for last, and drops those of others that were not
  /// asked for longest.
  const Slab& put(const Record& record, Slab slab);
  void clear() { records_.clear(); }
  /// Of all slabs.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  static constexpr std::uint64_t kBytes = 16u << 20;  ///< of all slabs together
  static constexpr std::size_t kMostRecords = 256;
  /// Nobody knows how far a program goes on.
  static constexpr std::uint64_t kFirstSlices = 16;
  /// Bytes between two slices that are read along with them: they cost no more than another run.
  static constexpr std::uint64_t kGapBytes = 4096;

  /// From one part to one of the same size, further on in one dimension.
  struct Move {
    unsigned dimension = 0;
    std::uint64_t elements = 0;
    bool operator==(const Move&) const = default;
  };
  static std::optional<Move> move_of(const Box& from, const Box& to);
  struct Known {
    std::optional<Move> before;  ///< to the part that was asked for before the last one
    std::optional<Move> move;    ///< from there to the last one
    Box last;                    ///< the part that was asked for last
    Slab slab;                   ///< no bytes: none
    std::uint64_t used = 0;
  };
  using Records = std::map<Location, Known>;
  void drop_oldest(const Location& but);

  Records records_;
  std::uint64_t clock_ = 0;
};

}  // namespace bento
