// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/joined/slot.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"

namespace bento {

namespace {

constexpr std::array<char, 8> kHeaderMagic = {'B', 'N', 'T', 'O', 'J', 'O', 'I', 'N'};
constexpr std::array<char, 8> kSlotMagic = {'B', 'N', 'T', 'O', 'S', 'L', 'O', 'T'};
constexpr std::size_t kHashAt = kSlotBytes - 16;
constexpr std::size_t kViewAt = 304;  // of a header
constexpr std::size_t kNameAt = 80;   // of a slot
constexpr std::uint64_t kPairBytes = 2 * kSlotBytes;

using Place = std::array<std::byte, kSlotBytes>;
using Pair = std::array<std::byte, kPairBytes>;

Place sealed(const ByteWriter& out) {
  Place place{};
  std::copy(out.view().begin(), out.view().end(), place.begin());
  const Hash128 hash = hash128(std::span(place).first(kHashAt));
  std::copy(hash.begin(), hash.end(), place.begin() + kHashAt);
  return place;
}

bool is_whole(std::span<const std::byte> place, const std::array<char, 8>& magic) {
  if (place.size() != kSlotBytes || std::memcmp(place.data(), magic.data(), magic.size()) != 0)
    return false;
  const Hash128 hash = hash128(place.first(kHashAt));
  return std::equal(hash.begin(), hash.end(), place.begin() + kHashAt);
}

template <std::size_t N>
Status get(ByteReader& in, std::array<std::byte, N>& to) {
  BENTO_ASSIGN(const auto bytes, in.bytes(N));
  std::copy(bytes.begin(), bytes.end(), to.begin());
  return {};
}

Result<std::string> get_text(ByteReader& in, std::uint32_t bytes) {
  BENTO_ASSIGN(const auto text, in.bytes(bytes));
  return std::string(reinterpret_cast<const char*>(text.data()), text.size());
}

Result<JoinedHeader> header_fields(std::span<const std::byte> place) {
  JoinedHeader header;
  ByteReader in(place, std::endian::little, "header");
  BENTO_TRY(in.skip(kHeaderMagic.size()));
  BENTO_TRY(get(in, header.layout));
  BENTO_ASSIGN(header.turn, in.u64());
  BENTO_ASSIGN(header.length, in.u64());
  BENTO_ASSIGN(const std::uint32_t job, in.u32());
  if (job > kJobBytes) return fail(Code::kCorrupt, "header: job");
  BENTO_ASSIGN(header.job, get_text(in, job));
  ByteReader behind(place.subspan(kViewAt), std::endian::little, "header");
  BENTO_ASSIGN(header.view_at, behind.u64());
  BENTO_TRY(get(behind, header.view));
  return header;
}

Result<Slot> slot_fields(std::span<const std::byte> place) {
  Slot slot;
  ByteReader in(place, std::endian::little, "slot");
  BENTO_TRY(in.skip(kSlotMagic.size()));
  BENTO_TRY(get(in, slot.layout));
  BENTO_ASSIGN(slot.turn, in.u64());
  BENTO_ASSIGN(slot.task, in.u32());
  BENTO_ASSIGN(slot.rank, in.u32());
  BENTO_ASSIGN(slot.flags, in.u32());
  BENTO_ASSIGN(const std::uint32_t name, in.u32());
  BENTO_ASSIGN(slot.bytes, in.u64());
  BENTO_ASSIGN(slot.reach, in.u64());
  BENTO_TRY(get(in, slot.job));
  if (name > kJoinedNameBytes) return fail(Code::kCorrupt, "slot: name");
  BENTO_ASSIGN(slot.name, get_text(in, name));
  return slot;
}

template <class T>
std::optional<T> decoded(std::span<const std::byte> place, const std::array<char, 8>& magic,
                         Result<T> (*fields)(std::span<const std::byte> place)) {
  if (!is_whole(place, magic)) return std::nullopt;
  auto found = fields(place);
  if (!found) return std::nullopt;
  return std::move(*found);
}

/// Where in the catalogue's chunk the places of header or slot begin. They cross no chunk end,
/// since chunks are multiples of 4096 bytes.
std::uint64_t header_address(const FilePlan& plan) {
  return plan.address(plan.catalogue_task(), 0);
}
std::uint64_t slot_address(const FilePlan& plan, std::uint32_t task) {
  return plan.address(plan.catalogue_task(), kJoinedHeaderBytes + kPairBytes * task);
}

/// Of two places the valid one of `layout` with the larger turn, and its number.
template <class T, class Decode>
std::optional<std::pair<T, unsigned>> newest_of(std::span<const std::byte> pair,
                                                const SessionId& layout, const Decode& decode) {
  std::optional<std::pair<T, unsigned>> newest;
  for (unsigned place = 0; place < 2; ++place) {
    auto found = decode(pair.subspan(place * kSlotBytes, kSlotBytes));
    if (found && found->layout == layout && (!newest || found->turn > newest->first.turn))
      newest.emplace(std::move(*found), place);
  }
  return newest;
}

Status check_slot(const File& first, const FilePlan& plan, const Slot& slot, std::uint32_t task) {
  const auto wrong = [&](std::string_view what) {
    return fail(Code::kCorrupt, fmt::format("'{}': the slot of task {} at byte {} {}", first.path(),
                                            task, slot_address(plan, task), what));
  };
  if (slot.task != task) return wrong(fmt::format("says that it is of task {}", slot.task));
  const std::uint64_t most = plan.blocks_within(kMaxLogicalBytes) * plan.chunk_bytes;
  if (slot.bytes > slot.reach || slot.reach > most)
    return wrong(fmt::format("has a stream of {} to {} bytes, at most {} are possible", slot.bytes,
                             slot.reach, most));
  if (slot.used() && (slot.name.empty() || slot.name.find('\0') != std::string::npos))
    return wrong("has a name that is none");
  return {};
}

Result<Slot> slot_of(const File& first, const FilePlan& plan, std::span<const std::byte> pair,
                     const SessionId& layout, std::uint32_t task) {
  auto newest = newest_of<Slot>(pair, layout, decode_slot);
  if (newest) {
    BENTO_TRY(check_slot(first, plan, newest->first, task));
    return std::move(newest->first);
  }
  Slot slot;
  slot.layout = layout;
  slot.task = task;
  return slot;
}

/// Goes through the pairs of places of all tasks, a MiB at a time, until `each` says false.
template <class Each>
Status for_each_pair(File& first, const FilePlan& plan, std::uint32_t tasks, const Each& each) {
  constexpr std::uint32_t kAtOnce = (1u << 20) / kPairBytes;
  std::vector<std::byte> bytes;
  for (std::uint32_t task = 0; task < tasks;) {
    // Not beyond the chunk that holds the first of them.
    const std::uint64_t position = kJoinedHeaderBytes + kPairBytes * task;
    const std::uint64_t in_chunk = (plan.chunk_bytes - position % plan.chunk_bytes) / kPairBytes;
    const auto count = static_cast<std::uint32_t>(
        std::min<std::uint64_t>({kAtOnce, tasks - task, std::max<std::uint64_t>(in_chunk, 1)}));
    bytes.resize(count * kPairBytes);
    BENTO_TRY(first.read_at(slot_address(plan, task), bytes));
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto pair = std::span<const std::byte>(bytes).subspan(i * kPairBytes, kPairBytes);
      BENTO_ASSIGN(const bool go_on, each(task + i, pair));
      if (!go_on) return {};
    }
    task += count;
  }
  return {};
}

/// Spares the hashes of almost all places.
bool may_have_name(std::span<const std::byte> place, std::string_view name) {
  return name.size() <= kJoinedNameBytes &&
         std::memcmp(place.data() + kNameAt, name.data(), name.size()) == 0;
}

}  // namespace

