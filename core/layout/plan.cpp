// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/layout/plan.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "core/base/checked.hpp"
#include "core/sion/layout.hpp"

namespace bento {

namespace {
/// Addresses are positions times the tasks; they must fit 64 bits.
constexpr std::uint64_t kMostBlockBytes = 1ull << 60;

/// What follows from the number of tasks.
Status fit(FilePlan& file, std::uint32_t fs_block) {
  // S is up(1088 + 16n), so the root slots stay in front of the data if one F reaches behind them.
  if (file.chunk_bytes > kMostBlockBytes / file.tasks())
    return fail(Code::kUnsupported, fmt::format("chunks of {} bytes for each of {} tasks",
                                                file.chunk_bytes, file.tasks()));
  const std::uint64_t roots_end = file.superblock_address() + 3 * kSectorBytes;
  file.fsblksize =
      static_cast<std::uint32_t>(std::max<std::uint64_t>(std::bit_ceil(roots_end), fs_block));
  return {};
}

/// The catalogue stays the last task: its number is behind those of all writers of its file, so no
/// other file of the group may have numbers there.
Status add_to_last(std::vector<FilePlan>& files, std::span<const FileGroup> groups,
                   const FileGroup& more, std::uint32_t fs_block) {
  const auto opened = std::find_if(groups.rbegin(), groups.rend(),
                                   [](const FileGroup& group) { return group.files != 0; });
  if (opened == groups.rend() || opened->files != 1 || opened->chunk_bytes != more.chunk_bytes)
    return fail(Code::kInvalidArgument,
                fmt::format("{} writers with chunks of {} bytes in no file that can have them",
                            more.writers, more.chunk_bytes));
  FilePlan& file = files.back();
  file.writers += more.writers;
  file.catalogue_global += more.writers;
  return fit(file, fs_block);
}

}  // namespace

std::uint64_t superblock_address(std::uint64_t tasks) {
  return std::bit_ceil(std::max<std::uint64_t>(kSectorBytes, sion_meta1_bytes(tasks)));
}

std::uint64_t FilePlan::data_start() const {
  return round_up(sion_meta1_bytes(tasks()), fsblksize);
}
std::uint64_t FilePlan::superblock_address() const {
  return bento::superblock_address(tasks());
}
std::uint64_t FilePlan::root_address(unsigned slot) const {
  return superblock_address() + kSectorBytes * (1 + slot);
}

std::uint64_t FilePlan::blocks_within(std::uint64_t limit) const {
  return limit > data_start() ? (limit - data_start()) / block_bytes() : 0;
}

std::uint64_t FilePlan::address(std::uint32_t task, Position position) const {
  const std::uint64_t block = position / chunk_bytes;
  return data_start() + block * block_bytes() + task * chunk_bytes + position % chunk_bytes;
}

Result<ContainerPlan> ContainerPlan::make(std::uint32_t writers, std::uint32_t files,
                                          std::uint32_t fs_block) {
  const FileGroup group{writers, std::clamp<std::uint32_t>(files, 1, std::max(writers, 1u)), 0, 0};
  return of({&group, 1}, fs_block);
}

Result<ContainerPlan> ContainerPlan::of(std::span<const FileGroup> groups, std::uint32_t fs_block) {
  if (!std::has_single_bit(fs_block))
    return fail(Code::kInvalidArgument,
                fmt::format("file system block {} is no power of two", fs_block));
  ContainerPlan plan;
  plan.fs_block_ = fs_block;
  for (const auto& group : groups) BENTO_TRY(plan.add(group));
  return plan;
}

Status ContainerPlan::add(const FileGroup& group) {
  if (group.writers == 0 || group.writers > kMaxWriters - writers_ || group.files > group.writers)
    return fail(Code::kInvalidArgument, fmt::format("{} writers in {} files behind {} writers",
                                                    group.writers, group.files, writers_));
  if (group.first_rank > ranks_)
    return fail(Code::kInvalidArgument,
                fmt::format("writers of the ranks from {} on behind {}", group.first_rank, ranks_));
  if (group.files > kMaxPhysicalFiles - files())
    return fail(Code::kUnsupported, fmt::format("{} physical files behind {}, at most {} in all",
                                                group.files, files(), kMaxPhysicalFiles));
  if (groups_.size() == kMaxGroups)
    return fail(Code::kUnsupported,
                fmt::format("physical files were added {} times; copy the container with h5repack",
                            kMaxGroups));
  if (group.files == 0) BENTO_TRY(add_to_last(files_, groups_, group, fs_block_));
  const std::uint32_t each = group.writers / std::max(group.files, 1u);
  const std::uint32_t first_global = globals();
  for (std::uint32_t index = 0; index < group.files; ++index) {
    FilePlan file;
    file.first_writer = writers_ + index * each;
    file.writers = index + 1 == group.files ? group.writers - index * each : each;
    file.first_global = first_global + index * each;
    file.catalogue_global = first_global + group.writers + index;
    file.chunk_bytes = group.chunk_bytes;
    BENTO_TRY(fit(file, fs_block_));
    files_.push_back(file);
  }
  writers_ += group.writers;
  ranks_ = std::max(ranks_, group.first_rank + group.writers);
  groups_.push_back(group);
  return {};
}

std::uint32_t ContainerPlan::writer_of_rank(std::uint32_t rank) const {
  std::uint32_t first = writers_;
  for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
    first -= group->writers;
    if (rank >= group->first_rank && rank - group->first_rank < group->writers)
      return first + (rank - group->first_rank);
  }
  return rank;
}

