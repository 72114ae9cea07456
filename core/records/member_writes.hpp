// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What ranks have written into elements that have members, since the last commit. A write of some
/// members stores whole elements, and takes the other members from what its rank sees; whether that
/// was right can only be told from all writes there were, which the records no longer show. Kept in
/// memory, sent to the owner if it asks (lost_members.hpp), never stored.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/error.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/records/record.hpp"
#include "core/records/write_times.hpp"

namespace bento {

/// Members of one dataset's elements, a bit each. All sets of a dataset have the same size.
class MemberSet {
 public:
  MemberSet() = default;
  explicit MemberSet(std::vector<std::uint64_t> words) : words_(std::move(words)) {}
  static MemberSet all(std::size_t members);

  void remove(std::size_t member) { words_[member / 64] &= ~(std::uint64_t{1} << member % 64); }
  void remove(const MemberSet& others);
  void add(const MemberSet& others);
  [[nodiscard]] bool contains(const MemberSet& others) const;
  [[nodiscard]] bool empty() const;
  [[nodiscard]] const std::vector<std::uint64_t>& words() const { return words_; }
  bool operator==(const MemberSet&) const = default;

 private:
  std::vector<std::uint64_t> words_;
};

/// Writes of one dataset. Columns, since a Box takes 500 bytes.
class MemberWriteTable {
 public:
  struct Write {
    Order order;
    std::uint64_t exchange = 0;  ///< exchanges of records between the ranks before it
    std::uint32_t members = 0;   ///< in sets()
    /// Where ranks see each other's uncommitted writes: this write's rank had seen all that others
    /// were told before that time, and others were told of this write at that time. 0: never.
    std::uint64_t seen_ns = 0;
    std::uint64_t told_ns = 0;
    /// How much its rank had learnt from others. Not encoded.
    std::uint64_t learnt = 0;
  };

  MemberWriteTable() = default;
  MemberWriteTable(unsigned rank, std::size_t words) : rank_(rank), words_(words) {}

  std::uint32_t intern(const MemberSet& members);
  void push(const Box& box, const Write& write);
  void replace(std::size_t at, const Box& box, const Write& write);
  void set_told(std::size_t at, std::uint64_t time_ns) { writes_[at].told_ns = time_ns; }
  /// Cuts what is outside `extent` off, and drops what is left empty.
  void clip(const Dims& extent);
  /// Errors: kCorrupt (another number of dimensions or members).
  Status append(const MemberWriteTable& other);

  [[nodiscard]] std::size_t size() const { return writes_.size(); }
  [[nodiscard]] unsigned rank() const { return rank_; }
  [[nodiscard]] Box box(std::size_t at) const;
  [[nodiscard]] const Write& write(std::size_t at) const { return writes_[at]; }
  [[nodiscard]] const MemberSet& members(std::size_t at) const {
    return sets_[writes_[at].members];
  }
  [[nodiscard]] const std::vector<MemberSet>& sets() const { return sets_; }
  /// Per write: rank starts, then rank counts.
  [[nodiscard]] std::span<const std::uint64_t> corners() const { return corners_; }

  void encode(ByteWriter& out) const;
  /// Errors: kCorrupt.
  static Result<MemberWriteTable> decode(ByteReader& in);

 private:
  unsigned rank_ = 0;
  std::size_t words_ = 0;  ///< of a set
  std::vector<MemberSet> sets_;
  std::vector<std::uint64_t> corners_;
  std::vector<Write> writes_;
};

/// One rank's writes of all datasets.
class MemberWrites {
 public:
  /// Would this write be of the same kind as the last one, so that both may become one record?
  [[nodiscard]] bool continues(DatasetNumber dataset, const MemberSet& members,
                               std::uint64_t exchange) const;
  /// Notes a write with the order of its record. `grew`: the record is that of the last write,
  /// longer by this one. `partial`: some members are not in `members`. What its rank had seen where
  /// ranks see each other's writes, as in MemberWriteTable::Write:
  struct Seen {
    std::uint64_t until_ns = 0;  ///< of partial ones only
    std::uint64_t learnt = 0;
  };
  void add(const Record& record, const MemberSet& members, bool partial, std::uint64_t exchange,
           bool grew, const Seen& seen);
  /// Has anything been added since told()?
  [[nodiscard]] bool any_untold() const { return !untold_.empty(); }
  /// Others see now what was added so far.
  void told(std::uint64_t time_ns);
  void clip(DatasetNumber dataset, const Dims& extent);
  void forget(DatasetNumber dataset);
  void clear();

  /// Datasets of which some members were written, by ascending number.
  [[nodiscard]] std::set<DatasetNumber> partial() const;
  /// The writes of these datasets, as far as there are any.
  [[nodiscard]] std::vector<std::byte> encode(const std::set<DatasetNumber>& datasets) const;

 private:
  /// A write that became longer: the same of its parts, for as many elements as there are.
  struct Grown {
    WriteTimes written;
    WriteTimes seen;
    WriteTimes told;
    std::uint64_t told_elements = 0;
  };
  struct PerDataset {
    MemberWriteTable table;
    bool partial = false;
    std::unordered_map<std::uint64_t, std::size_t> by_box;  ///< hash of box and kind -> write
    std::map<std::size_t, Grown> grown;
    /// Each part of them as a write of its own.
    [[nodiscard]] MemberWriteTable apart() const;
    void grow(std::size_t at, const Box& longer, std::uint64_t elements,
              const MemberWriteTable::Write& by);
  };
  struct Place {
    DatasetNumber dataset = 0;
    std::size_t at = 0;
    bool operator==(const Place&) const = default;
  };
  void now_last(const Place& place);
  void forget_places(DatasetNumber dataset);

  std::map<DatasetNumber, PerDataset> datasets_;
  std::optional<Place> last_;
  std::vector<Place> untold_;
};

/// What encode() of any number of ranks gave, one behind the other. Errors: kCorrupt.
Result<std::map<DatasetNumber, MemberWriteTable>> decode_member_writes(
    std::span<const std::byte> bytes);

}  // namespace bento
