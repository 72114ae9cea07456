// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#pragma once

#include <algorithm>
#include <cstddef>

#include <sys/mman.h>

namespace bento::vol {

/// Address space without memory behind it, for calls that want a buffer which nobody reads. From
/// calloc() it would be zeroed, and so take memory, as soon as glibc gives out a part of its heap.
class UnreadMemory {
 public:
  explicit UnreadMemory(std::size_t bytes)
      : bytes_(std::max<std::size_t>(bytes, 1)),
        at_(::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                   0)) {}
  ~UnreadMemory() {
    if (at_ != MAP_FAILED) ::munmap(at_, bytes_);
  }
  UnreadMemory(const UnreadMemory&) = delete;
  UnreadMemory& operator=(const UnreadMemory&) = delete;
  [[nodiscard]] std::size_t size() const { return bytes_; }
  /// Null if there is no address space.
  [[nodiscard]] const void* data() const { return at_ == MAP_FAILED ? nullptr : at_; }

 private:
  std::size_t bytes_;
  void* at_;
};

}  // namespace bento::vol
