// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The skeleton in memory: a growing byte image that knows which of its pages changed since the
/// last commit. It is what the skeleton driver reads and writes, and what a commit stores page by
/// page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bento {

inline constexpr std::size_t kPageBytes = 4096;

/// Not thread-safe. Sizes and offsets are in bytes.
class PagedImage {
 public:
  PagedImage() = default;
  /// Takes stored bytes over; nothing is dirty.
  explicit PagedImage(std::vector<std::byte> bytes);

  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
  /// Number of pages, the last one possibly partial.
  [[nodiscard]] std::size_t pages() const { return (bytes_.size() + kPageBytes - 1) / kPageBytes; }

  /// Copies [offset, offset + into.size()); bytes beyond the end read as zero.
  void read(std::uint64_t offset, std::span<std::byte> into) const;
  /// Writes and grows as needed. A page whose bytes do not change does not become dirty.
  void write(std::uint64_t offset, std::span<const std::byte> from);
  /// New bytes are zero; pages that appear or shrink are dirty.
  void resize(std::uint64_t bytes);

  /// Bytes of one page, shorter at the end of the image.
  [[nodiscard]] std::span<const std::byte> page(std::size_t number) const;
  [[nodiscard]] bool dirty(std::size_t page) const { return page < dirty_.size() && dirty_[page]; }
  [[nodiscard]] bool any_dirty() const { return any_dirty_; }
  void clear_dirty();
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::vector<bool> dirty_;
  bool any_dirty_ = false;
};

}  // namespace bento
