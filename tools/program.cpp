// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/program.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "tools/command.hpp"
#include "tools/output.hpp"

namespace {

constexpr const char* kFooter =
    "Exit status: 0 done and sound; 1 damage, a difference or a refusal was found; 2 wrong usage "
    "or input\nthat cannot be read. 'h5bento COMMAND --help' says more of a command.";

/// With --json a script reads an answer in this case, too.
void answer_json(int argc, char** argv, const std::string& text) {
  using namespace bento::tools;
  const bool json = std::any_of(
      argv, argv + argc, [](const char* word) { return std::string_view(word) == "--json"; });
  if (!json) return;
  Output out(true);
  out.answer()["error"] = {{"code", "invalid argument"}, {"text", text}};
  (void)out.finish(static_cast<int>(ExitStatus::kUsage));
}

}  // namespace

int bento::tools::run_program(int argc, char** argv) {
  // Who reads the answer may go: an error of the write, and no death in the middle of a repair.
  std::signal(SIGPIPE, SIG_IGN);
  // A file that may not grow so much (ulimit -f): an error with its name, which a daemon can
  // report.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app("Looks at, checks and repairs containers of the HDF5 connector h5bento.", "h5bento");
  app.require_subcommand(1);
  app.set_version_flag("--version", "h5bento " H5BENTO_VERSION);
  app.footer(kFooter);
  app.get_formatter()->column_width(36);
  bento::tools::Tool tool(app);
  bento::tools::add_commands(tool);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& error) {
    // CLI11 says only that a command is missing.
    if (argc > 1 && argv[1][0] != '-' && app.get_subcommands().empty()) {
      std::fprintf(stderr, "h5bento: there is no command '%s'; see h5bento --help\n", argv[1]);
      return static_cast<int>(bento::tools::ExitStatus::kUsage);
    }
    app.exit(error);
    answer_json(argc, argv, error.what());
    return static_cast<int>(bento::tools::ExitStatus::kUsage);
  } catch (const CLI::ParseError& error) {
    // 0 for --help and --version; CLI11's own numbers tell nothing to a script.
    if (app.exit(error) == 0) return static_cast<int>(bento::tools::ExitStatus::kDone);
    answer_json(argc, argv, error.what());
    return static_cast<int>(bento::tools::ExitStatus::kUsage);
  }
  return tool.run();
}
