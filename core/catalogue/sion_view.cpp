// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/catalogue/sion_view.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "core/base/checked.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/sion/constants.hpp"
#include "core/sion/layout.hpp"
#include "core/sion/mapping.hpp"
#include "core/sion/meta1.hpp"
#include "core/sion/meta2.hpp"

namespace bento {

namespace {

constexpr std::uint64_t kFilesAt = 28;  // nfiles

/// META1 of a file whose META2 is at `meta2`; 0: not closed.
Meta1 meta1_of(const ContainerPlan& plan, std::uint32_t index, const std::string& name,
               std::uint64_t blocks, std::uint64_t meta2) {
  const FilePlan& part = plan.file(index);
  Meta1 meta;
  meta.fsblksize = part.fsblksize;
  meta.files = plan.files();
  meta.file_number = index;
  meta.prefix = name.substr(0, kSionPrefixBytes - 1);
  for (std::uint32_t task = 0; task < part.writers; ++task)
    meta.global_ranks.push_back(std::int64_t{part.first_global} + task);
  meta.global_ranks.push_back(part.catalogue_global);
  meta.chunk_bytes.assign(part.tasks(), part.chunk_bytes);
  meta.max_blocks = static_cast<std::uint32_t>(blocks);
  meta.meta2_address = meta2;
  return meta;
}

std::uint64_t tail_address(const FilePlan& part) {
  return sion_meta1_bytes(part.tasks(), false);
}

/// The two numbers that are written last.
struct Tail {
  std::uint32_t blocks = 0;
  std::uint64_t meta2 = 0;
};

Result<Tail> read_tail(File& file, const FilePlan& part) {
  std::array<std::byte, kSionTailBytes> bytes{};
  BENTO_TRY(file.read_at(tail_address(part), bytes));
  ByteReader in(bytes, std::endian::little, "META1");
  Tail tail;
  BENTO_ASSIGN(tail.blocks, in.u32());
  BENTO_ASSIGN(tail.meta2, in.u64());
  return tail;
}

Status write_tail(File& file, const FilePlan& part, const Tail& tail) {
  Meta1 meta;
  meta.max_blocks = tail.blocks;
  meta.meta2_address = tail.meta2;
  return file.write_at(tail_address(part), encode_meta1_tail(meta));
}

/// Index equals global rank. Within a group the writers come first, then the catalogues.
SionMapping mapping_of(const ContainerPlan& plan) {
  SionMapping mapping(plan.globals());
  for (std::uint32_t index = 0; index < plan.files(); ++index) {
    const FilePlan& part = plan.file(index);
    for (std::uint32_t task = 0; task < part.writers; ++task)
      mapping[part.first_global + task] = {index, task};
    mapping[part.catalogue_global] = {index, part.catalogue_task()};
  }
  return mapping;
}

/// META2 and, in file 0 of several, the mapping.
Result<std::vector<std::byte>> encode_sizes(const ContainerPlan& plan, std::uint32_t index,
                                            std::span<const ChunkFill> fills,
                                            const ChunkFill& catalogue, std::uint64_t blocks) {
  const FilePlan& part = plan.file(index);
  // A real SIONlib call trusts task 0's count, so all tasks state the same one.
  Meta2 meta(std::vector<std::uint64_t>(part.tasks(), blocks));
  for (std::uint32_t task = 0; task < part.tasks(); ++task) {
    const ChunkFill& fill = task < part.writers ? fills[task] : catalogue;
    for (std::size_t block = 0; block < fill.size(); ++block)
      meta.set_size(task, block, fill[block]);
  }
  auto bytes = encode_meta2(meta, std::endian::little);
  if (index == 0 && plan.files() > 1) {
    BENTO_ASSIGN(const auto mapping, encode_mapping(mapping_of(plan), std::endian::little));
    bytes.insert(bytes.end(), mapping.begin(), mapping.end());
  }
  return bytes;
}

/// Where the META2 lies that `tail` points to. Nothing if there is none, or if it does not lie
/// inside a chunk of the catalogue: behind all blocks, where the next data goes; or if it does not
/// lie in the file. META1 has no checksum, and a session would go on behind that place.
std::optional<CatalogueRange> range_of_meta2(const ContainerPlan& plan, std::uint32_t index,
                                             const Tail& tail, std::uint64_t file_bytes) {
  const FilePlan& part = plan.file(index);
  const std::uint64_t bytes = 8ull * part.tasks() * (1 + std::uint64_t{tail.blocks});
  if (tail.meta2 < part.data_start() || bytes > file_bytes || tail.meta2 > file_bytes - bytes)
    return std::nullopt;
  const std::uint64_t block = (tail.meta2 - part.data_start()) / part.block_bytes();
  const std::uint64_t chunk_start = part.address(part.catalogue_task(), block * part.chunk_bytes);
  if (tail.meta2 < chunk_start) return std::nullopt;
  const std::uint64_t begin = tail.meta2 - chunk_start;
  const std::uint64_t end = begin + bytes;
  if (end > part.chunk_bytes) return std::nullopt;
  // If files were added since, the mapping is shorter than this says: a few bytes stay unused.
  const std::uint64_t mapping = index == 0 && plan.files() > 1 ? 4 + 8ull * plan.globals() : 0;
  return CatalogueRange{block * part.chunk_bytes + begin, block * part.chunk_bytes + end + mapping};
}

}  // namespace

Status write_provisional_sion(File& file, const ContainerPlan& plan, std::uint32_t index,
                              const std::string& name) {
  const FilePlan& part = plan.file(index);
  const std::vector<ChunkFill> none(part.writers);
  BENTO_ASSIGN(const auto meta2, encode_sizes(plan, index, none, {}, 1));
  BENTO_ASSIGN(const auto meta1,
               encode_meta1(meta1_of(plan, index, name, 1, part.data_start()), true));
  BENTO_TRY(file.write_at(part.data_start(), meta2));
  return file.write_at(0, meta1);
}

Status write_unfinished_meta1(File& file, const ContainerPlan& plan, std::uint32_t index,
                              const std::string& name) {
  BENTO_ASSIGN(const auto meta1, encode_meta1(meta1_of(plan, index, name, 0, 0), true));
  return file.write_at(0, meta1);
}

Status write_unfinished_sion(File& file, const ContainerPlan& plan, std::uint32_t index,
                             const std::string& name) {
  const FilePlan& part = plan.file(index);
  const std::vector<ChunkFill> none(part.writers);
  BENTO_ASSIGN(const auto meta2, encode_sizes(plan, index, none, {}, 1));
  BENTO_TRY(write_unfinished_meta1(file, plan, index, name));
  // Not beyond the first task's chunk: others may have written behind it already. What is left
  // there of a long mapping lies where no committed byte is before somebody writes it.
  const std::uint64_t bytes = std::min<std::uint64_t>(meta2.size(), part.chunk_bytes);
  return file.write_at(part.data_start(), std::vector<std::byte>(static_cast<std::size_t>(bytes)));
}

Status suspend_sion(File& file, const ContainerPlan& plan, std::uint32_t index) {
  const FilePlan& part = plan.file(index);
  BENTO_ASSIGN(const Tail tail, read_tail(file, part));
  if (tail.meta2 == 0) return {};
  return write_tail(file, part, {});
}

Result<bool> guard_sion(File& file, const ContainerPlan& plan, std::uint32_t index,
                        CatalogueSpace& space) {
  BENTO_ASSIGN(const Tail tail, read_tail(file, plan.file(index)));
  if (tail.meta2 == 0) return false;
  BENTO_ASSIGN(const std::uint64_t file_bytes, file.size());
  const auto range = range_of_meta2(plan, index, tail, file_bytes);
  if (!range) {
    BENTO_TRY(suspend_sion(file, plan, index));
    return false;
  }
  space.begin_behind(range->end);
  return true;
}

Result<std::optional<CatalogueRange>> meta2_in_use(File& file, const ContainerPlan& plan,
                                                   std::uint32_t index) {
  BENTO_ASSIGN(const Tail tail, read_tail(file, plan.file(index)));
  BENTO_ASSIGN(const std::uint64_t file_bytes, file.size());
  return range_of_meta2(plan, index, tail, file_bytes);
}

Status complete_sion(File& file, const ContainerPlan& plan, std::uint32_t index,
                     std::span<const ChunkFill> fills, CatalogueSpace& space,
                     const std::function<Status()>& sync) {
  const FilePlan& part = plan.file(index);
  const ChunkFill catalogue = dense_fill(space.end(), part.chunk_bytes);
  std::uint64_t blocks = catalogue.size();
  for (const auto& fill : fills) blocks = std::max<std::uint64_t>(blocks, fill.size());
  BENTO_ASSIGN(const auto meta2, encode_sizes(plan, index, fills, catalogue, blocks));

  std::uint64_t address = 0;
  if (meta2.size() > part.chunk_bytes)
    address =
        part.data_start() + blocks * part.block_bytes();  // where SIONlib's own writer puts it
  else
    address =
        part.address(part.catalogue_task(), space.take_behind(meta2.size(), part.chunk_bytes));
  BENTO_TRY(file.write_at(address, meta2));
  ByteWriter files;
  files.u32(plan.files());
  BENTO_TRY(file.write_at(kFilesAt, files.view()));
  BENTO_TRY(sync());
  // Last, and 12 bytes that end where 16 aligned bytes end: no page or sector parts them.
  return write_tail(file, part, {static_cast<std::uint32_t>(blocks), address});
}

// A META2 that fits no chunk does not say where the published view ends. It lay behind all blocks,
// and a session that writes takes it away. The view lies inside the file, though.
Result<Position> catalogue_end_of(File& file, const ContainerPlan& plan, std::uint32_t index) {
  BENTO_ASSIGN(const auto range, meta2_in_use(file, plan, index));
  if (range) return range->end;
  const FilePlan& part = plan.file(index);
  std::array<std::byte, 8> superblock{};
  BENTO_TRY(file.read_some(part.superblock_address(), superblock));
  if (superblock == std::array<std::byte, 8>{}) return 0;
  BENTO_ASSIGN(const std::uint64_t bytes, file.size());
  if (bytes <= part.data_start()) return 0;
  const std::uint64_t blocks =
      (bytes - part.data_start() + part.block_bytes() - 1) / part.block_bytes();
  return blocks * part.chunk_bytes;
}

Status check_meta1(File& file, const ContainerPlan& plan, std::uint32_t index, bool closed) {
  const FilePlan& part = plan.file(index);
  // Without its last 12 bytes: a session that died may have left anything there.
  std::vector<std::byte> bytes(tail_address(part));
  BENTO_TRY(file.read_at(0, bytes));
  auto meta = decode_meta1(bytes, bytes.size());
  if (!meta)
    return fail(std::move(meta).error().with_context(
        fmt::format("'{}', physical file {} of a container", file.path(), index)));
  const auto wrong = [&](std::string_view field, std::uint64_t found, std::uint64_t wanted) {
    return fail(Code::kCorrupt,
                fmt::format("'{}': META1 says {} {}, the root {}: one of them is damaged",
                            file.path(), field, found, wanted));
  };
  const std::array<std::tuple<std::string_view, std::uint64_t, std::uint64_t>, 4> fields = {
      {{"fsblksize", meta->fsblksize, part.fsblksize},
       {"ntasks", meta->tasks(), part.tasks()},
       {"nfiles", meta->files, plan.files()},
       {"filenumber", meta->file_number, index}}};
  for (const auto& [field, found, wanted] : fields)
    if (found != wanted && (closed || field != "nfiles")) return wrong(field, found, wanted);
  for (std::uint32_t task = 0; task < part.tasks(); ++task)
    if (meta->chunk_bytes[task] != part.chunk_bytes)
      return wrong(fmt::format("chunk size of task {}", task), meta->chunk_bytes[task],
                   part.chunk_bytes);
  return {};
}

}  // namespace bento
