// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The entries of a rank's log as bytes. Records of a log are numbered from 0 on, in the order in
/// which they were begun; no number is used twice in an epoch. Nothing here is stored in files.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/records/record.hpp"
#include "core/records/record_gaps.hpp"
#include "core/records/write_times.hpp"

namespace bento {

/// Where the bytes of a record gather.
struct BufferPlace {
  unsigned area = 0;
  std::uint64_t generation = 0;
  std::uint64_t offset = 0;
};

enum class LogEntryKind : std::uint8_t {
  kRestart,    ///< all entries so far are void: what still counts follows once more
  kBuffered,   ///< a record whose bytes gather in an area
  kGrew,       ///< a buffered record became longer
  kReplaced,   ///< a buffered record was written anew in its place
  kPlaced,     ///< a record in the file
  kMoved,      ///< a buffered record is in the file now, as one record or cut in several
  kGaps,       ///< of a record, only some elements were written
  kRewritten,  ///< a record in the file was written anew in its place
  kJoined,     ///< a buffered record is a part of a larger one now, and stands for that
  kGone,       ///< a buffered record is a part of another one now
};

struct LogEntry {
  LogEntryKind kind = LogEntryKind::kRestart;
  Record record;               ///< kBuffered, kPlaced
  BufferPlace place;           ///< kBuffered
  WriteTimes times;            ///< kBuffered: of a record that had grown before; kJoined
  std::uint64_t number = 0;    ///< all but kRestart, kBuffered, kPlaced: which record
  Box box;                     ///< kJoined
  Order order;                 ///< kReplaced, kRewritten
  Hash128 hash{};              ///< kRewritten
  unsigned dimension = 0;      ///< kGrew: along which,
  std::uint64_t added = 0;     ///< by how many elements,
  std::uint64_t time_ns = 0;   ///< and when
  std::vector<Record> placed;  ///< kMoved: boxes and places
  SharedGaps gaps;             ///< kGaps
};

class LogWriter {
 public:
  void restart();
  void buffered(const Record& record, const BufferPlace& place, const WriteTimes& times);
  void grew(std::uint64_t number, unsigned dimension, std::uint64_t added, std::uint64_t time_ns);
  void replaced(std::uint64_t number, const Order& order);
  void placed(const Record& record);
  void rewritten(std::uint64_t number, const Order& order, const Hash128& hash);
  void moved(std::uint64_t number, std::span<const Record> placed);
  void gaps(std::uint64_t number, const RecordGaps& gaps);
  void joined(std::uint64_t number, const Box& box, const WriteTimes& times);
  void gone(std::uint64_t number);

  [[nodiscard]] std::span<const std::byte> view() const { return out_.view(); }
  void clear() { out_.clear(); }
  /// A new log: times count from 0.
  void begin() {
    clear();
    last_ns_ = 0;
  }

 private:
  void kind(LogEntryKind kind) { out_.u8(static_cast<std::uint8_t>(kind)); }
  void time(std::uint64_t time_ns);
  void put_order(const Order& order);

  ByteWriter out_;
  std::uint64_t last_ns_ = 0;
};

class LogReader {
 public:
  /// What lies behind the entries read so far. Errors: kCorrupt.
  Status read(ByteReader& in, LogEntry& entry);
  void begin() { last_ns_ = 0; }

 private:
  Result<std::uint64_t> time(ByteReader& in);
  Result<Order> order(ByteReader& in);
  Status buffered(ByteReader& in, LogEntry& entry);
  std::uint64_t last_ns_ = 0;
};

}  // namespace bento
