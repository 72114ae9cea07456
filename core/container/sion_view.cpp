// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/sion_view.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "core/base/checked.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"

namespace bento {

namespace {

constexpr std::size_t kPrefixBytes = 1024;
constexpr std::uint64_t kFilesAt = 28;             // nfiles
constexpr std::size_t kFixedBytes = 1076;          // META1 before the globalranks
constexpr std::uint64_t kPlainFlag = 50ull << 32;  // key-value mode "none"

std::uint64_t tail_address(const FilePlan& part) {
  return kFixedBytes + 16ull * part.tasks();
}

/// META1; `meta2` 0 means: not closed.
std::vector<std::byte> encode_meta1(const ContainerPlan& plan, std::uint32_t index,
                                    const std::string& name, std::uint32_t max_chunks,
                                    std::uint64_t meta2) {
  const FilePlan& part = plan.file(index);
  ByteWriter out;
  out.bytes(std::as_bytes(std::span("sion", 4)));
  out.u32(0);     // little-endian metadata and data
  out.u32(1007);  // SIONlib 1.7
  out.u32(6);
  out.u32(5);  // file format version
  out.u32(part.fsblksize);
  out.u32(part.tasks());
  out.u32(plan.files());
  out.u32(index);
  out.u64(kPlainFlag);
  out.u64(0);
  const std::string prefix = name.substr(0, kPrefixBytes - 1);
  out.bytes(std::as_bytes(std::span(prefix)));
  out.zeros(kPrefixBytes - prefix.size());
  for (std::uint32_t task = 0; task < part.writers; ++task) out.u64(part.first_global + task);
  out.u64(part.catalogue_global);
  for (std::uint32_t task = 0; task < part.tasks(); ++task) out.u64(part.chunk_bytes);
  out.u32(max_chunks);
  out.u64(meta2);
  return std::move(out).take();
}

std::vector<std::byte> encode_meta2(const ContainerPlan& plan, std::uint32_t index,
                                    std::span<const ChunkFill> fills, const ChunkFill& catalogue,
                                    std::uint64_t blocks) {
  const FilePlan& part = plan.file(index);
  ByteWriter out;
  // A real SIONlib call trusts task 0's count, so all tasks state the same one.
  for (std::uint32_t task = 0; task < part.tasks(); ++task) out.u64(blocks);
  for (std::uint64_t block = 0; block < blocks; ++block)
    for (std::uint32_t task = 0; task < part.tasks(); ++task) {
      const ChunkFill& fill = task < part.writers ? fills[task] : catalogue;
      out.u64(block < fill.size() ? fill[static_cast<std::size_t>(block)] : 0);
    }
  if (index == 0 && plan.files() > 1) {
    // Index equals global rank. Within a group the writers come first, then the catalogues.
    out.u32(plan.globals());
    std::vector<std::pair<std::uint32_t, std::uint32_t>> places(plan.globals());
    for (std::uint32_t other = 0; other < plan.files(); ++other) {
      const FilePlan& there = plan.file(other);
      for (std::uint32_t task = 0; task < there.writers; ++task)
        places[there.first_global + task] = {other, task};
      places[there.catalogue_global] = {other, there.catalogue_task()};
    }
    for (const auto& [other, task] : places) {
      out.u32(other);
      out.u32(task);
    }
  }
  return std::move(out).take();
}

}  // namespace

Result<bool> looks_like_sion(File& file) {
  std::array<std::byte, 4> magic{};
  BENTO_ASSIGN(const std::size_t got, file.read_some(0, magic));
  return got == 0 || (got == magic.size() && std::memcmp(magic.data(), "sion", 4) == 0);
}

Status write_provisional_sion(File& file, const ContainerPlan& plan, std::uint32_t index,
                              const std::string& name) {
  const FilePlan& part = plan.file(index);
  const std::vector<ChunkFill> none(part.writers);
  BENTO_TRY(file.write_at(part.data_start(), encode_meta2(plan, index, none, {}, 1)));
  return file.write_at(0, encode_meta1(plan, index, name, 1, part.data_start()));
}

Status write_unfinished_sion(File& file, const ContainerPlan& plan, std::uint32_t index,
                             const std::string& name) {
  const FilePlan& part = plan.file(index);
  BENTO_TRY(file.write_at(0, encode_meta1(plan, index, name, 0, 0)));
  const std::vector<ChunkFill> none(part.writers);
  const std::vector<std::byte> zeros(encode_meta2(plan, index, none, {}, 1).size());
  return file.write_at(part.data_start(), zeros);
}

Result<Position> complete_sion(File& file, const ContainerPlan& plan, std::uint32_t index,
                               std::span<const ChunkFill> fills, Position catalogue_end) {
  const FilePlan& part = plan.file(index);
  const ChunkFill catalogue = dense_fill(catalogue_end, part.chunk_bytes);
  std::uint64_t blocks = catalogue.size();
  for (const auto& fill : fills) blocks = std::max<std::uint64_t>(blocks, fill.size());
  const auto meta2 = encode_meta2(plan, index, fills, catalogue, blocks);

  Position at = round_up(catalogue_end, 8);
  std::uint64_t address = 0;
  if (meta2.size() > part.chunk_bytes) {
    address =
        part.data_start() + blocks * part.block_bytes();  // where SIONlib's own writer puts it
    at = catalogue_end;
  } else {
    if (at % part.chunk_bytes + meta2.size() > part.chunk_bytes)
      at = round_up(at, part.chunk_bytes);
    address = part.address(part.catalogue_task(), at);
    at += meta2.size();
  }
  BENTO_TRY(file.write_at(address, meta2));
  ByteWriter tail;
  tail.u32(static_cast<std::uint32_t>(blocks));
  tail.u64(address);
  BENTO_TRY(file.write_at(tail_address(part), tail.view()));
  ByteWriter files;
  files.u32(plan.files());
  BENTO_TRY(file.write_at(kFilesAt, files.view()));
  return at;
}

Result<Position> catalogue_end_of(File& file, const ContainerPlan& plan, std::uint32_t index) {
  const FilePlan& part = plan.file(index);
  std::array<std::byte, 12> tail{};
  BENTO_TRY(file.read_at(tail_address(part), tail));
  ByteReader in(tail, std::endian::little, "META1");
  BENTO_ASSIGN(const std::uint64_t blocks, in.u32());
  BENTO_ASSIGN(const std::uint64_t meta2, in.u64());
  // Only a place inside the catalogue's chunks is counted; behind all blocks META2 is written over
  // and over.
  if (meta2 < part.data_start()) return Position{0};
  const std::uint64_t block = (meta2 - part.data_start()) / part.block_bytes();
  const std::uint64_t chunk_start = part.address(part.catalogue_task(), block * part.chunk_bytes);
  if (meta2 < chunk_start || meta2 - chunk_start >= part.chunk_bytes) return Position{0};
  return block * part.chunk_bytes + (meta2 - chunk_start) + 8 * part.tasks() * (1 + blocks);
}

Status check_meta1(File& file, const ContainerPlan& plan, std::uint32_t index, bool closed) {
  const FilePlan& part = plan.file(index);
  std::vector<std::byte> bytes(tail_address(part) + 12);
  BENTO_TRY(file.read_at(0, bytes));
  ByteReader in(bytes, std::endian::little, "META1");
  const auto wrong = [&](std::string_view field, std::uint64_t found, std::uint64_t wanted) {
    return fail(Code::kCorrupt,
                fmt::format("'{}': META1 says {} {}, the root {}: one of them is damaged",
                            file.path(), field, found, wanted));
  };
  if (std::memcmp(bytes.data(), "sion", 4) != 0)
    return fail(
        Code::kCorrupt,
        fmt::format("'{}': no SION container, but named as physical file {}", file.path(), index));
  BENTO_TRY(in.skip(20));
  const std::array<std::pair<std::string_view, std::uint64_t>, 4> fields = {
      {{"fsblksize", part.fsblksize},
       {"ntasks", part.tasks()},
       {"nfiles", plan.files()},
       {"filenumber", index}}};
  for (const auto& [field, wanted] : fields) {
    BENTO_ASSIGN(const std::uint64_t found, in.u32());
    if (found != wanted && (closed || field != "nfiles")) return wrong(field, found, wanted);
  }
  BENTO_TRY(in.skip(16 + kPrefixBytes + 8ull * part.tasks()));
  for (std::uint32_t task = 0; task < part.tasks(); ++task) {
    BENTO_ASSIGN(const std::uint64_t chunk, in.u64());
    if (chunk != part.chunk_bytes)
      return wrong(fmt::format("chunk size of task {}", task), chunk, part.chunk_bytes);
  }
  return {};
}

}  // namespace bento
