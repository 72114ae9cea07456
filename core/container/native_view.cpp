// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/native_view.hpp"

#include <cerrno>

#include <fmt/format.h>

#include "core/base/checked.hpp"

namespace bento {

Result<std::uint64_t> ViewSpace::allocate(std::uint64_t bytes) {
  const std::uint64_t chunk = plan_->chunk_bytes;
  if (bytes > chunk)
    return fail(
        Code::kNoSpace,
        fmt::format("'{}': {} bytes of the native view's metadata fit no chunk of {} bytes; "
                    "use a larger chunk= (errno = {})",
                    file_->path(), bytes, chunk, EFBIG),
        EFBIG);
  Position at = round_up(end_, 8);
  if (at % chunk + bytes > chunk) at = round_up(at, chunk);
  const std::uint64_t address = plan_->address(plan_->catalogue_task(), at);
  if (address + bytes > kMaxLogicalBytes)
    return fail(Code::kNoSpace,
                fmt::format("'{}': the native view would lie beyond {} bytes; use a larger chunk= "
                            "(errno = {})",
                            file_->path(), kMaxLogicalBytes, EFBIG),
                EFBIG);
  end_ = at + bytes;
  return address;
}

}  // namespace bento
