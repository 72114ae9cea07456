// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A MountedContainer as a file system of the kernel, by libfuse 3. This is all of the project that
/// knows libfuse.
#pragma once

#include <functional>
#include <string>

#include "core/base/error.hpp"
#include "tools/mount/mounted_container.hpp"

namespace bento::tools {

struct MountOptions {
  std::string path;    ///< of the container, absolute
  std::string folder;  ///< where it appears, absolute
  bool foreground = false;
  bool allow_other = false;  ///< other users may look, too
  std::string log;           ///< file that gets messages in the background; empty: syslog
};

/// Mounts and serves until it is unmounted or a signal ends it. `start` is called once in the
/// process that serves, before anything else: it starts HDF5. In the background, `ready` is
/// called in the first process when the files are there, and the first process then exits with 0;
/// this returns in the second one. Errors: kUnsupported and kPermission (no /dev/fuse, or no right
/// to use it: say what to do), those of the container.
Status serve_mount(const MountOptions& options, const std::function<Status()>& start,
                   const std::function<void()>& ready);

}  // namespace bento::tools
