// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// `h5bento mount FILE DIR` and `h5bento umount DIR`.
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "tools/command.hpp"
#if H5BENTO_TOOL_FUSE
#include "tools/hdf5/start.hpp"
#include "tools/mount/fuse_mount.hpp"
#include "tools/mount/mount_table.hpp"
#endif

namespace bento::tools {

#if H5BENTO_TOOL_FUSE
namespace {

/// Links are followed: the kernel's table knows no others.
Result<std::string> absolute(const std::string& path) {
  std::error_code failed;
  auto found = std::filesystem::canonical(path, failed);
  // The program of a mount was killed: then nobody answers there, but the name is known.
  if (failed == std::errc::not_connected) found = std::filesystem::absolute(path, failed);
  if (failed) return fail(os_error(failed.value(), "looking for", path));
  std::string text = found.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

Result<ExitStatus> run_mount(Output& out, MountOptions options) {
  BENTO_ASSIGN(options.path, absolute(options.path));
  BENTO_ASSIGN(options.folder, absolute(options.folder));
  if (!options.log.empty()) options.log = std::filesystem::absolute(options.log).string();
  BENTO_TRY(serve_mount(options, start_hdf5, [&] {
    if (!options.foreground) return;
    out.print("'{}' is mounted on '{}' until Ctrl-C\n", options.path, options.folder);
    (void)std::fflush(stdout);
  }));
  out.answer() = {{"file", options.path}, {"folder", options.folder}};
  return ExitStatus::kDone;
}

Result<ExitStatus> run_umount(Output& out, const std::string& folder) {
  BENTO_ASSIGN(const std::string full, absolute(folder));
  BENTO_TRY(unmount(full));
  out.answer() = {{"folder", full}};
  return ExitStatus::kDone;
}

}  // namespace

void add_mount(Tool& tool) {
  const auto options = std::make_shared<MountOptions>();
  tool.add(
          "mount", "Show a container as a folder of ordinary read-only files",
          [options](Output& out) { return run_mount(out, *options); },
          "DIR then has data.h5, an ordinary HDF5 file for any program without a plugin; steps/K "
          "with each\nkept step; streams/, the ranks' streams; catalogue.txt. 'h5bento umount DIR' "
          "takes it away.")
      .argument("FILE", options->path, "the container")
      .argument("DIR", options->folder, "a folder")
      .flag("-f,--foreground", options->foreground, "stay, until Ctrl-C or umount")
      .flag("--allow-other", options->allow_other, "let other users look, too")
      .option("--log", "FILE", options->log, "where messages go (default: syslog)");
  const auto folder = std::make_shared<std::string>();
  tool.add("umount", "Take a mounted container away",
           [folder](Output& out) { return run_umount(out, *folder); })
      .argument("DIR", *folder, "the folder on which it is mounted");
}

#else

void add_mount(Tool& tool) {
  const auto given = std::make_shared<std::array<std::string, 2>>();
  const auto run = [given](Output&) -> Result<ExitStatus> {
    return fail(Code::kUnsupported,
                "this h5bento was built without libfuse 3 (package "
                "libfuse3-dev), so it cannot mount; 'h5bento export' makes an "
                "ordinary file");
  };
  tool.add("mount", "Show a container as a folder (not in this build)", run)
      .argument("FILE", (*given)[0], "the container")
      .argument("DIR", (*given)[1], "a folder");
}

#endif

}  // namespace bento::tools
