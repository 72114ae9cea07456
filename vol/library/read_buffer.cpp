// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/library/read_buffer.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <sys/mman.h>

namespace bento::vol {

namespace {
constexpr std::uint64_t kHugePage = 2u << 20;
constexpr std::uint64_t kMost = std::uint64_t{1} << 46;
}  // namespace

Status ReadBuffer::resize(std::uint64_t bytes) {
  size_ = 0;
  if (bytes > capacity_) {
    release();
    const std::uint64_t wanted = (std::min(bytes, kMost) + kHugePage - 1) / kHugePage * kHugePage;
    void* const memory = bytes > kMost ? MAP_FAILED
                                       : ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return fail(Code::kNoSpace, fmt::format("no memory for a buffer of {} bytes", bytes));
    (void)::madvise(memory, wanted, MADV_HUGEPAGE);
    data_ = static_cast<std::byte*>(memory);
    capacity_ = wanted;
  }
  size_ = static_cast<std::size_t>(bytes);
  return {};
}

void ReadBuffer::release() {
  if (data_ != nullptr) ::munmap(data_, capacity_);
  data_ = nullptr;
  capacity_ = 0;
}

}  // namespace bento::vol
