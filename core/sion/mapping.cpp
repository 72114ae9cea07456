// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/sion/mapping.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/sion/constants.hpp"

namespace bento {
namespace {

constexpr std::uint64_t kCountBytes = 4;
constexpr std::uint64_t kEntryBytes = 8;
constexpr std::uint32_t kInt32Max = std::numeric_limits<std::int32_t>::max();

Result<std::uint32_t> natural(ByteReader& in, std::string_view field, std::uint64_t entry) {
  BENTO_ASSIGN(const std::int32_t value, in.i32());
  if (value < 0)
    return fail(Code::kCorrupt, fmt::format("mapping: {} {} in entry {}", field, value, entry));
  return static_cast<std::uint32_t>(value);
}

Result<std::uint64_t> decode_count(ByteReader& in) {
  BENTO_ASSIGN(const std::int32_t count, in.i32());
  if (count < 0 || static_cast<std::uint64_t>(count) > kMaxSionTasks)
    return fail(Code::kCorrupt,
                fmt::format("mapping: {} entries, want 0..{}", count, kMaxSionTasks));
  return static_cast<std::uint64_t>(count);
}

}  // namespace

Result<std::vector<std::byte>> encode_mapping(const SionMapping& mapping, std::endian order) {
  if (mapping.size() > kMaxSionTasks)
    return fail(Code::kInvalidArgument, fmt::format("mapping: {} entries", mapping.size()));
  ByteWriter out(order);
  out.u32(static_cast<std::uint32_t>(mapping.size()));
  for (std::size_t entry = 0; entry < mapping.size(); ++entry) {
    const auto [file, task] = mapping[entry];
    if (file > kInt32Max || task > kInt32Max)
      return fail(Code::kInvalidArgument,
                  fmt::format("mapping: entry {} is ({}, {})", entry, file, task));
    out.u32(file);
    out.u32(task);
  }
  return std::move(out).take();
}

Result<SionMapping> decode_mapping(std::span<const std::byte> bytes, std::endian order) {
  ByteReader in(bytes, order, "mapping");
  BENTO_ASSIGN(const std::uint64_t count, decode_count(in));
  BENTO_TRY(in.fits(count, kEntryBytes));
  SionMapping mapping(static_cast<std::size_t>(count));
  for (std::size_t entry = 0; entry < mapping.size(); ++entry) {
    BENTO_ASSIGN(mapping[entry].file, natural(in, "file", entry));
    BENTO_ASSIGN(mapping[entry].task, natural(in, "task", entry));
  }
  return mapping;
}

Result<SionMapping> read_mapping(File& file, std::uint64_t address, std::endian order) {
  BENTO_ASSIGN(const std::uint64_t file_bytes, file.size());
  const std::uint64_t left = address < file_bytes ? file_bytes - address : 0;
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(left, kCountBytes)));
  BENTO_TRY(file.read_at(address, bytes));
  ByteReader in(bytes, order, "mapping");
  BENTO_ASSIGN(const std::uint64_t count, decode_count(in));
  bytes.resize(static_cast<std::size_t>(std::min(left, kCountBytes + kEntryBytes * count)));
  BENTO_TRY(file.read_at(address, bytes));
  return decode_mapping(bytes, order);
}

Status check_mapping(const SionMapping& mapping, std::span<const std::uint64_t> tasks) {
  // A bit per task of each file; files follow each other.
  std::vector<std::uint64_t> first(tasks.size() + 1, 0);
  for (std::size_t file = 0; file < tasks.size(); ++file)
    first[file + 1] = first[file] + tasks[file];
  if (mapping.size() != first.back())
    return fail(Code::kCorrupt, fmt::format("mapping: {} entries for {} tasks in {} physical files",
                                            mapping.size(), first.back(), tasks.size()));
  std::vector<bool> named(mapping.size());
  for (std::size_t entry = 0; entry < mapping.size(); ++entry) {
    const auto [file, task] = mapping[entry];
    if (file >= tasks.size() || task >= tasks[file])
      return fail(Code::kCorrupt,
                  fmt::format("mapping: entry {} is task {} of file {}, which {}", entry, task,
                              file, file >= tasks.size() ? "does not exist" : "has fewer"));
    if (named[first[file] + task])
      return fail(Code::kCorrupt,
                  fmt::format("mapping: entry {} names task {} of file {} a second time", entry,
                              task, file));
    named[first[file] + task] = true;
  }
  return {};
}

}  // namespace bento
