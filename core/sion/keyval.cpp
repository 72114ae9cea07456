// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/sion/keyval.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"

namespace bento {
namespace {

constexpr std::uint64_t kHeadBytes = 16;

}  // namespace

Result<KeyvalReader> KeyvalReader::open(SionReader& reader, std::uint64_t task) {
  if (reader.keyval() != KeyvalMode::kInline)
    return fail(Code::kUnsupported,
                fmt::format("key-value mode {} in flag1, only {} (inline) has records",
                            static_cast<std::uint32_t>(reader.keyval()),
                            static_cast<std::uint32_t>(KeyvalMode::kInline)));
  if (task >= reader.tasks())
    return fail(Code::kInvalidArgument,
                fmt::format("records of task {} of {}", task, reader.tasks()));
  return KeyvalReader(reader, task);
}

Result<std::optional<KeyvalRecord>> KeyvalReader::next() {
  if (at_ == end_) return std::optional<KeyvalRecord>{};
  const std::string where = fmt::format("key-value record at {} of task {}", at_, task_);
  if (end_ - at_ < kHeadBytes)
    return fail(Code::kCorrupt,
                fmt::format("{}: {} bytes left, a head has {}", where, end_ - at_, kHeadBytes));
  std::array<std::byte, kHeadBytes> head{};
  BENTO_TRY(reader_->read_stream(task_, at_, head));
  ByteReader in(head, reader_->file(reader_->mapping()[task_].file).meta1.order,
                "key-value record");
  KeyvalRecord record;
  BENTO_ASSIGN(record.key, in.i64());
  BENTO_ASSIGN(record.bytes, in.u64());
  record.begin = at_ + kHeadBytes;
  if (record.bytes > end_ - record.begin)
    return fail(Code::kCorrupt,
                fmt::format("{}: length {}, {} bytes left", where,
                            static_cast<std::int64_t>(record.bytes), end_ - record.begin));
  at_ = record.begin + record.bytes;
  return std::optional<KeyvalRecord>(record);
}

Status KeyvalReader::read(const KeyvalRecord& record, std::uint64_t offset,
                          std::span<std::byte> into) {
  if (offset > record.bytes || into.size() > record.bytes - offset)
    return fail(Code::kInvalidArgument,
                fmt::format("{} bytes at {} of a value of {} bytes (key {}, task {})", into.size(),
                            offset, record.bytes, record.key, task_));
  return reader_->read_stream(task_, record.begin + offset, into);
}

Result<std::vector<KeyvalRecord>> KeyvalReader::all() {
  rewind();
  std::vector<KeyvalRecord> records;
  while (true) {
    BENTO_ASSIGN(const std::optional<KeyvalRecord> record, next());
    if (!record) return records;
    records.push_back(*record);
  }
}

Status append_keyval(SionWriter& writer, std::uint64_t task, std::int64_t key,
                     std::span<const std::byte> value, std::endian order) {
  ByteWriter head(order);
  head.i64(key);
  head.u64(value.size());
  BENTO_TRY(writer.append(task, head.view()));
  return writer.append(task, value);
}

}  // namespace bento
