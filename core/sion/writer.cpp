// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/sion/writer.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/base/checked.hpp"

namespace bento {
namespace {

tl::unexpected<Error> refuse(std::string text) {
  return fail(Code::kInvalidArgument, std::move(text));
}

/// Layout arithmetic blames a file; here the numbers are the caller's.
template <class T>
Result<T> callers_fault(Result<T> result) {
  if (!result && result.error().code == Code::kCorrupt)
    result.error().code = Code::kInvalidArgument;
  return result;
}

SionMapping distribute(std::uint32_t tasks, std::uint32_t files) {
  SionMapping places(tasks);
  std::vector<std::uint32_t> next(files, 0);
  for (std::uint32_t task = 0; task < tasks; ++task) {
    const std::uint32_t file = sion_file_of_task(task, tasks, files);
    places[task] = {file, next[file]++};
  }
  return places;
}

Status check_options(const SionWriterOptions& options, std::span<const SionTask> tasks) {
  if (tasks.empty() || tasks.size() > kMaxSionTasks)
    return refuse(fmt::format("a container of {} tasks, want 1..{}", tasks.size(), kMaxSionTasks));
  if (options.files == 0 || options.files > tasks.size())
    return refuse(fmt::format("{} physical files for {} tasks", options.files, tasks.size()));
  if (options.fsblksize == 0) return refuse("fsblksize 0");
  if (options.files == 1) return {};
  if (options.style == SionStyle::kSerial)
    return refuse("a serial container has one physical file");
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    if (tasks[task].global_rank != static_cast<std::int64_t>(task))
      return refuse(fmt::format("global rank {} of task {}: with several files they must be equal",
                                tasks[task].global_rank, task));
  }
  return {};
}

Status check_places(const SionMapping& places, std::uint32_t files, std::size_t tasks) {
  if (places.size() != tasks)
    return refuse(fmt::format("{} places for {} tasks", places.size(), tasks));
  std::vector<std::uint64_t> counts(files, 0);
  for (const auto place : places) {
    if (place.file >= files)
      return refuse(fmt::format("a task in file {} of {}", place.file, files));
    ++counts[place.file];
  }
  if (std::ranges::find(counts, 0u) != counts.end()) return refuse("a physical file without tasks");
  return callers_fault(check_mapping(places, counts));
}

}  // namespace

Status SionWriter::plan(const SionWriterOptions& options, const std::string& name,
                        std::span<const SionTask> tasks) {
  BENTO_TRY(check_options(options, tasks));
  style_ = options.style;
  even_blocks_ = options.even_blocks;
  places_ = options.places.empty()
                ? distribute(static_cast<std::uint32_t>(tasks.size()), options.files)
                : options.places;
  BENTO_TRY(check_places(places_, options.files, tasks.size()));
  positions_.resize(tasks.size());

  std::vector<std::uint64_t> counts(options.files, 0);
  for (const auto place : places_) ++counts[place.file];
  files_.resize(options.files);
  for (std::uint32_t index = 0; index < options.files; ++index) {
    Meta1& meta = files_[index].meta1;
    meta.order = options.order;
    meta.data_order = options.data_order;
    meta.fsblksize = options.fsblksize;
    meta.files = options.files;
    meta.file_number = style_ == SionStyle::kSerial ? 1 : index;
    meta.set_keyval(options.keyval);
    meta.prefix = options.prefix.empty() ? name : options.prefix;
    meta.global_ranks.resize(counts[index]);
    meta.chunk_bytes.resize(counts[index]);
  }
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    Meta1& meta = files_[places_[task].file].meta1;
    std::uint64_t bytes = tasks[task].chunk_bytes;
    if (options.round_chunks) {
      BENTO_ASSIGN(bytes, callers_fault(checked_round_up(bytes, options.fsblksize)));
    }
    meta.global_ranks[places_[task].task] = tasks[task].global_rank;
    meta.chunk_bytes[places_[task].task] = bytes;
  }
  for (auto& file : files_) {
    BENTO_ASSIGN(file.layout, callers_fault(file.meta1.layout()));
    // Every task has a block, used or not: no SIONlib writer says otherwise.
    file.meta2 = Meta2(std::vector<std::uint64_t>(file.meta1.tasks(), 1));
  }
  return {};
}

Result<SionWriter> SionWriter::create(FileOpener opener, const std::string& name,
                                      const SionWriterOptions& options,
                                      std::span<const SionTask> tasks) {
  SionWriter writer;
  BENTO_TRY(writer.plan(options, name, tasks));
  std::vector<std::vector<std::byte>> heads;
  for (const auto& file : writer.files_) {
    BENTO_ASSIGN(auto head, encode_meta1(file.meta1, false));
    heads.push_back(std::move(head));
  }
  writer.set_ = SionFileSet(std::move(opener), name, OpenMode::kReadWrite);
  for (std::uint32_t index = 0; index < heads.size(); ++index) {
    BENTO_ASSIGN(File* const file, writer.set_.create(index));
    BENTO_TRY(file->write_at(0, heads[index]));
  }
  return writer;
}

