// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <zlib.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "transfer/kvtree.hpp"

namespace bento::transfer {
namespace {

constexpr std::uint32_t kMagic = 0x951FC3F5;
constexpr std::uint16_t kTypeHash = 1;
constexpr std::uint16_t kVersion = 1;
constexpr std::uint32_t kHasCrc = 1;
constexpr std::size_t kHeaderBytes = 20;
constexpr std::size_t kCrcBytes = 4;
constexpr std::size_t kLeastElementBytes = 5;  ///< an empty key with its NUL, and a count

std::uint32_t crc_of(std::span<const std::byte> bytes) {
  const auto* const data = reinterpret_cast<const Bytef*>(bytes.data());
  return static_cast<std::uint32_t>(::crc32_z(::crc32_z(0, nullptr, 0), data, bytes.size()));
}

Status too_deep() {
  return fail(Code::kUnsupported, fmt::format("KVTree: more than {} levels", kMaxKvDepth));
}

Status write_level(const KvTree& tree, unsigned depth, ByteWriter& out) {
  if (depth > kMaxKvDepth) return too_deep();
  out.u32(static_cast<std::uint32_t>(tree.size()));
  for (const auto& one : tree.elements()) {
    if (one.key.find('\0') != std::string::npos)
      return fail(Code::kInvalidArgument, "KVTree: a key with a zero byte cannot be stored");
    out.bytes(std::as_bytes(std::span(one.key)));
    out.u8(0);
    BENTO_TRY(write_level(one.below, depth + 1, out));
  }
  return {};
}

Result<std::string> read_key(std::span<const std::byte> bytes, ByteReader& in) {
  const auto rest = bytes.subspan(in.offset());
  const auto end = std::ranges::find(rest, std::byte{0});
  if (end == rest.end())
    return fail(Code::kCorrupt,
                fmt::format("KVTree: the key at byte {} has no end", kHeaderBytes + in.offset()));
  const auto length = static_cast<std::size_t>(end - rest.begin());
  BENTO_ASSIGN(const auto key, in.bytes(length));
  BENTO_TRY(in.skip(1));
  return std::string(reinterpret_cast<const char*>(key.data()), key.size());
}

using Elements = std::vector<KvTree::Element>;

/// The reference takes the elements of a level from the last to the first, and puts those that are
/// new to the front; so does this, with one pass.
void merge_from_last(Elements& into, Elements from) {
  std::unordered_map<std::string_view, std::size_t> known;
  for (std::size_t i = 0; i < into.size(); ++i) known.emplace(into[i].key, i);
  std::unordered_map<std::string_view, std::size_t> added;
  std::vector<std::size_t> fresh;  // of `from`, last first
  for (std::size_t i = from.size(); i-- > 0;) {
    auto& one = from[i];
    if (const auto found = known.find(one.key); found != known.end()) {
      merge_from_last(into[found->second].below.elements(), std::move(one.below.elements()));
    } else if (const auto before = added.find(one.key); before != added.end()) {
      merge_from_last(from[before->second].below.elements(), std::move(one.below.elements()));
    } else {
      added.emplace(one.key, i);
      fresh.push_back(i);
    }
  }
  Elements all;
  all.reserve(fresh.size() + into.size());
  for (std::size_t i = fresh.size(); i-- > 0;) all.push_back(std::move(from[fresh[i]]));
  std::ranges::move(into, std::back_inserter(all));
  into = std::move(all);
}

bool has_twins(const Elements& level) {
  if (level.size() < 16) {
    for (std::size_t i = 1; i < level.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (level[i].key == level[j].key) return true;
    return false;
  }
  std::unordered_set<std::string_view> seen;
  return !std::ranges::all_of(
      level, [&](const KvTree::Element& one) { return seen.insert(one.key).second; });
}

Status read_level(std::span<const std::byte> bytes, ByteReader& in, unsigned depth, KvTree& tree) {
  if (depth > kMaxKvDepth) return too_deep();
  BENTO_ASSIGN(const std::uint32_t count, in.u32());
  BENTO_TRY(in.fits(count, kLeastElementBytes));
  auto& level = tree.elements();
  level.reserve(std::min<std::size_t>(count, 64));
  for (std::uint32_t i = 0; i < count; ++i) {
    BENTO_ASSIGN(std::string key, read_key(bytes, in));
    level.push_back({std::move(key), {}});
    BENTO_TRY(read_level(bytes, in, depth + 1, level.back().below));
  }
  if (has_twins(level)) {
    Elements merged;
    merge_from_last(merged, std::move(level));
    tree.elements() = std::move(merged);
  }
  return {};
}

struct Header {
  std::uint64_t length = 0;
  bool has_crc = false;
};

Result<Header> read_header(std::span<const std::byte> bytes) {
  ByteReader in(bytes, std::endian::big, "KVTree header");
  BENTO_ASSIGN(const std::uint32_t magic, in.u32());
  if (magic != kMagic)
    return fail(Code::kCorrupt,
                fmt::format("KVTree: the first four bytes are {:08x}, want {:08x}", magic, kMagic));
  BENTO_ASSIGN(const std::uint16_t type, in.u16());
  BENTO_ASSIGN(const std::uint16_t version, in.u16());
  if (type != kTypeHash || version != kVersion)
    return fail(Code::kUnsupported, fmt::format("KVTree: file type {} version {}; known is {} {}",
                                                type, version, kTypeHash, kVersion));
  Header header;
  BENTO_ASSIGN(header.length, in.u64());
  BENTO_ASSIGN(const std::uint32_t flags, in.u32());
  header.has_crc = (flags & kHasCrc) != 0;
  if (header.length > kMaxKvBytes)
    return fail(Code::kUnsupported,
                fmt::format("KVTree: the header at byte 8 says {} bytes; at most {} are read",
                            header.length, kMaxKvBytes));
  const std::uint64_t least = kHeaderBytes + 4 + (header.has_crc ? kCrcBytes : 0);
  if (header.length < least || header.length > bytes.size())
    return fail(Code::kCorrupt,
                fmt::format("KVTree: the header at byte 8 says {} bytes; there are {}, and at "
                            "least {} are needed",
                            header.length, bytes.size(), least));
  return header;
}

}  // namespace

Result<std::vector<std::byte>> encode_kvtree(const KvTree& tree) {
  ByteWriter body(std::endian::big);
  BENTO_TRY(write_level(tree, 0, body));
  const std::uint64_t length = kHeaderBytes + body.size() + kCrcBytes;
  if (length > kMaxKvBytes)
    return fail(Code::kUnsupported,
                fmt::format("KVTree: {} bytes; at most {} can be stored", length, kMaxKvBytes));
  ByteWriter out(std::endian::big);
  out.u32(kMagic);
  out.u16(kTypeHash);
  out.u16(kVersion);
  out.u64(length);
  out.u32(kHasCrc);
  out.bytes(body.view());
  out.u32(crc_of(out.view()));
  return std::move(out).take();
}

Result<KvTree> decode_kvtree(std::span<const std::byte> bytes) {
  KvTree tree;
  if (bytes.empty()) return tree;
  BENTO_ASSIGN(const Header header, read_header(bytes));
  bytes = bytes.first(static_cast<std::size_t>(header.length));
  if (header.has_crc) {
    ByteReader in(bytes.last(kCrcBytes), std::endian::big, "KVTree checksum");
    BENTO_ASSIGN(const std::uint32_t stored, in.u32());
    bytes = bytes.first(bytes.size() - kCrcBytes);
    if (const std::uint32_t found = crc_of(bytes); found != stored)
      return fail(Code::kCorrupt, fmt::format("KVTree: the checksum at byte {} is {:08x}, that of "
                                              "the bytes before it {:08x}",
                                              bytes.size(), stored, found));
  }
  const auto body = bytes.subspan(kHeaderBytes);
  ByteReader in(body, std::endian::big, "KVTree");
  BENTO_TRY(read_level(body, in, 0, tree));
  return tree;
}

}  // namespace bento::transfer