std::uint64_t joined_catalogue_bytes(std::uint32_t file, std::uint32_t tasks) {
  return kJoinedHeaderBytes + (file == 0 ? kPairBytes * tasks : 0);
}

Place encode_joined_header(const JoinedHeader& header) {
  const std::string_view job = std::string_view(header.job).substr(0, kJobBytes);
  ByteWriter out;
  out.bytes(std::as_bytes(std::span(kHeaderMagic)));
  out.bytes(header.layout);
  out.u64(header.turn);
  out.u64(header.length);
  out.u32(static_cast<std::uint32_t>(job.size()));
  out.bytes(std::as_bytes(std::span(job)));
  out.zeros(kViewAt - out.size());
  out.u64(header.view_at);
  out.bytes(header.view);
  return sealed(out);
}

std::optional<JoinedHeader> decode_joined_header(std::span<const std::byte> place) {
  return decoded(place, kHeaderMagic, &header_fields);
}

Place encode_slot(const Slot& slot) {
  const std::string_view name = std::string_view(slot.name).substr(0, kJoinedNameBytes);
  ByteWriter out;
  out.bytes(std::as_bytes(std::span(kSlotMagic)));
  out.bytes(slot.layout);
  out.u64(slot.turn);
  out.u32(slot.task);
  out.u32(slot.rank);
  out.u32(slot.flags);
  out.u32(static_cast<std::uint32_t>(name.size()));
  out.u64(slot.bytes);
  out.u64(slot.reach);
  out.bytes(slot.job);
  out.bytes(std::as_bytes(std::span(name)));
  return sealed(out);
}

