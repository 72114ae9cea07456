// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// `h5bento info FILE`: what a container is, how large, and who writes it now.
#include <memory>

#include "core/layout/root.hpp"
#include "tools/command.hpp"
#include "tools/units.hpp"

namespace bento::tools {

namespace {

Result<ExitStatus> info(Output& out, const std::string& path) {
  BENTO_ASSIGN(const auto file, open_posix_file(path, OpenMode::kRead));
  BENTO_ASSIGN(const Probe seen, probe(*file));
  if (seen.kind != FileKind::kContainer)
    return fail(Code::kInvalidArgument, fmt::format("'{}' is no h5bento container", path));
  out.print("{}: {}\n", path, count_text(seen.root.step, "step"));
  out.answer()["step"] = seen.root.step;
  return ExitStatus::kDone;
}

}  // namespace

void add_info(Tool& tool) {
  const auto path = std::make_shared<std::string>();
  tool.add("info", "Say what a container is, and how large",
           [path](Output& out) { return info(out, *path); })
      .argument("FILE", *path, "the container");
}

}  // namespace bento::tools
