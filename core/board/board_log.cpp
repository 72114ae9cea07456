// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/board/board_log.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace bento {

namespace {

void put_box(ByteWriter& out, const Box& box) {
  out.varint(box.rank());
  for (const auto value : box.start.view()) out.varint(value);
  for (const auto value : box.count.view()) out.varint(value);
}

Result<Box> get_box(ByteReader& in) {
  BENTO_ASSIGN(const std::uint64_t rank, in.varint());
  if (rank > kMaxRank) return fail(Code::kCorrupt, fmt::format("log: {} dimensions", rank));
  Box box{Dims(static_cast<unsigned>(rank)), Dims(static_cast<unsigned>(rank))};
  for (unsigned d = 0; d < rank; ++d) {
    BENTO_ASSIGN(box.start[d], in.varint());
  }
  for (unsigned d = 0; d < rank; ++d) {
    BENTO_ASSIGN(box.count[d], in.varint());
  }
  return box;
}

void put_place(ByteWriter& out, const Record& record) {
  out.varint(record.where.task);
  out.varint(record.where.offset);
  out.varint(record.stored_bytes);
  out.varint(record.header_distance);
  out.bytes(record.hash);
}

Status get_hash(ByteReader& in, Hash128& hash) {
  BENTO_ASSIGN(const auto bytes, in.bytes(hash.size()));
  std::copy(bytes.begin(), bytes.end(), hash.begin());
  return {};
}

Status get_place(ByteReader& in, Record& record) {
  BENTO_ASSIGN(const std::uint64_t task, in.varint());
  record.where.task = static_cast<std::uint32_t>(task);
  BENTO_ASSIGN(record.where.offset, in.varint());
  BENTO_ASSIGN(record.stored_bytes, in.varint());
  BENTO_ASSIGN(const std::uint64_t distance, in.varint());
  record.header_distance = static_cast<std::uint32_t>(distance);
  return get_hash(in, record.hash);
}

void put_what(ByteWriter& out, const Record& record) {
  out.varint(record.dataset);
  put_box(out, record.box);
  out.varint(record.order.collective);
  out.varint(record.order.rank);
  out.u8(static_cast<std::uint8_t>(record.encoding));
  if (record.encoding != Encoding::kPlain) out.varint(record.filter_mask);
}

Status get_what(ByteReader& in, Record& record) {
  BENTO_ASSIGN(const std::uint64_t dataset, in.varint());
  record.dataset = static_cast<DatasetNumber>(dataset);
  BENTO_ASSIGN(record.box, get_box(in));
  BENTO_ASSIGN(record.order.collective, in.varint());
  BENTO_ASSIGN(const std::uint64_t rank, in.varint());
  record.order.rank = static_cast<std::uint32_t>(rank);
  BENTO_ASSIGN(const std::uint8_t encoding, in.u8());
  record.encoding = static_cast<Encoding>(encoding);
  if (record.encoding == Encoding::kPlain) return {};
  BENTO_ASSIGN(const std::uint64_t mask, in.varint());
  record.filter_mask = static_cast<std::uint32_t>(mask);
  return {};
}

Status get_moved(ByteReader& in, LogEntry& entry) {
  BENTO_ASSIGN(entry.number, in.varint());
  BENTO_ASSIGN(const std::uint64_t count, in.varint());
  BENTO_TRY(in.fits(count, 16));
  entry.placed.assign(static_cast<std::size_t>(count), Record{});
  for (Record& record : entry.placed) {
    BENTO_ASSIGN(record.box, get_box(in));
    BENTO_TRY(get_place(in, record));
  }
  return {};
}

}  // namespace

// Nearly always later than the one before; the copies of parts that a commit makes are older.
void LogWriter::time(std::uint64_t time_ns) {
  const bool back = time_ns < last_ns_;
  const std::uint64_t by = back ? last_ns_ - time_ns : time_ns - last_ns_;
  out_.varint(by << 1 | (back ? 1 : 0));
  last_ns_ = time_ns;
}

Result<std::uint64_t> LogReader::time(ByteReader& in) {
  BENTO_ASSIGN(const std::uint64_t word, in.varint());
  last_ns_ = (word & 1) != 0 ? last_ns_ - (word >> 1) : last_ns_ + (word >> 1);
  return last_ns_;
}

void LogWriter::put_order(const Order& order) {
  out_.varint(order.collective);
  out_.varint(order.rank);
  time(order.time_ns);
}

Result<Order> LogReader::order(ByteReader& in) {
  Order order;
  BENTO_ASSIGN(order.collective, in.varint());
  BENTO_ASSIGN(const std::uint64_t rank, in.varint());
  order.rank = static_cast<std::uint32_t>(rank);
  BENTO_ASSIGN(order.time_ns, time(in));
  return order;
}

void LogWriter::restart() {
  kind(LogEntryKind::kRestart);
}

