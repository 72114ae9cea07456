// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/layout/identity.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/layout/superblock.hpp"
#include "core/sion/constants.hpp"

namespace bento {

namespace {

constexpr std::array<char, 8> kMagic = {'B', 'N', 'T', 'O', 'P', 'A', 'R', 'T'};
constexpr std::size_t kHashAt = kIdentityBytes - 16;
constexpr std::size_t kNameAt = 56 + kSessionsBefore * 16;
static_assert(kNameAt + kIdentityNameBytes <= kHashAt);

using Slots = std::array<std::byte, 2 * kIdentityBytes>;

template <std::size_t N>
Status get(ByteReader& in, std::array<std::byte, N>& to) {
  BENTO_ASSIGN(const auto bytes, in.bytes(N));
  std::copy(bytes.begin(), bytes.end(), to.begin());
  return {};
}

Result<Identity> decode_fields(std::span<const std::byte> slot) {
  Identity identity;
  ByteReader in(slot, std::endian::little, "identity");
  BENTO_TRY(in.skip(kMagic.size()));
  BENTO_ASSIGN(identity.part, in.u32());
  BENTO_ASSIGN(const std::uint32_t name_bytes, in.u32());
  BENTO_ASSIGN(identity.turn, in.u64());
  BENTO_TRY(get(in, identity.file_id));
  BENTO_TRY(get(in, identity.session));
  for (std::size_t i = 0; i < kSessionsBefore; ++i) {
    SessionId session{};
    BENTO_TRY(get(in, session));
    if (session != SessionId{}) identity.before.push_back(session);
  }
  if (name_bytes > kIdentityNameBytes)
    return fail(Code::kCorrupt, fmt::format("identity: a name of {} bytes", name_bytes));
  BENTO_ASSIGN(const auto name, in.bytes(name_bytes));
  identity.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
  return identity;
}

Result<Slots> read_slots(File& file, std::uint64_t superblock) {
  Slots slots{};
  BENTO_TRY(file.read_some(superblock + kIdentityAt, slots));  // a short file: zeros
  return slots;
}

/// The newest valid slot, and its number.
std::optional<std::pair<Identity, unsigned>> newest_of(const Slots& slots) {
  std::optional<std::pair<Identity, unsigned>> newest;
  for (unsigned slot = 0; slot < 2; ++slot) {
    auto found = decode_identity(std::span(slots).subspan(slot * kIdentityBytes, kIdentityBytes));
    if (found && (!newest || found->turn > newest->first.turn))
      newest.emplace(std::move(*found), slot);
  }
  return newest;
}

}  // namespace

std::array<std::byte, kIdentityBytes> encode_identity(const Identity& identity) {
  const std::string_view name = std::string_view(identity.name).substr(0, kIdentityNameBytes);
  ByteWriter out;
  out.bytes(std::as_bytes(std::span(kMagic)));
  out.u32(identity.part);
  out.u32(static_cast<std::uint32_t>(name.size()));
  out.u64(identity.turn);
  out.bytes(identity.file_id);
  out.bytes(identity.session);
  for (std::size_t i = 0; i < kSessionsBefore; ++i)
    out.bytes(i < identity.before.size() ? identity.before[i] : SessionId{});
  out.bytes(std::as_bytes(std::span(name)));

  std::array<std::byte, kIdentityBytes> slot{};
  std::copy(out.view().begin(), out.view().end(), slot.begin());
  const Hash128 hash = hash128(std::span(slot).first(kHashAt));
  std::copy(hash.begin(), hash.end(), slot.begin() + kHashAt);
  return slot;
}

std::optional<Identity> decode_identity(std::span<const std::byte> slot) {
  if (slot.size() != kIdentityBytes || std::memcmp(slot.data(), kMagic.data(), kMagic.size()) != 0)
    return std::nullopt;
  const Hash128 hash = hash128(slot.first(kHashAt));
  if (!std::equal(hash.begin(), hash.end(), slot.begin() + kHashAt)) return std::nullopt;
  auto identity = decode_fields(slot);
  if (!identity) return std::nullopt;
  return std::move(*identity);
}

Result<std::optional<Identity>> read_identity(File& file, std::uint64_t superblock) {
  BENTO_ASSIGN(const Slots slots, read_slots(file, superblock));
  auto newest = newest_of(slots);
  if (!newest) return std::optional<Identity>{};
  return std::optional<Identity>(std::move(newest->first));
}

Result<std::optional<Identity>> find_identity(File& file) {
  std::array<std::byte, 28> head{};
  BENTO_TRY(file.read_some(0, head));
  if (has_hdf5_signature(head)) return std::optional<Identity>{};
  if (std::memcmp(head.data(), kSionMagic.data(), kSionMagic.size()) == 0) {
    ByteReader in(head);
    BENTO_TRY(in.skip(24));
    BENTO_ASSIGN(const std::uint32_t tasks, in.u32());
    if (tasks >= 2 && tasks <= kMaxWriters + 1) {
      BENTO_ASSIGN(auto found, read_identity(file, superblock_address(tasks)));
      if (found) return found;
    }
  }
  // A create that was ended early has written the identity, but not META1, or only a piece of it.
  // Or META1 was damaged.
  BENTO_ASSIGN(const std::uint64_t bytes, file.size());
  for (std::uint64_t at = kSectorBytes; at < bytes && at <= superblock_address(kMaxWriters + 1);
       at *= 2) {
    BENTO_ASSIGN(auto found, read_identity(file, at));
    if (found) return found;
  }
  return std::optional<Identity>{};
}

Status refuse_damaged(File& file, const Probe& seen) {
  BENTO_ASSIGN(const auto identity, find_identity(file));
  if (!identity) return {};
  if (identity->part > 0)
    return fail(Code::kInvalidArgument,
                fmt::format("'{}' is {}; name the container's first file instead", file.path(),
                            describe(file, identity)));
  const std::string reason =
      seen.kind == FileKind::kOther
          ? "it does not begin as a SION file"
          : fmt::format("neither of its two roots is whole: {}", seen.problem);
  return fail(Code::kCorrupt, fmt::format("'{}' was begun as an h5bento container, but {}; nothing "
                                          "in it can be found",
                                          file.path(), reason));
}

Status write_identity(File& file, std::uint64_t superblock, Identity identity) {
  BENTO_ASSIGN(const Slots slots, read_slots(file, superblock));
  const auto newest = newest_of(slots);
  const unsigned slot = newest ? 1 - newest->second : 0;
  identity.turn = newest ? newest->first.turn + 1 : 1;
  return file.write_at(superblock + kIdentityAt + slot * kIdentityBytes, encode_identity(identity));
}

std::string describe(File& file, const std::optional<Identity>& found) {
  if (found)
    return fmt::format("part {} of a container that was made as '{}'", found->part,
                       printable_ascii(found->name));
  std::array<std::byte, 8> head{};
  const auto got = file.read_some(0, head);
  if (got && *got == 0) return "an empty file";
  if (got && *got == head.size() && has_hdf5_signature(head)) return "an ordinary HDF5 file";
  if (got && *got >= 4 && std::memcmp(head.data(), kSionMagic.data(), 4) == 0)
    return "a SION file that says not to which container it belongs";
  return "no file of h5bento";
}

Status check_part(File& file, const std::optional<Identity>& found, const std::string& container,
                  const FileId& file_id, std::uint32_t part) {
  if (found && found->file_id == file_id && found->part == part) return {};
  const std::string what = found && found->file_id == file_id
                               ? fmt::format("part {} of it", found->part)
                           : found ? describe(file, found) + ", another one"
                                   : describe(file, found);
  return fail(Code::kCorrupt, fmt::format("'{}' should be physical file {} of the container '{}', "
                                          "but it is {}; put the right file in its place",
                                          file.path(), part, container, what));
}

Error other_session(const File& file, const std::string& container, std::uint32_t part) {
  return Error{
      Code::kCorrupt,
      fmt::format("'{}', physical file {} of the container '{}', was written last by another "
                  "session than the container's first file knows: one of the two is an older copy, "
                  "or comes from a copy that was written separately; put files together that were "
                  "copied together",
                  file.path(), part, container),
      0};
}

Status PartRule::check_first(File& first, const FilePlan& plan) {
  BENTO_ASSIGN(const auto found, read_identity(first, plan.superblock_address()));
  BENTO_TRY(check_part(first, found, container_, file_id_, 0));
  if (found->session == committed_ ||
      std::ranges::find(found->before, committed_) != found->before.end())
    return {};
  return fail(other_session(first, container_, 0));
}

// The writer says in file 0 what it is going to say in the others. It may do so at any moment.
Status PartRule::check_other(File& file, const FilePlan& plan, std::uint32_t part, File& first,
                             const FilePlan& first_plan) {
  constexpr int kTries = 16;
  for (int tries = 0; tries < kTries; ++tries) {
    BENTO_ASSIGN(const auto found, read_identity(file, plan.superblock_address()));
    BENTO_TRY(check_part(file, found, container_, file_id_, part));
    const auto known = [&] {
      return found->session == committed_ ||
             std::ranges::find(seen_, found->session) != seen_.end();
    };
    if (tries == 0 && known()) return {};
    BENTO_ASSIGN(const auto now, read_identity(first, first_plan.superblock_address()));
    BENTO_ASSIGN(const Probe seen, probe(first));
    std::vector<SessionId> sessions;
    if (now && now->file_id == file_id_) sessions.push_back(now->session);
    if (seen.kind == FileKind::kContainer && seen.root.file_id == file_id_)
      sessions.push_back(seen.root.session);
    const bool same = sessions == seen_;
    seen_ = std::move(sessions);
    // Without `committed_`, which file 0 may have left behind.
    if (std::ranges::find(seen_, found->session) != seen_.end()) return {};
    if (same) return fail(other_session(file, container_, part));
  }
  return fail(other_session(file, container_, part));
}

}  // namespace bento
