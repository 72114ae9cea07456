// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/sion/meta1.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "core/base/checked.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"

namespace bento {
namespace {

constexpr std::uint64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

bool has_file_number(std::uint32_t version) {
  return version >= kSionFirstFilenumberVersion;
}

std::uint64_t fixed_bytes(std::uint32_t version) {
  return has_file_number(version) ? kSionFixedBytes : kSionFixedBytesV2;
}

std::uint64_t order_bit(std::endian order) {
  return order == std::endian::big ? 1 : 0;
}

tl::unexpected<Error> bad(std::string_view field, std::uint64_t at,
                          std::string_view found_and_wanted) {
  return fail(Code::kCorrupt, fmt::format("META1: {} at byte {}: {}", field, at, found_and_wanted));
}

/// The word is symmetric, so that it can be read before the order is known: META, data, data, META.
Status decode_order(std::span<const std::byte> word, Meta1& meta) {
  std::array<unsigned, 4> bit{};
  for (std::size_t i = 0; i < bit.size(); ++i) bit[i] = std::to_integer<unsigned>(word[i]);
  if (bit[0] > 1 || bit[1] > 1 || bit[0] != bit[3] || bit[1] != bit[2])
    return bad("endianness word", 4,
               fmt::format("{:02x} {:02x} {:02x} {:02x}", bit[0], bit[1], bit[2], bit[3]));
  meta.order = bit[0] == 1 ? std::endian::big : std::endian::little;
  meta.data_order = bit[1] == 1 ? std::endian::big : std::endian::little;
  return {};
}

/// A number that the format stores signed and that must lie in [low, high].
Result<std::uint32_t> ranged(ByteReader& in, std::string_view field, std::uint64_t low,
                             std::uint64_t high) {
  const std::size_t at = in.offset();
  BENTO_ASSIGN(const std::int32_t value, in.i32());
  if (value < 0 || static_cast<std::uint64_t>(value) < low ||
      static_cast<std::uint64_t>(value) > high)
    return bad(field, at, fmt::format("{}, want {}..{}", value, low, high));
  return static_cast<std::uint32_t>(value);
}

Status decode_versions(ByteReader& in, Meta1& meta) {
  BENTO_ASSIGN(meta.library_version, in.i32());
  BENTO_ASSIGN(meta.patch_level, in.i32());
  BENTO_ASSIGN(const std::int32_t version, in.i32());
  if (version < static_cast<std::int32_t>(kSionOldestVersion) ||
      version > static_cast<std::int32_t>(kSionFormatVersion))
    return fail(Code::kUnsupported,
                fmt::format("META1: SION file format version {}, this code reads {} to {}", version,
                            kSionOldestVersion, kSionFormatVersion));
  meta.format_version = static_cast<std::uint32_t>(version);
  return {};
}

Status decode_flags(ByteReader& in, Meta1& meta) {
  const std::size_t at = in.offset();
  BENTO_ASSIGN(meta.flag1, in.u64());
  BENTO_ASSIGN(meta.flag2, in.u64());
  // Versions before 5 gave the flags no meaning, so nothing is asked of them.
  if (meta.format_version < kSionFirstKeyvalVersion) return {};
  const std::uint64_t mode = meta.flag1 >> 32;
  if ((meta.flag1 & 0xFFFFFFFFu) != 0 || (mode != 0 && (mode < 50 || mode > 54)))
    return bad("flag1", at,
               fmt::format("{:#x}, want a key-value mode of 50..54 in the upper half", meta.flag1));
  if (meta.flag2 != 0) return bad("flag2", at + 8, fmt::format("{:#x}, want 0", meta.flag2));
  return {};
}

Status decode_prefix(ByteReader& in, Meta1& meta) {
  const std::size_t at = in.offset();
  BENTO_ASSIGN(const auto field, in.bytes(kSionPrefixBytes));
  const auto end = std::find(field.begin(), field.end(), std::byte{0});
  if (end == field.end()) return bad("prefix", at, "no terminating zero");
  meta.prefix.clear();
  for (auto c = field.begin(); c != end; ++c) meta.prefix.push_back(std::to_integer<char>(*c));
  return {};
}

/// The fixed fields. Returns n.
Result<std::uint64_t> decode_fixed(ByteReader& in, Meta1& meta) {
  BENTO_TRY(decode_versions(in, meta));
  BENTO_ASSIGN(meta.fsblksize, ranged(in, "fsblksize", 1, kInt32Max));
  BENTO_ASSIGN(const std::uint64_t tasks, ranged(in, "ntasks", 0, kMaxSionTasks));
  BENTO_ASSIGN(meta.files, ranged(in, "nfiles", 1, kMaxSionFiles));
  if (has_file_number(meta.format_version)) {
    // In a single file the number means nothing; SIONlib's writers put 0 or 1.
    const std::uint64_t highest = meta.files > 1 ? meta.files - 1 : kInt32Max;
    BENTO_ASSIGN(meta.file_number, ranged(in, "filenumber", 0, highest));
    BENTO_TRY(decode_flags(in, meta));
  } else {
    meta.file_number = 1;
    meta.set_keyval(KeyvalMode::kNone);
    if (meta.files > 1)
      return fail(
          Code::kUnsupported,
          fmt::format("META1: {} physical files in format version 2, which has no file numbers",
                      meta.files));
  }
  BENTO_TRY(decode_prefix(in, meta));
  return tasks;
}

Status decode_tasks(ByteReader& in, std::uint64_t tasks, Meta1& meta) {
  BENTO_TRY(in.fits(tasks, kSionTaskBytes));
  meta.global_ranks.resize(static_cast<std::size_t>(tasks));
  for (auto& rank : meta.global_ranks) {
    BENTO_ASSIGN(rank, in.i64());
  }
  const std::size_t at = in.offset();
  BENTO_ASSIGN(meta.chunk_bytes, in.array_u64(tasks));
  for (std::size_t task = 0; task < meta.chunk_bytes.size(); ++task) {
    if (meta.chunk_bytes[task] > kInt64Max)
      return bad(
          "chunksize", at + 8 * task,
          fmt::format("{} of task {}", static_cast<std::int64_t>(meta.chunk_bytes[task]), task));
  }
  return {};
}

Status decode_tail(ByteReader& in, std::uint64_t file_bytes, Meta1& meta) {
  // A writer that dies before its first chunk leaves a file that ends here; the checks of `closed`
  // cover it.
  if (in.remaining() == 0 && file_bytes == in.offset()) return {};
  const std::size_t at = in.offset();
  BENTO_ASSIGN(meta.max_blocks, ranged(in, "maxchunks", 0, kInt32Max));
  BENTO_ASSIGN(meta.meta2_address, in.u64());
  if (meta.meta2_address == 0 && meta.max_blocks == 0) return {};
  if (meta.meta2_address < in.offset() || meta.meta2_address > file_bytes)
    return bad("start_of_varheader", at + 4,
               fmt::format("{}, want {}..{}", static_cast<std::int64_t>(meta.meta2_address),
                           in.offset(), file_bytes));
  return {};
}

Status check_encodable(const Meta1& meta) {
  const auto refuse = [](std::string_view what) {
    return fail(Code::kInvalidArgument, fmt::format("META1: {}", what));
  };
  if (meta.format_version != kSionFormatVersion)
    return refuse(
        fmt::format("only format {} is written, not {}", kSionFormatVersion, meta.format_version));
  if (meta.fsblksize == 0 || meta.fsblksize > kInt32Max)
    return refuse(fmt::format("fsblksize {}", meta.fsblksize));
  if (meta.tasks() > kMaxSionTasks) return refuse(fmt::format("{} tasks", meta.tasks()));
  if (meta.global_ranks.size() != meta.chunk_bytes.size())
    return refuse(
        fmt::format("{} global ranks for {} tasks", meta.global_ranks.size(), meta.tasks()));
  if (meta.files == 0 || meta.files > kMaxSionFiles)
    return refuse(fmt::format("{} files", meta.files));
  if (meta.file_number > kInt32Max || (meta.files > 1 && meta.file_number >= meta.files))
    return refuse(fmt::format("file number {} of {}", meta.file_number, meta.files));
  if (meta.prefix.size() >= kSionPrefixBytes || meta.prefix.find('\0') != std::string::npos)
    return refuse(fmt::format("a prefix of {} bytes, at most {} without a zero byte fit",
                              meta.prefix.size(), kSionPrefixBytes - 1));
  if (meta.max_blocks > kInt32Max) return refuse(fmt::format("{} blocks", meta.max_blocks));
  if (meta.meta2_address > kInt64Max) return refuse(fmt::format("META2 at {}", meta.meta2_address));
  BENTO_TRY(meta.layout());
  return {};
}

/// n, before anything is known to be right: only to learn how much to read. 0 when it is out of
/// bounds.
std::uint64_t peek_tasks(std::span<const std::byte> head) {
  constexpr std::size_t kTasksAt = 24;
  constexpr std::size_t kOrderAt = 4;
  if (head.size() < kTasksAt + 4) return 0;
  ByteReader in(head.subspan(kTasksAt),
                head[kOrderAt] == std::byte{1} ? std::endian::big : std::endian::little);
  const auto tasks = in.u32();
  return tasks && *tasks <= kMaxSionTasks ? *tasks : 0;
}

void put_tail(ByteWriter& out, const Meta1& meta) {
  out.u32(meta.max_blocks);
  out.u64(meta.meta2_address);
}

}  // namespace

KeyvalMode Meta1::keyval() const {
  const auto mode = static_cast<std::uint32_t>(flag1 >> 32);
  if (mode == 0 || format_version < kSionFirstKeyvalVersion) return KeyvalMode::kNone;
  return static_cast<KeyvalMode>(mode);
}

Result<std::vector<std::uint64_t>> Meta1::effective_chunk_bytes() const {
  auto bytes = chunk_bytes;
  if (format_version <= kSionLastUnroundedVersion) {
    for (auto& size : bytes) {
      BENTO_ASSIGN(size, checked_round_up(size, fsblksize));
    }
  }
  return bytes;
}

Result<SionLayout> Meta1::layout() const {
  BENTO_ASSIGN(const auto bytes, effective_chunk_bytes());
  return SionLayout::make(fsblksize, bytes);
}

std::uint64_t Meta1::tail_address() const {
  return fixed_bytes(format_version) + kSionTaskBytes * tasks();
}

Result<std::vector<std::byte>> encode_meta1(const Meta1& meta, bool with_tail) {
  BENTO_TRY(check_encodable(meta));
  ByteWriter out(meta.order);
  out.reserve(static_cast<std::size_t>(sion_meta1_bytes(meta.tasks())));
  out.bytes(std::as_bytes(std::span(kSionMagic)));
  for (const auto order : {meta.order, meta.data_order, meta.data_order, meta.order})
    out.u8(static_cast<std::uint8_t>(order_bit(order)));
  out.i32(meta.library_version);
  out.i32(meta.patch_level);
  out.u32(meta.format_version);
  out.u32(meta.fsblksize);
  out.u32(static_cast<std::uint32_t>(meta.tasks()));
  out.u32(meta.files);
  out.u32(meta.file_number);
  out.u64(meta.flag1);
  out.u64(meta.flag2);
  out.bytes(std::as_bytes(std::span(meta.prefix)));
  out.zeros(kSionPrefixBytes - meta.prefix.size());
  for (const auto rank : meta.global_ranks) out.i64(rank);
  out.array_u64(meta.chunk_bytes);
  if (with_tail) put_tail(out, meta);
  return std::move(out).take();
}

std::vector<std::byte> encode_meta1_tail(const Meta1& meta) {
  ByteWriter out(meta.order);
  put_tail(out, meta);
  return std::move(out).take();
}

Result<Meta1> decode_meta1(std::span<const std::byte> bytes, std::uint64_t file_bytes) {
  constexpr std::size_t kHeadBytes = 8;
  if (bytes.size() < kHeadBytes ||
      !std::ranges::equal(bytes.first(kSionMagic.size()), std::as_bytes(std::span(kSionMagic))))
    return fail(Code::kCorrupt, "META1: the file does not begin with \"sion\"");
  Meta1 meta;
  BENTO_TRY(decode_order(bytes.subspan(kSionMagic.size(), 4), meta));
  ByteReader in(bytes, meta.order, "META1");
  BENTO_TRY(in.skip(kHeadBytes));
  BENTO_ASSIGN(const std::uint64_t tasks, decode_fixed(in, meta));
  BENTO_TRY(decode_tasks(in, tasks, meta));
  BENTO_TRY(decode_tail(in, file_bytes, meta));
  BENTO_TRY(meta.layout());
  return meta;
}

Result<Meta1> read_meta1(File& file) {
  BENTO_ASSIGN(const std::uint64_t file_bytes, file.size());
  std::vector<std::byte> head(static_cast<std::size_t>(std::min(file_bytes, kSionBaseBytes)));
  BENTO_TRY(file.read_at(0, head));
  const std::uint64_t wanted = std::min(file_bytes, sion_meta1_bytes(peek_tasks(head)));
  if (const std::size_t have = head.size(); wanted > have) {
    head.resize(static_cast<std::size_t>(wanted));
    BENTO_TRY(file.read_at(have, std::span(head).subspan(have)));
  }
  return decode_meta1(head, file_bytes);
}

}  // namespace bento
