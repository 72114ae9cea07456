// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/striping.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/io/posix_file.hpp"

namespace bento {

namespace {

// Lustre's user interface: numbers that its kernel module and its tools agree on.
constexpr long kLustreMagic = 0x0BD00BD0;
constexpr std::uint32_t kLayoutMagic = 0x0BD10BD0;  // one layout for the whole file, first version
const unsigned long kSetStripe = _IOW('f', 154, long);
const unsigned long kGetStripe = _IOW('f', 155, long);
/// Together: give the file no objects yet. On a regular file neither means anything else.
constexpr int kNoObjectsYet = O_NOCTTY | O_ASYNC;
constexpr std::size_t kMostLayoutBytes = 64u << 10;  // an attribute holds no more
constexpr std::uint16_t kAllOrAny = 0xffff;
constexpr std::uint32_t kMostServers = 2000;

/// What goes in and comes out, in the machine's byte order; behind it come the objects.
struct Layout {
  std::uint32_t magic = kLayoutMagic;
  std::uint32_t pattern = 0;  // the default: one stripe behind the other
  std::uint64_t object = 0;
  std::uint64_t sequence = 0;
  std::uint32_t stripe_bytes = 0;
  std::uint16_t stripes = 0;
  std::uint16_t first_server = kAllOrAny;
};
static_assert(sizeof(Layout) == 32 && offsetof(Layout, stripe_bytes) == 24);

}  // namespace

StripingCalls system_striping_calls() {
  return {[](const std::string& path) {
            const auto folder = std::filesystem::path(path).parent_path();
            struct statfs about{};
            return ::statfs(folder.empty() ? "." : folder.c_str(), &about) == 0 &&
                   static_cast<long>(about.f_type) == kLustreMagic;
          },
          [](const std::string& path, int flags, unsigned permissions) {
            return ::open(path.c_str(), flags, permissions);
          },
          [](int descriptor, unsigned long request, void* argument) {
            return ::ioctl(descriptor, request, argument);
          }};
}

Result<std::unique_ptr<File>> open_striped_file(const std::string& path, OpenMode mode,
                                                const Striping& wanted,
                                                const StripingCalls& calls) {
  if (!makes_a_file(mode) || !wanted.asked() || !calls.is_lustre(path))
    return open_posix_file(path, mode);
  int fd = -1;
  do {
    fd = calls.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NONBLOCK | kNoObjectsYet,
                    permissions_of(mode));
  } while (fd < 0 && errno == EINTR);
  // There already: its layout cannot be changed any more.
  if (fd < 0 && errno == EEXIST && mode == OpenMode::kCreate) return open_posix_file(path, mode);
  if (fd < 0) return fail(os_error(errno, "open for writing of", path));
  Layout layout;
  layout.stripe_bytes = static_cast<std::uint32_t>(wanted.bytes);
  layout.stripes = wanted.servers == Striping::kAllServers
                       ? kAllOrAny
                       : static_cast<std::uint16_t>(std::min(wanted.servers, kMostServers));
  // A refused layout leaves the file without one, and it gets that of its folder.
  (void)calls.control(fd, kSetStripe, &layout);
  return take_descriptor(path, fd);
}

std::optional<Striping> striping_of(const std::string& path, int descriptor,
                                    const StripingCalls& calls) {
  if (descriptor < 0 || !calls.is_lustre(path)) return std::nullopt;
  std::vector<std::byte> bytes(kMostLayoutBytes);
  Layout layout;
  std::memcpy(bytes.data(), &layout, sizeof layout);
  if (calls.control(descriptor, kGetStripe, bytes.data()) < 0) return std::nullopt;
  std::memcpy(&layout, bytes.data(), sizeof layout);
  if (layout.magic != kLayoutMagic) return std::nullopt;
  return Striping{layout.stripes, layout.stripe_bytes};
}

}  // namespace bento
