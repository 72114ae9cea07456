// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What main() and the commands of `h5bento` share: how a command is declared, what it gets, and
/// what its exit status means. A command is a file tools/NAME_command.cpp (tools/hdf5/ if it needs
/// HDF5) with one function `add_NAME`, which the table in tools/commands.cpp lists.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "tools/output.hpp"

namespace CLI {
class App;
}

namespace bento::tools {

/// The same for all commands; scripts depend on it.
enum class ExitStatus : int {
  kDone = 0,   ///< done, and everything looked at is sound
  kFound = 1,  ///< damage, a difference, or a refusal
  kUsage = 2,  ///< wrong usage, or input that cannot be read
};

/// What to return for an error that a command does not handle: kFound for damage and refusals
/// (kCorrupt, kBusy, kExists, kPeer, kPermission without errno), else kUsage.
ExitStatus status_of(const Error& error);

/// What a command does once its options are parsed. Prints through `out`; an error is printed by
/// the caller.
using Run = std::function<Result<ExitStatus>(Output& out)>;

/// One command while it is declared: what stands on its line. The variables must live until it has
/// run, so `run` owns them. Everything is parsed by CLI11, of which only command.cpp and main.cpp
/// know, because it takes long to compile.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(app) {}
  /// An argument without a name, in order of declaration; "FILE".
  Command& argument(const std::string& name, std::string& into, const std::string& help);
  Command& optional_argument(const std::string& name, std::string& into, const std::string& help);
  /// All arguments that remain, one at least.
  Command& arguments(const std::string& name, std::vector<std::string>& into,
                     const std::string& help);
  /// "-r,--recursive".
  Command& flag(const std::string& names, bool& into, const std::string& help);
  /// "--svg" followed by a value, called `value` in the help: "OUT". What stands in `into` before
  /// is the default.
  Command& option(const std::string& names, const std::string& value, std::string& into,
                  const std::string& help);
  Command& option(const std::string& names, const std::string& value, std::uint64_t& into,
                  const std::string& help);
  /// An option that must be given.
  Command& required_option(const std::string& names, const std::string& value, std::string& into,
                           const std::string& help);
  /// One of `choices`.
  Command& choice(const std::string& names, std::string& into,
                  const std::vector<std::string>& choices, const std::string& help);
  /// For what is not here.
  [[nodiscard]] CLI::App& app() { return app_; }

 private:
  CLI::App& app_;
};

/// The program: the option parser, and what it will run.
class Tool {
 public:
  explicit Tool(CLI::App& app) : app_(app) {}

  /// Adds the subcommand `name` with --json. `run` must own what the options are parsed into (a
  /// shared_ptr in its captures). `details` stands below the options in --help.
  Command add(const std::string& name, const std::string& description, Run run,
              const std::string& details = {});
  /// The same below another command: `h5bento view status`.
  Command add_below(Command& parent, const std::string& name, const std::string& description,
                    Run run, const std::string& details = {});
  /// A command that has only commands below it.
  Command add_group(const std::string& name, const std::string& description);

  /// Runs the command that was parsed. Returns the program's exit status.
  int run();

 private:
  Command add_to(CLI::App& parent, const std::string& name, const std::string& description, Run run,
                 const std::string& details);

  CLI::App& app_;
  bool json_ = false;
  std::string command_;  ///< "view status", for error texts
  Run chosen_;
};

/// Adds its command to the program.
using AddCommand = void (*)(Tool& tool);

/// Adds all of them.
void add_commands(Tool& tool);

}  // namespace bento::tools
