// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/shared_memory.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace bento {

namespace {
constexpr std::uint64_t kSmallestWindow = std::uint64_t{256} << 10;
}  // namespace

// Beyond the limit the kernel would not only refuse, but send a signal that ends the program.
Result<PrivateDescriptor> make_shared_memory(std::uint64_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < bytes)
    return fail(Code::kUnsupported, "the size of files is limited (ulimit -f)");
  PrivateDescriptor file([] { return ::memfd_create("h5bento", MFD_CLOEXEC); });
  if (file.get() < 0)
    return fail(Code::kUnsupported,
                fmt::format("this system gives no shared memory: {}", std::strerror(errno)), errno);
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    return fail(Code::kUnsupported,
                fmt::format("shared memory of {} bytes: {}", bytes, std::strerror(errno)), errno);
  return file;
}

SharedWindow::~SharedWindow() {
  if (data_ != nullptr) ::munmap(data_, static_cast<std::size_t>(mapped_));
}

SharedWindow::SharedWindow(SharedWindow&& other) noexcept
    : descriptor_(other.descriptor_),
      offset_(other.offset_),
      limit_(other.limit_),
      writable_(other.writable_),
      data_(std::exchange(other.data_, nullptr)),
      mapped_(std::exchange(other.mapped_, 0)) {}

Status SharedWindow::map(std::uint64_t bytes) {
  if (bytes > limit_)
    return fail(Code::kNoSpace,
                fmt::format("{} bytes of shared memory wanted, {} are the most", bytes, limit_),
                ENOSPC);
  const std::uint64_t wanted = std::min(limit_, std::max(kSmallestWindow, std::bit_ceil(bytes)));
  void* const at = data_ != nullptr ? ::mremap(data_, static_cast<std::size_t>(mapped_),
                                               static_cast<std::size_t>(wanted), MREMAP_MAYMOVE)
                                    : ::mmap(nullptr, static_cast<std::size_t>(wanted),
                                             writable_ ? PROT_READ | PROT_WRITE : PROT_READ,
                                             MAP_SHARED, descriptor_, static_cast<off_t>(offset_));
  if (at == MAP_FAILED)
    return fail(
        Code::kNoSpace,
        fmt::format("cannot map {} bytes of shared memory: {}", wanted, std::strerror(errno)),
        errno);
  data_ = static_cast<std::byte*>(at);
  mapped_ = wanted;
  return {};
}

void SharedWindow::give_back(std::uint64_t bytes) {
  if (bytes >= mapped_) return;
  (void)::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(offset_ + bytes), static_cast<off_t>(mapped_ - bytes));
}

}  // namespace bento
