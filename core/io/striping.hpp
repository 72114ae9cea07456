// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How a new file is spread over the servers of a parallel file system. Lustre wants to be told
/// before the first byte, by an ioctl on a file that was opened in a way that gives it no objects
/// yet. Elsewhere there is nothing to tell. Source: docs/performance.md, "Lustre".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "core/io/file.hpp"

namespace bento {

struct Striping {
  static constexpr std::uint32_t kAllServers = ~std::uint32_t{0};
  std::uint32_t servers = 0;  ///< over which the file is spread; 0: as its folder says
  std::uint64_t bytes = 0;    ///< on one before the next one's turn; 0: as its folder says

  [[nodiscard]] bool asked() const { return servers != 0 || bytes != 0; }
  bool operator==(const Striping&) const = default;
};

/// What is asked of the operating system; tests have others. All as in POSIX, with errno.
struct StripingCalls {
  /// Is the folder that has this file on Lustre?
  std::function<bool(const std::string& path)> is_lustre;
  std::function<int(const std::string& path, int flags, unsigned permissions)> open;
  std::function<int(int descriptor, unsigned long request, void* argument)> control;
};
StripingCalls system_striping_calls();

/// Opens as open_posix_file() does. A file that is made gets `wanted` before anything else can be
/// done with it, if it is on Lustre; a file that is there already keeps what it has. What Lustre
/// does not take is no error: the file is then as its folder says, which striping_of() tells.
/// Errors: as open_posix_file().
Result<std::unique_ptr<File>> open_striped_file(const std::string& path, OpenMode mode,
                                                const Striping& wanted, const StripingCalls& calls);

/// What an open file has. Nothing if it is not on Lustre, or has a layout of several parts, which
/// no two numbers describe.
std::optional<Striping> striping_of(const std::string& path, int descriptor,
                                    const StripingCalls& calls);

}  // namespace bento
