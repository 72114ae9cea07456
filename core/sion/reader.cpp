// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/sion/reader.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/checked.hpp"

namespace bento {
namespace {

/// Used bytes must be there. The unused rest of a chunk need not: the last chunk of a file may be
/// cut short where META2 lies elsewhere.
Status check_chunks(const SionFileInfo& info) {
  for (std::uint64_t task = 0; task < info.meta2.tasks(); ++task) {
    for (std::uint64_t block = 0; block < info.meta2.blocks(task); ++block) {
      const std::uint64_t used = info.meta2.size(task, block);
      if (used == 0) continue;
      BENTO_ASSIGN(const std::uint64_t address, info.layout.chunk_address(task, block));
      if (address > info.file_bytes || used > info.file_bytes - address)
        return fail(Code::kCorrupt,
                    fmt::format("block {} of task {}: {} bytes at {} in a file of {} bytes", block,
                                task, used, address, info.file_bytes));
    }
  }
  return {};
}

/// A file found by its name must be the one that the master means.
Status check_belongs(const Meta1& master, const Meta1& other, std::uint32_t index) {
  if (other.files != master.files)
    return fail(Code::kCorrupt, fmt::format("META1: nfiles {}, that of the master is {}",
                                            other.files, master.files));
  if (other.file_number != index)
    return fail(Code::kCorrupt,
                fmt::format("META1: filenumber {}, its name says {}", other.file_number, index));
  if (other.keyval() != master.keyval())
    return fail(Code::kCorrupt, fmt::format("META1: flag1 {:#x}, that of the master is {:#x}",
                                            other.flag1, master.flag1));
  return {};
}

template <class T>
Result<T> in_file(Result<T> result, const std::string& path) {
  if (!result) return fail(std::move(result).error().with_context(path));
  return result;
}

}  // namespace

Result<SionFileInfo> read_sion_file_info(File& file) {
  SionFileInfo info;
  BENTO_ASSIGN(info.file_bytes, file.size());
  BENTO_ASSIGN(info.meta1, read_meta1(file));
  if (!info.meta1.closed())
    return fail(Code::kCorrupt,
                fmt::format("the container was not closed: start_of_varheader at byte {} is {}",
                            info.meta1.tail_address() + 4,
                            info.file_bytes > info.meta1.tail_address() ? "0" : "missing"));
  BENTO_ASSIGN(const auto chunk_bytes, info.meta1.effective_chunk_bytes());
  BENTO_ASSIGN(info.layout, SionLayout::make(info.meta1.fsblksize, chunk_bytes));
  BENTO_ASSIGN(info.meta2, read_meta2(file, info.meta1.meta2_address,
                                      {info.meta1.order, info.meta1.tasks(), info.meta1.max_blocks,
                                       chunk_bytes}));
  BENTO_TRY(check_chunks(info));
  return info;
}

Status SionReader::load(std::uint32_t index) {
  BENTO_ASSIGN(File* const file, set_.get(index));
  BENTO_ASSIGN(SionFileInfo info, in_file(read_sion_file_info(*file), file->path()));
  if (index > 0) {
    BENTO_TRY(in_file(check_belongs(files_.front().meta1, info.meta1, index), file->path()));
  }
  files_.push_back(std::move(info));
  return {};
}

Status SionReader::load_others() {
  const Meta1& master = files_.front().meta1;
  const std::uint32_t count = master.files;
  BENTO_ASSIGN(const std::uint64_t rows, sion_meta2_bytes(master.tasks(), master.max_blocks));
  BENTO_ASSIGN(const std::uint64_t address, checked_add(master.meta2_address, rows));
  BENTO_ASSIGN(File* const file, set_.get(0));
  BENTO_ASSIGN(mapping_, in_file(read_mapping(*file, address, master.order), file->path()));
  // Every physical file has a task, so a count above that of the mapping is a lie that would cost
  // opens.
  if (count > mapping_.size())
    return fail(Code::kCorrupt, fmt::format("{}: mapping: {} entries for {} physical files",
                                            set_.name(), mapping_.size(), count));
  for (std::uint32_t index = 1; index < count; ++index) {
    BENTO_TRY(load(index));
  }
  std::vector<std::uint64_t> tasks;
  for (const auto& info : files_) tasks.push_back(info.meta1.tasks());
  return in_file(check_mapping(mapping_, tasks), set_.name());
}

Result<SionReader> SionReader::open(FileOpener opener, const std::string& name, SionScope scope) {
  SionReader reader;
  reader.set_ = SionFileSet(std::move(opener), name, OpenMode::kRead);
  BENTO_TRY(reader.load(0));
  if (scope == SionScope::kContainer && reader.files_.front().meta1.is_master()) {
    BENTO_TRY(reader.load_others());
    return reader;
  }
  reader.mapping_.resize(static_cast<std::size_t>(reader.files_.front().meta1.tasks()));
  for (std::uint32_t task = 0; task < reader.mapping_.size(); ++task)
    reader.mapping_[task] = {0, task};
  return reader;
}

Status SionReader::check_task(std::uint64_t task) const {
  if (task >= tasks())
    return fail(Code::kInvalidArgument,
                fmt::format("task {} of {} in {}", task, tasks(), set_.name()));
  return {};
}

std::int64_t SionReader::global_rank(std::uint64_t task) const {
  return info_of(task).meta1.global_ranks[local(task)];
}
std::uint64_t SionReader::blocks(std::uint64_t task) const {
  return info_of(task).meta2.blocks(local(task));
}
std::uint64_t SionReader::chunk_used(std::uint64_t task, std::uint64_t block) const {
  return info_of(task).meta2.size(local(task), block);
}
std::uint64_t SionReader::stream_bytes(std::uint64_t task) const {
  return info_of(task).meta2.stream_bytes(local(task));
}

Status SionReader::read_chunk(std::uint64_t task, std::uint64_t block, std::uint64_t offset,
                              std::span<std::byte> into) {
  BENTO_TRY(check_task(task));
  const std::uint64_t used = chunk_used(task, block);
  if (offset > used || into.size() > used - offset)
    return fail(Code::kInvalidArgument,
                fmt::format("{} bytes at {} of block {} of task {} in {}, which has {}",
                            into.size(), offset, block, task, set_.name(), used));
  if (into.empty()) return {};
  BENTO_ASSIGN(const std::uint64_t address, info_of(task).layout.chunk_address(local(task), block));
  BENTO_ASSIGN(File* const file, set_.get(mapping_[task].file));
  return file->read_at(address + offset, into);
}

Status SionReader::read_stream(std::uint64_t task, std::uint64_t offset,
                               std::span<std::byte> into) {
  BENTO_TRY(check_task(task));
  if (cursor_.task != task || offset < cursor_.begin) cursor_ = {task, 0, 0};
  std::size_t done = 0;
  while (done < into.size()) {
    const std::uint64_t used = chunk_used(task, cursor_.block);
    const std::uint64_t inside = offset + done - cursor_.begin;
    if (inside < used) {
      const auto count =
          static_cast<std::size_t>(std::min<std::uint64_t>(used - inside, into.size() - done));
      BENTO_TRY(read_chunk(task, cursor_.block, inside, into.subspan(done, count)));
      done += count;
    } else if (cursor_.block + 1 < blocks(task)) {
      cursor_.begin += used;
      ++cursor_.block;
    } else {
      return fail(Code::kInvalidArgument,
                  fmt::format("{} bytes at {} of the stream of task {} in {}, which has {}",
                              into.size(), offset, task, set_.name(), stream_bytes(task)));
    }
  }
  return {};
}

}  // namespace bento