std::optional<Slot> decode_slot(std::span<const std::byte> place) {
  return decoded(place, kSlotMagic, &slot_fields);
}

Result<JoinedHeader> read_joined_header(File& file, const FilePlan& plan, const SessionId& layout) {
  Pair pair{};
  BENTO_TRY(file.read_some(header_address(plan), pair));
  auto newest = newest_of<JoinedHeader>(pair, layout, decode_joined_header);
  if (!newest)
    return fail(Code::kCorrupt,
                fmt::format("'{}': no valid header of the streams at byte {}: the file is damaged",
                            file.path(), header_address(plan)));
  return std::move(newest->first);
}

Status write_joined_header(File& file, const FilePlan& plan, JoinedHeader& header) {
  Pair pair{};
  BENTO_TRY(file.read_some(header_address(plan), pair));
  const auto newest = newest_of<JoinedHeader>(pair, header.layout, decode_joined_header);
  const unsigned place = newest ? 1 - newest->second : 0;
  header.turn = newest ? newest->first.turn + 1 : 1;
  return file.write_at(header_address(plan) + place * kSlotBytes, encode_joined_header(header));
}

Result<Slot> read_slot(File& first, const FilePlan& plan, const SessionId& layout,
                       std::uint32_t task) {
  Pair pair{};
  BENTO_TRY(first.read_at(slot_address(plan, task), pair));
  return slot_of(first, plan, pair, layout, task);
}

Status visit_slots(File& first, const FilePlan& plan, const SessionId& layout, std::uint32_t tasks,
                   const std::function<bool(const Slot&)>& each) {
  return for_each_pair(first, plan, tasks,
                       [&](std::uint32_t task, std::span<const std::byte> pair) -> Result<bool> {
                         BENTO_ASSIGN(const Slot slot, slot_of(first, plan, pair, layout, task));
                         return each(slot);
                       });
}

Result<std::optional<Slot>> find_slot(File& first, const FilePlan& plan, const SessionId& layout,
                                      std::uint32_t tasks, std::string_view name) {
  std::optional<Slot> found;
  BENTO_TRY(for_each_pair(
      first, plan, tasks, [&](std::uint32_t task, std::span<const std::byte> pair) -> Result<bool> {
        if (!may_have_name(pair, name) && !may_have_name(pair.subspan(kSlotBytes), name))
          return true;
        BENTO_ASSIGN(Slot slot, slot_of(first, plan, pair, layout, task));
        if (slot.used() && slot.name == name) found = std::move(slot);
        return !found;
      }));
  return found;
}

Status write_slot(File& first, const FilePlan& plan, Slot& slot) {
  const std::uint64_t address = slot_address(plan, slot.task);
  Pair pair{};
  BENTO_TRY(first.read_some(address, pair));
  const auto newest = newest_of<Slot>(pair, slot.layout, decode_slot);
  const unsigned place = newest ? 1 - newest->second : 0;
  slot.turn = newest ? newest->first.turn + 1 : 1;
  return first.write_at(address + place * kSlotBytes, encode_slot(slot));
}

}  // namespace bento
