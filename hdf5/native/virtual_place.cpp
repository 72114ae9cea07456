// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/native/virtual_place.hpp"

#include <algorithm>
#include <limits>

#include <sys/types.h>

#include "core/base/checked.hpp"

namespace bento::vol {

namespace {

constexpr std::uint64_t kSmallestGroup = 2u << 10;
constexpr std::uint64_t kLargestGroup = 1u << 20;
// From so many bytes on, data begins with a page, so that it can be mapped and cached as it lies.
constexpr std::uint64_t kAlignedBytes = 64u << 10;
constexpr std::uint64_t kDataAlignment = 4096;
constexpr std::uint64_t kMostBytes =
    static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) / 2;

}  // namespace

Result<std::uint64_t> VirtualPlace::allocate(std::uint64_t bytes) {
  if (bytes >= kLargestGroup) return allocate_data(bytes);
  std::uint64_t at = round_up(group_next_, 8);
  if (at + bytes > group_end_) {
    // An eighth of what there is: neither many groups nor much space that stays empty.
    const std::uint64_t wanted =
        std::max(bytes, std::clamp(end_ / 8, kSmallestGroup, kLargestGroup));
    BENTO_ASSIGN(at, allocate_data(wanted));
    group_end_ = at + wanted;
  }
  group_next_ = at + bytes;
  return at;
}

Result<std::uint64_t> VirtualPlace::allocate_data(std::uint64_t bytes) {
  const std::uint64_t at = round_up(end_, bytes >= kAlignedBytes ? kDataAlignment : 8);
  if (bytes > kMostBytes || at > kMostBytes - bytes)
    return fail(Code::kUnsupported, "the datasets together are larger than a file can be");
  end_ = at + bytes;
  return at;
}

}  // namespace bento::vol
