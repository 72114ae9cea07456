// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/layout/root.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"

namespace bento {

namespace {

constexpr std::array<char, 8> kMagic = {'B', 'N', 'T', 'O', 'R', 'O', 'O', 'T'};
constexpr std::size_t kHashAt = kSectorBytes - 16;
constexpr std::size_t kGroupsAt = 256;
constexpr std::size_t kGroupBytes = 24;
constexpr std::size_t kSessionAt = kGroupsAt + kMaxGroups * kGroupBytes;
static_assert(kSessionAt + sizeof(SessionId) <= kHashAt);
constexpr std::size_t kViewBeforeAt = kSessionAt + sizeof(SessionId);
constexpr std::size_t kClosedAt = kViewBeforeAt + 32;
static_assert(kClosedAt + 8 <= kHashAt);

void put(ByteWriter& out, const CatalogueRef& ref) {
  out.u64(ref.position);
  out.u64(ref.bytes);
  out.bytes(ref.hash);
}

Result<Hash128> get_hash(ByteReader& in) {
  Hash128 hash{};
  BENTO_ASSIGN(const auto bytes, in.bytes(hash.size()));
  std::copy(bytes.begin(), bytes.end(), hash.begin());
  return hash;
}

Result<CatalogueRef> get_ref(ByteReader& in) {
  CatalogueRef ref;
  BENTO_ASSIGN(ref.position, in.u64());
  BENTO_ASSIGN(ref.bytes, in.u64());
  BENTO_ASSIGN(ref.hash, get_hash(in));
  return ref;
}

// A provisional root may name chunks whose size nobody has chosen yet.
Result<std::vector<FileGroup>> decode_groups(ByteReader& in, bool provisional) {
  BENTO_ASSIGN(const std::uint32_t count, in.u32());
  BENTO_TRY(in.skip(4));
  if (count == 0 || count > kMaxGroups)
    return fail(Code::kCorrupt, fmt::format("root: {} groups of files", count));
  std::vector<FileGroup> groups(count);
  for (FileGroup& group : groups) {
    BENTO_ASSIGN(group.writers, in.u32());
    BENTO_ASSIGN(group.files, in.u32());
    BENTO_ASSIGN(group.chunk_bytes, in.u64());
    BENTO_ASSIGN(group.first_rank, in.u32());
    BENTO_TRY(in.skip(4));
    if (group.chunk_bytes > kMaxLogicalBytes || group.chunk_bytes % kSectorBytes != 0 ||
        (group.chunk_bytes == 0 && !provisional))
      return fail(Code::kCorrupt, fmt::format("root: chunk of {} bytes", group.chunk_bytes));
  }
  return groups;
}

}  // namespace

std::uint32_t Root::files() const {
  std::uint32_t files = 0;
  for (const auto& group : groups) files += group.files;
  return files;
}

RootMark mark_of(const Root& root) {
  ByteWriter out;
  out.u64(root.sequence);
  out.bytes(root.file_id);
  RootMark mark{};
  std::copy(out.view().begin(), out.view().end(), mark.begin());
  return mark;
}

std::array<std::byte, kSectorBytes> encode_root(const Root& root) {
  ByteWriter out;
  out.bytes(std::as_bytes(std::span(kMagic)));
  out.u32(root.version);
  out.u32(root.flags);
  out.u64(root.sequence);
  out.bytes(root.file_id);
  out.u32(root.fs_block);
  out.u32(root.next_dataset);
  out.u64(root.step);
  out.u64(root.oldest);
  out.u64(root.collective);
  out.u64(root.skeleton_bytes);
  out.u64(root.catalogue_end);
  put(out, root.skeleton);
  put(out, root.index);
  put(out, root.streams);
  put(out, root.view);
  out.bytes(root.superblock);
  out.bytes(root.superblock_before);
  out.u32(static_cast<std::uint32_t>(root.groups.size()));
  out.u32(0);
  for (const auto& group : root.groups) {
    out.u32(group.writers);
    out.u32(group.files);
    out.u64(group.chunk_bytes);
    out.u32(group.first_rank);
    out.u32(0);
  }
  out.zeros(kSessionAt - out.size());
  out.bytes(root.session);
  out.zeros(kViewBeforeAt - out.size());
  put(out, root.view_before);
  out.zeros(kClosedAt - out.size());
  out.u64(root.closed);

  std::array<std::byte, kSectorBytes> sector{};
  std::copy(out.view().begin(), out.view().end(), sector.begin());
  const Hash128 hash = hash128(std::span(sector).first(kHashAt));
  std::copy(hash.begin(), hash.end(), sector.begin() + kHashAt);
  return sector;
}

Result<Root> decode_root(std::span<const std::byte> sector) {
  if (sector.size() != kSectorBytes)
    return fail(Code::kCorrupt,
                fmt::format("root: {} bytes, want {}", sector.size(), kSectorBytes));
  ByteReader in(sector, std::endian::little, "root");
  BENTO_ASSIGN(const auto magic, in.bytes(kMagic.size()));
  if (std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0)
    return fail(Code::kCorrupt, "root: no magic");
  BENTO_ASSIGN(const std::uint32_t version, in.u32());
  const Hash128 hash = hash128(sector.first(kHashAt));
  if (!std::equal(hash.begin(), hash.end(), sector.begin() + kHashAt))
    return fail(Code::kCorrupt, "root: checksum does not match");
  if (version < kOldestFormatVersion || version > kVersionWithVariableElements)
    return fail(Code::kUnsupported,
                fmt::format("container format version {}, this h5bento reads versions {} to {}",
                            version, kOldestFormatVersion, kVersionWithVariableElements));
  Root root;
  root.version = version;
  BENTO_ASSIGN(root.flags, in.u32());
  BENTO_ASSIGN(root.sequence, in.u64());
  BENTO_ASSIGN(const auto id, in.bytes(root.file_id.size()));
  std::copy(id.begin(), id.end(), root.file_id.begin());
  BENTO_ASSIGN(root.fs_block, in.u32());
  BENTO_ASSIGN(root.next_dataset, in.u32());
  BENTO_ASSIGN(root.step, in.u64());
  BENTO_ASSIGN(root.oldest, in.u64());
  if (root.oldest > root.step)
    return fail(Code::kCorrupt, fmt::format("root: oldest step {} of {}", root.oldest, root.step));
  BENTO_ASSIGN(root.collective, in.u64());
  BENTO_ASSIGN(root.skeleton_bytes, in.u64());
  BENTO_ASSIGN(root.catalogue_end, in.u64());
  BENTO_ASSIGN(root.skeleton, get_ref(in));
  BENTO_ASSIGN(root.index, get_ref(in));
  BENTO_ASSIGN(root.streams, get_ref(in));
  BENTO_ASSIGN(root.view, get_ref(in));
  BENTO_ASSIGN(root.superblock, get_hash(in));
  BENTO_ASSIGN(root.superblock_before, get_hash(in));

  BENTO_ASSIGN(root.groups, decode_groups(in, (root.flags & kRootProvisional) != 0));
  BENTO_TRY(in.skip(kSessionAt - in.offset()));
  BENTO_ASSIGN(root.session, get_hash(in));
  BENTO_TRY(in.skip(kViewBeforeAt - in.offset()));
  BENTO_ASSIGN(root.view_before, get_ref(in));
  BENTO_TRY(in.skip(kClosedAt - in.offset()));
  BENTO_ASSIGN(root.closed, in.u64());
  if (root.fs_block > (1u << 30))
    return fail(Code::kCorrupt, fmt::format("root: block of {} bytes", root.fs_block));
  const auto plan = ContainerPlan::of(root.groups, root.fs_block);
  if (!plan) return fail(Code::kCorrupt, fmt::format("root: {}", plan.error().text));
  return root;
}

Status refuse_joined(const std::string& path, const Root& root) {
  if ((root.flags & kRootJoined) == 0) return {};
  return fail(Code::kUnsupported,
              fmt::format("'{}' holds the HDF5 files of several processes, written through the "
                          "HDF5 driver of h5bento: open them by their own names with "
                          "HDF5_DRIVER=bento HDF5_DRIVER_CONFIG='container={}'",
                          path, path));
}

Result<Probe> probe(File& file) {
  Probe result;
  std::array<std::byte, 28> head{};
  BENTO_ASSIGN(const std::size_t got, file.read_some(0, head));
  if (got < head.size() || std::memcmp(head.data(), "sion", 4) != 0) return result;
  result.kind = FileKind::kPlainSion;
  ByteReader in(head);
  BENTO_TRY(in.skip(24));
  BENTO_ASSIGN(const std::uint32_t tasks, in.u32());
  if (tasks < 2 || tasks > kMaxWriters + 1) {
    result.problem = fmt::format("META1 says {} tasks", tasks);
    return result;
  }
  const std::uint64_t first = superblock_address(tasks) + kSectorBytes;
  for (unsigned slot = 0; slot < 2; ++slot) {
    std::array<std::byte, kSectorBytes> sector{};
    const std::uint64_t address = first + slot * kSectorBytes;
    BENTO_ASSIGN(const std::size_t bytes, file.read_some(address, sector));
    if (bytes != sector.size()) {
      result.problem = fmt::format("the file ends before root slot {} at byte {}", slot, address);
      break;
    }
    auto root = decode_root(sector);
    if (!root) {
      // A newer format must be refused by name even when an old root lies beside it.
      if (root.error().code == Code::kUnsupported) return fail(std::move(root).error());
      if (result.problem.empty())
        result.problem = fmt::format("{} (slot {} at byte {})", root.error().text, slot, address);
      continue;
    }
    if (result.kind == FileKind::kContainer && root->sequence == result.root.sequence)
      result.mirrored = encode_root(*root) == encode_root(result.root);
    if (result.kind != FileKind::kContainer || root->sequence > result.root.sequence) {
      result.kind = FileKind::kContainer;
      result.root = *root;
      result.slot = slot;
    }
  }
  return result;
}

}  // namespace bento
