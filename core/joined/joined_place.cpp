// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/joined/joined_place.hpp"

#include <algorithm>

namespace bento {

JoinedPlace::Run JoinedPlace::run_at(std::uint64_t offset, std::uint64_t bytes) const {
  const FilePlan& where = plan();
  const std::uint64_t rest = where.chunk_bytes - offset % where.chunk_bytes;
  return {where.address(local_task_, offset), std::min(rest, bytes)};
}

Status JoinedPlace::read(std::uint64_t size, std::uint64_t offset,
                         std::span<std::byte> into) const {
  const std::uint64_t there =
      offset < size ? std::min<std::uint64_t>(into.size(), size - offset) : 0;
  const auto behind = into.subspan(static_cast<std::size_t>(there));
  std::fill(behind.begin(), behind.end(), std::byte{0});
  into = into.first(static_cast<std::size_t>(there));
  if (into.empty()) return {};
  BENTO_ASSIGN(File* const handle, files_->file(file_));
  while (!into.empty()) {
    const Run run = run_at(offset, into.size());
    const auto bytes = static_cast<std::size_t>(run.bytes);
    BENTO_TRY(handle->read_at(run.address, into.first(bytes)));
    into = into.subspan(bytes);
    offset += run.bytes;
  }
  return {};
}

}  // namespace bento
