// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/native_view.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "core/base/checked.hpp"

namespace bento {

namespace {
constexpr std::uint64_t kReserveBytes = 16u << 10;  // HDF5 asks for many small pieces
}

Result<std::uint64_t> ViewSpace::allocate(std::uint64_t bytes) {
  const std::uint64_t chunk = plan_->chunk_bytes;
  if (bytes > chunk)
    return fail(
        Code::kNoSpace,
        fmt::format("'{}': {} bytes of the native view's metadata fit no chunk of {} bytes; "
                    "use a larger chunk= (errno = {})",
                    file_->path(), bytes, chunk, EFBIG),
        EFBIG);
  Position at = round_up(reserve_.begin, 8);
  if (at + bytes > reserve_.end) {
    finish();
    const std::uint64_t wanted = std::min(chunk, std::max(bytes, kReserveBytes));
    at = space_->take_in_chunk(wanted, chunk);
    reserve_ = {at, at + wanted};
    ranges_.push_back({at, at});
  }
  const std::uint64_t address = plan_->address(plan_->catalogue_task(), at);
  if (address + bytes > kMaxLogicalBytes)
    return fail(Code::kNoSpace,
                fmt::format("'{}': the native view would lie beyond {} bytes; use a larger chunk= "
                            "(errno = {})",
                            file_->path(), kMaxLogicalBytes, EFBIG),
                EFBIG);
  reserve_.begin = at + bytes;
  ranges_.back().end = reserve_.begin;
  return address;
}

void ViewSpace::finish() {
  space_->give_back(reserve_);
  reserve_ = {};
}

}  // namespace bento