Status SionWriter::check_task(std::uint64_t task) const {
  if (files_.empty()) return refuse(fmt::format("'{}' is finished", set_.name()));
  if (task >= tasks())
    return refuse(fmt::format("task {} of {} in '{}'", task, tasks(), set_.name()));
  return {};
}

std::uint64_t SionWriter::chunk_bytes(std::uint64_t task) const {
  return files_[places_[task].file].layout.chunk_bytes(places_[task].task);
}

/// Writes into the current chunk, where there is room.
Status SionWriter::put(std::uint64_t task, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  const SionPlace place = places_[task];
  Physical& physical = files_[place.file];
  Position& at = positions_[task];
  BENTO_ASSIGN(const std::uint64_t address,
               callers_fault(physical.layout.chunk_address(place.task, at.block)));
  BENTO_ASSIGN(File* const file, set_.get(place.file));
  BENTO_TRY(file->write_at(address + at.used, bytes));
  at.used += bytes.size();
  physical.meta2.set_size(place.task, at.block, at.used);
  return {};
}

Status SionWriter::append(std::uint64_t task, std::span<const std::byte> bytes) {
  BENTO_TRY(check_task(task));
  if (bytes.empty()) return {};
  const std::uint64_t room = chunk_bytes(task);
  if (room == 0)
    return refuse(
        fmt::format("{} bytes for task {}, whose chunks have size 0", bytes.size(), task));
  while (!bytes.empty()) {
    if (positions_[task].used == room) {
      BENTO_TRY(begin_block(task));
    }
    const auto count = static_cast<std::size_t>(
        std::min<std::uint64_t>(room - positions_[task].used, bytes.size()));
    BENTO_TRY(put(task, bytes.first(count)));
    bytes = bytes.subspan(count);
  }
  return {};
}

Status SionWriter::write_record(std::uint64_t task, std::span<const std::byte> bytes) {
  BENTO_TRY(check_task(task));
  const std::uint64_t room = chunk_bytes(task);
  if (bytes.size() > room)
    return refuse(fmt::format("a record of {} bytes for task {}, whose chunks have {}",
                              bytes.size(), task, room));
  if (bytes.size() > room - positions_[task].used) {
    BENTO_TRY(begin_block(task));
  }
  return put(task, bytes);
}

Status SionWriter::begin_block(std::uint64_t task) {
  BENTO_TRY(check_task(task));
  const SionPlace place = places_[task];
  Position& at = positions_[task];
  if (at.block + 1 >= std::numeric_limits<std::int32_t>::max())
    return refuse(fmt::format("task {} needs more blocks than the format counts", task));
  at = {at.block + 1, 0};
  files_[place.file].meta2.set_size(place.task, at.block, 0);
  return {};
}

Status SionWriter::finish_file(std::uint32_t index) {
  auto& [meta1, meta2, layout] = files_[index];
  if (even_blocks_) {
    const std::uint64_t blocks = meta2.max_blocks();
    for (std::uint64_t task = 0; task < meta2.tasks(); ++task) meta2.set_blocks(task, blocks);
  }
  meta1.max_blocks = static_cast<std::uint32_t>(meta2.max_blocks());
  BENTO_ASSIGN(meta1.meta2_address, callers_fault(layout.meta2_address(meta1.max_blocks)));

  std::vector<std::byte> bytes = encode_meta2(meta2, meta1.order);
  const bool several = files_.size() > 1;
  if (style_ == SionStyle::kSerial || (several && index == 0)) {
    BENTO_ASSIGN(const auto mapping,
                 encode_mapping(several ? places_ : SionMapping{}, meta1.order));
    bytes.insert(bytes.end(), mapping.begin(), mapping.end());
  }
  BENTO_ASSIGN(File* const file, set_.get(index));
  BENTO_TRY(file->write_at(meta1.meta2_address, bytes));
  // The pointer is what makes it a container: whatever it points to must be there before.
  BENTO_TRY(file->sync());
  BENTO_TRY(file->write_at(meta1.tail_address(), encode_meta1_tail(meta1)));
  return file->sync();
}

Status SionWriter::finish() {
  if (files_.empty()) return refuse(fmt::format("'{}' is finished already", set_.name()));
  for (auto index = static_cast<std::uint32_t>(files_.size()); index-- > 0;) {
    BENTO_TRY(finish_file(index));
  }
  files_.clear();
  return set_.close();
}

}  // namespace bento