std::uint32_t ContainerPlan::rank_of_writer(std::uint32_t writer) const {
  std::uint32_t first = 0;
  for (const auto& group : groups_) {
    if (writer - first < group.writers) return group.first_rank + (writer - first);
    first += group.writers;
  }
  return writer;
}

std::uint32_t ContainerPlan::file_of(std::uint32_t writer) const {
  const auto behind =
      std::upper_bound(files_.begin(), files_.end(), writer,
                       [](std::uint32_t w, const FilePlan& file) { return w < file.first_writer; });
  return static_cast<std::uint32_t>(behind - files_.begin()) - 1;
}

std::uint32_t ContainerPlan::local_task(std::uint32_t writer) const {
  return writer - files_[file_of(writer)].first_writer;
}

std::uint64_t ContainerPlan::largest_chunk() const {
  std::uint64_t largest = 0;
  for (const auto& file : files_) largest = std::max(largest, file.chunk_bytes);
  return largest;
}

Status ContainerPlan::check_chunk(std::uint64_t bytes) const {
  for (const auto& file : files_)
    if (const std::uint64_t most = kMaxLogicalBytes / file.tasks() / 2; bytes > most)
      return fail(Code::kInvalidArgument,
                  fmt::format("chunk={}: {} tasks with such chunks do not fit a physical file; at "
                              "most {} bytes do",
                              bytes, file.tasks(), most));
  return {};
}

void ContainerPlan::set_chunk_bytes(std::uint64_t bytes) {
  for (auto& file : files_) file.chunk_bytes = bytes;
  for (auto& group : groups_) group.chunk_bytes = bytes;
}

std::uint64_t ContainerPlan::choose_chunk(std::uint64_t declared, std::uint64_t wanted) const {
  std::uint64_t unit = 1;
  std::uint64_t tasks = 1;
  for (const auto& file : files_) {
    unit = std::max<std::uint64_t>(unit, file.fsblksize);
    tasks = std::max<std::uint64_t>(tasks, file.tasks());
  }
  if (wanted != 0) return round_up(wanted, unit);
  const std::uint64_t half_max = kMaxChunkBytes / 2;
  std::uint64_t chunk = std::bit_ceil(2 * std::min(declared, half_max));
  chunk = std::clamp(chunk, kMinChunkBytes, kMaxChunkBytes);
  while (chunk > unit && chunk * tasks > kMaxBlockBytes) chunk /= 2;
  return std::max(chunk, unit);
}

std::string physical_name(const std::string& name, std::uint32_t index) {
  return sion_file_name(name, index);
}

}  // namespace bento
