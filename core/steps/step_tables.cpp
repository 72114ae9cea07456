// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/step_tables.hpp"

#include <initializer_list>

#include <fmt/format.h>

namespace bento {

namespace {

constexpr std::uint8_t kVersion = 2;
/// Without steps in datasets' entries; else the same.
constexpr std::uint8_t kOldestVersion = 1;

// Levels, and the reference unless there are none. Their summaries are empty.
template <class Root>
void put_array(ByteWriter& out, const Root& root) {
  out.u8(static_cast<std::uint8_t>(root.levels));
  if (root.levels != 0) put_ref(out, root.ref);
}
template <class Root>
Status get_array(ByteReader& in, Root& root) {
  BENTO_ASSIGN(root.levels, in.u8());
  if (root.levels > 16)
    return fail(Code::kCorrupt, fmt::format("step index: an array of {} levels", root.levels));
  if (root.levels != 0) {
    BENTO_ASSIGN(root.ref, get_ref(in));
  }
  return {};
}

/// The numbers of an entry that have 32 bits.
Status check_u32(std::initializer_list<std::uint64_t> values) {
  for (const std::uint64_t value : values)
    if (value >> 32 != 0)
      return fail(Code::kCorrupt, fmt::format("step index: {} does not fit 32 bits", value));
  return {};
}

}  // namespace

void DatasetTraits::put_entry(ByteWriter& out, const Entry& entry) const {
  const auto& declaration = entry.declaration;
  out.varint(declaration.number);
  out.bytes(declaration.token);
  out.varint(declaration.element_bytes);
  out.varint(declaration.rank);
  out.varint(declaration.flags);
  out.varint(entry.declared.number());
  out.varint(entry.deleted.number());
  out.varint(entry.dropped);
  SegmentArray(SegmentTraits{declaration.rank}).put_root(out, entry.steps);
}

Status DatasetTraits::get_entry(ByteReader& in, DatasetEntry& entry) const {
  auto& declaration = entry.declaration;
  const std::uint64_t number = in.next_varint();
  in.next_bytes(declaration.token);
  declaration.element_bytes = in.next_varint();
  const std::uint64_t rank = in.next_varint();
  const std::uint64_t flags = in.next_varint();
  BENTO_TRY(check_u32({number, rank, flags}));
  if (rank > kMaxRank) return fail(Code::kCorrupt, fmt::format("step index: {} dimensions", rank));
  declaration.number = static_cast<DatasetNumber>(number);
  declaration.rank = static_cast<std::uint32_t>(rank);
  declaration.flags = static_cast<std::uint32_t>(flags);
  entry.declared = AbsoluteStep(in.next_varint());
  entry.deleted = AbsoluteStep(in.next_varint());
  entry.dropped = in.next_varint();
  BENTO_TRY(in.settled());
  return SegmentArray(SegmentTraits{declaration.rank}).get_root(in, entry.steps);
}

std::vector<std::byte> encode(const StepIndexRoot& root) {
  ByteWriter out;
  out.u8(kVersion);
  out.varint(root.newest.number());
  out.varint(root.oldest.number());
  put_array(out, root.datasets);
  put_array(out, root.steps);
  return std::move(out).take();
}

Result<StepIndexRoot> decode_step_index_root(std::span<const std::byte> bytes) {
  ByteReader in(bytes, std::endian::little, "step index root");
  StepIndexRoot root;
  BENTO_ASSIGN(const std::uint8_t version, in.u8());
  if (version < kOldestVersion || version > kVersion)
    return fail(Code::kUnsupported,
                fmt::format("step index version {}, this h5bento reads {} to {}", version,
                            kOldestVersion, kVersion));
  BENTO_ASSIGN(const std::uint64_t newest, in.varint());
  BENTO_ASSIGN(const std::uint64_t oldest, in.varint());
  root.newest = AbsoluteStep(newest);
  root.oldest = AbsoluteStep(oldest);
  BENTO_TRY(get_array(in, root.datasets));
  BENTO_TRY(get_array(in, root.steps));
  if (in.remaining() != 0 || oldest > newest)
    return fail(Code::kCorrupt, fmt::format("step index root: steps {} to {}, {} bytes left over",
                                            oldest, newest, in.remaining()));
  return root;
}

}  // namespace bento
