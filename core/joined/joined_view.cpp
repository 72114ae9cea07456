// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// The native view of a joined container lies behind everything else in each physical file, and P
// leads to it instead of to the placeholder. Who changes a stream takes it away again.
#include <fmt/format.h>

#include "core/base/hash.hpp"
#include "core/joined/joined_files.hpp"

namespace bento {

namespace {

Result<Superblock> superblock_of(File& file, const FilePlan& plan) {
  Superblock found{};
  BENTO_TRY(file.read_some(plan.superblock_address(), found));
  return found;
}

}  // namespace

Result<JoinedView> JoinedFiles::view_of(std::uint32_t index) {
  BENTO_ASSIGN(File* const handle, file(index));
  const FilePlan& plan = plan_.file(index);
  BENTO_ASSIGN(const JoinedHeader header, read_joined_header(*handle, plan, layout()));
  if (header.view_at == 0) return JoinedView::kNone;
  BENTO_ASSIGN(const Superblock found, superblock_of(*handle, plan));
  BENTO_ASSIGN(const std::uint64_t now, handle->size());
  return hash128(found) == header.view && now == header.length ? JoinedView::kThere
                                                               : JoinedView::kEdited;
}

Status JoinedFiles::drop_view(std::uint32_t index) {
  BENTO_ASSIGN(File* const handle, file(index));
  BENTO_ASSIGN(JoinedHeader header, read_joined_header(*handle, plan_.file(index), layout()));
  if (header.view_at == 0) return {};
  if (header.view_at > header.length || header.view_at < plan_.file(index).block_address(1))
    return fail(Code::kCorrupt, fmt::format("'{}': its header says that a native view begins at "
                                            "byte {} of {}",
                                            handle->path(), header.view_at, header.length));
  header.length = header.view_at;
  header.view_at = 0;
  header.view = {};
  BENTO_TRY(write_joined_header(*handle, plan_.file(index), header));
  return restore(index);
}

Result<std::uint64_t> JoinedFiles::begin_view(std::uint32_t index) {
  BENTO_TRY(drop_view(index));
  BENTO_TRY(restore(index));
  BENTO_ASSIGN(File* const handle, file(index));
  return handle->size();
}

// The header first, since restore() makes the file as long as it says.
Status JoinedFiles::give_up_view(std::uint32_t index, std::uint64_t begin) {
  BENTO_TRY(drop_view(index));
  BENTO_ASSIGN(File* const handle, file(index));
  BENTO_ASSIGN(JoinedHeader header, read_joined_header(*handle, plan_.file(index), layout()));
  if (header.length > begin) {
    header.length = begin;
    BENTO_TRY(write_joined_header(*handle, plan_.file(index), header));
  }
  return restore(index);
}

// Until the superblock is written, P holds a placeholder that the header does not fit: restore()
// would take away what was begun.
Status JoinedFiles::publish_view(std::uint32_t index, std::uint64_t begin, std::uint64_t end,
                                 Superblock superblock) {
  BENTO_ASSIGN(File* const handle, file(index));
  const FilePlan& plan = plan_.file(index);
  BENTO_TRY(set_end_of_file(superblock, end));
  BENTO_ASSIGN(JoinedHeader header, read_joined_header(*handle, plan, layout()));
  header.length = end;
  header.view_at = begin;
  header.view = hash128(superblock);
  BENTO_TRY(write_joined_header(*handle, plan, header));
  BENTO_TRY(handle->write_at(plan.superblock_address(), superblock));
  return handle->truncate(end);
}

}  // namespace bento