void LogWriter::buffered(const Record& record, const BufferPlace& place, const WriteTimes& times) {
  kind(LogEntryKind::kBuffered);
  put_what(out_, record);
  time(record.order.time_ns);
  out_.varint(record.stored_bytes);
  out_.u8(static_cast<std::uint8_t>(place.area));
  out_.varint(place.generation);
  out_.varint(place.offset);
  times.encode(out_);
}

void LogWriter::grew(std::uint64_t number, unsigned dimension, std::uint64_t added,
                     std::uint64_t time_ns) {
  kind(LogEntryKind::kGrew);
  out_.varint(number);
  out_.varint(dimension);
  out_.varint(added);
  time(time_ns);
}

void LogWriter::replaced(std::uint64_t number, const Order& order) {
  kind(LogEntryKind::kReplaced);
  out_.varint(number);
  put_order(order);
}

void LogWriter::placed(const Record& record) {
  kind(LogEntryKind::kPlaced);
  put_what(out_, record);
  time(record.order.time_ns);
  put_place(out_, record);
}

void LogWriter::rewritten(std::uint64_t number, const Order& order, const Hash128& hash) {
  kind(LogEntryKind::kRewritten);
  out_.varint(number);
  put_order(order);
  out_.bytes(hash);
}

void LogWriter::moved(std::uint64_t number, std::span<const Record> placed) {
  kind(LogEntryKind::kMoved);
  out_.varint(number);
  out_.varint(placed.size());
  for (const Record& record : placed) {
    put_box(out_, record.box);
    put_place(out_, record);
  }
}

void LogWriter::gaps(std::uint64_t number, const RecordGaps& gaps) {
  kind(LogEntryKind::kGaps);
  out_.varint(number);
  gaps.encode(out_);
}

void LogWriter::joined(std::uint64_t number, const Box& box, const WriteTimes& times) {
  kind(LogEntryKind::kJoined);
  out_.varint(number);
  put_box(out_, box);
  times.encode(out_);
}

void LogWriter::gone(std::uint64_t number) {
  kind(LogEntryKind::kGone);
  out_.varint(number);
}

Status LogReader::buffered(ByteReader& in, LogEntry& entry) {
  entry.record = {};
  BENTO_TRY(get_what(in, entry.record));
  BENTO_ASSIGN(entry.record.order.time_ns, time(in));
  BENTO_ASSIGN(entry.record.stored_bytes, in.varint());
  BENTO_ASSIGN(const std::uint8_t area, in.u8());
  entry.place.area = area & 1u;
  BENTO_ASSIGN(entry.place.generation, in.varint());
  BENTO_ASSIGN(entry.place.offset, in.varint());
  BENTO_ASSIGN(entry.times, WriteTimes::decode(in));
  return {};
}

Status LogReader::read(ByteReader& in, LogEntry& entry) {
  BENTO_ASSIGN(const std::uint8_t kind, in.u8());
  entry.kind = static_cast<LogEntryKind>(kind);
  switch (entry.kind) {
    case LogEntryKind::kRestart:
      return {};
    case LogEntryKind::kBuffered:
      return buffered(in, entry);
    case LogEntryKind::kGrew: {
      BENTO_ASSIGN(entry.number, in.varint());
      BENTO_ASSIGN(const std::uint64_t dimension, in.varint());
      entry.dimension = static_cast<unsigned>(dimension);
      BENTO_ASSIGN(entry.added, in.varint());
      BENTO_ASSIGN(entry.time_ns, time(in));
      return {};
    }
    case LogEntryKind::kReplaced: {
      BENTO_ASSIGN(entry.number, in.varint());
      BENTO_ASSIGN(entry.order, order(in));
      return {};
    }
    case LogEntryKind::kRewritten: {
      BENTO_ASSIGN(entry.number, in.varint());
      BENTO_ASSIGN(entry.order, order(in));
      return get_hash(in, entry.hash);
    }
    case LogEntryKind::kPlaced: {
      entry.record = {};
      BENTO_TRY(get_what(in, entry.record));
      BENTO_ASSIGN(entry.record.order.time_ns, time(in));
      return get_place(in, entry.record);
    }
    case LogEntryKind::kMoved:
      return get_moved(in, entry);
    case LogEntryKind::kGaps: {
      BENTO_ASSIGN(entry.number, in.varint());
      BENTO_ASSIGN(RecordGaps gaps, RecordGaps::decode(in));
      entry.gaps = std::make_shared<const RecordGaps>(std::move(gaps));
      return {};
    }
    case LogEntryKind::kJoined: {
      BENTO_ASSIGN(entry.number, in.varint());
      BENTO_ASSIGN(entry.box, get_box(in));
      BENTO_ASSIGN(entry.times, WriteTimes::decode(in));
      return {};
    }
    case LogEntryKind::kGone: {
      BENTO_ASSIGN(entry.number, in.varint());
      return {};
    }
  }
  return fail(Code::kCorrupt, fmt::format("log: an entry of kind {}", kind));
}

}  // namespace bento
