// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/command.hpp"

#include <cerrno>
#include <cstdio>
#include <new>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "transfer/cache_note.hpp"

namespace bento::tools {

ExitStatus status_of(const Error& error) {
  switch (error.code) {
    case Code::kCorrupt:
    case Code::kBusy:
    case Code::kExists:
    case Code::kPeer:
      return ExitStatus::kFound;
    case Code::kPermission:
      return error.os_errno == 0 ? ExitStatus::kFound : ExitStatus::kUsage;
    default:
      return ExitStatus::kUsage;
  }
}

namespace {

/// Commands work on what lies under a name. What is on its way there may be newer.
void warn_of_newer_state(const std::string& path) {
  const auto final_name = transfer::final_name_of(path);
  if (!final_name) return;
  const auto note = transfer::read_note(*final_name);
  if (note && *note)
    fmt::print(stderr,
               "h5bento: '{}': a newer state is in the cache of node '{}' ('{}') and has not "
               "arrived; see 'h5bento transfer status' there\n",
               path, (*note)->host, (*note)->copy);
}

}  // namespace

Command& Command::argument(const std::string& name, std::string& into, const std::string& help) {
  CLI::Option* const option = app_.add_option(name, into, help)->required()->type_name("");
  if (name == "FILE" || name == "IN")
    option->each([](const std::string& path) { warn_of_newer_state(path); });
  return *this;
}

Command& Command::optional_argument(const std::string& name, std::string& into,
                                    const std::string& help) {
  app_.add_option(name, into, help)->type_name("");
  return *this;
}

Command& Command::arguments(const std::string& name, std::vector<std::string>& into,
                            const std::string& help) {
  app_.add_option(name, into, help)->required()->type_name("");
  return *this;
}

Command& Command::flag(const std::string& names, bool& into, const std::string& help) {
  app_.add_flag(names, into, help);
  return *this;
}

Command& Command::option(const std::string& names, const std::string& value, std::string& into,
                         const std::string& help) {
  app_.add_option(names, into, help)->type_name(value);
  return *this;
}

Command& Command::option(const std::string& names, const std::string& value, std::uint64_t& into,
                         const std::string& help) {
  app_.add_option(names, into, help)->type_name(value);
  return *this;
}

Command& Command::required_option(const std::string& names, const std::string& value,
                                  std::string& into, const std::string& help) {
  app_.add_option(names, into, help)->required()->type_name(value);
  return *this;
}

Command& Command::choice(const std::string& names, std::string& into,
                         const std::vector<std::string>& choices, const std::string& help) {
  app_.add_option(names, into, help)->check(CLI::IsMember(choices))->type_name("");
  return *this;
}

Command Tool::add(const std::string& name, const std::string& description, Run run,
                  const std::string& details) {
  return add_to(app_, name, description, std::move(run), details);
}

Command Tool::add_below(Command& parent, const std::string& name, const std::string& description,
                        Run run, const std::string& details) {
  return add_to(parent.app(), name, description, std::move(run), details);
}

Command Tool::add_to(CLI::App& parent, const std::string& name, const std::string& description,
                     Run run, const std::string& details) {
  CLI::App* const command = parent.add_subcommand(name, description);
  command->add_flag("--json", json_, "Print one JSON object, for scripts");
  if (!details.empty()) command->footer(details);
  const std::string full = &parent == &app_ ? name : parent.get_name() + " " + name;
  command->callback([this, full, run = std::move(run)] {
    command_ = full;
    chosen_ = run;
  });
  return Command(*command);
}

Command Tool::add_group(const std::string& name, const std::string& description) {
  CLI::App* const group = app_.add_subcommand(name, description);
  group->require_subcommand(1);
  return Command(*group);
}

int Tool::run() {
  Output out(json_);
  out.set_command(command_);
  Result<ExitStatus> done = ExitStatus::kDone;
  try {
    done = chosen_(out);
  } catch (const std::bad_alloc&) {
    done = fail(Code::kNoSpace, "out of memory");
  } catch (const std::exception& error) {
    done = fail(Code::kInternal, fmt::format("unexpected: {}", error.what()));
  }
  ExitStatus status = ExitStatus::kUsage;
  if (done) {
    status = *done;
  } else {
    status = status_of(done.error());
    out.error(done.error());
  }
  const Status written = out.finish(static_cast<int>(status));
  // Who reads has seen enough, as `head` has.
  if (!written && written.error().os_errno == EPIPE) return static_cast<int>(status);
  if (!written) {
    std::fprintf(stderr, "h5bento %s: %s\n", command_.c_str(), written.error().text.c_str());
    return static_cast<int>(ExitStatus::kUsage);
  }
  return static_cast<int>(status);
}

}  // namespace bento::tools
