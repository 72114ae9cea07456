// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/catalogue/paged_image.hpp"

#include <algorithm>
#include <cstring>

namespace bento {

PagedImage::PagedImage(std::vector<std::byte> bytes)
    : bytes_(std::move(bytes)), dirty_(pages(), false) {}

void PagedImage::read(std::uint64_t offset, std::span<std::byte> into) const {
  const std::uint64_t have = offset < bytes_.size() ? bytes_.size() - offset : 0;
  const auto copied = static_cast<std::size_t>(std::min<std::uint64_t>(have, into.size()));
  if (copied != 0) std::memcpy(into.data(), bytes_.data() + offset, copied);
  std::fill(into.begin() + static_cast<std::ptrdiff_t>(copied), into.end(), std::byte{0});
}

void PagedImage::write(std::uint64_t offset, std::span<const std::byte> from) {
  if (from.empty()) return;
  if (offset + from.size() > bytes_.size()) resize(offset + from.size());
  while (!from.empty()) {
    const std::size_t page = static_cast<std::size_t>(offset / kPageBytes);
    const std::size_t here = std::min<std::size_t>(from.size(), kPageBytes - offset % kPageBytes);
    std::byte* const at = bytes_.data() + offset;
    if (std::memcmp(at, from.data(), here) != 0) {
      std::memcpy(at, from.data(), here);
      dirty_[page] = true;
      any_dirty_ = true;
    }
    from = from.subspan(here);
    offset += here;
  }
}

void PagedImage::resize(std::uint64_t bytes) {
  if (bytes == bytes_.size()) return;
  const std::uint64_t touched = std::min<std::uint64_t>(bytes, bytes_.size());
  const auto wanted = static_cast<std::size_t>(bytes);
  // What is reserved takes address space only, until it is used; what moves is copied, to memory
  // that is used for the first time.
  if (wanted > bytes_.capacity()) bytes_.reserve(std::max(wanted, 2 * bytes_.capacity()));
  bytes_.resize(wanted);
  dirty_.resize(pages(), true);
  // The page in which the old or the new end lies has changed its length.
  if (touched / kPageBytes < dirty_.size())
    dirty_[static_cast<std::size_t>(touched / kPageBytes)] = true;
  any_dirty_ = true;
}

std::span<const std::byte> PagedImage::page(std::size_t number) const {
  const std::size_t begin = number * kPageBytes;
  return std::span(bytes_).subspan(begin, std::min(kPageBytes, bytes_.size() - begin));
}

void PagedImage::clear_dirty() {
  std::fill(dirty_.begin(), dirty_.end(), false);
  any_dirty_ = false;
}

}  // namespace bento
