// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// `h5bento transfer run|submit|cancel|show`: the daemon, and what people tell it. `status` is in
/// transfer_status.cpp.
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "core/config/config.hpp"
#include "tools/assembler.hpp"
#include "tools/command.hpp"
#include "tools/transfer_status.hpp"
#include "tools/units.hpp"
#include "transfer/cache_note.hpp"
#include "transfer/cached_copy.hpp"
#include "transfer/daemon.hpp"
#include "transfer/h5bento_transfer.h"
#include "transfer/hand_over.hpp"
#include "transfer/kvtree_file.hpp"
#include "transfer/spill.hpp"
#include "transfer/submit.hpp"

namespace bento::tools {

namespace {

constexpr const char* kFileHelp =
    "transfer file; default: $H5BENTO_TRANSFER_FILE, else /tmp/USER/h5bento/transfer.scrinfo";

Result<double> number(const std::string& text, const char* what) {
  double value = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || !(value >= 0) || value > 1e12)
    return fail(Code::kInvalidArgument,
                fmt::format("{} '{}': a number from 0 on is wanted", what, text));
  return value;
}

// ---- run ----

struct RunOptions {
  std::string file, allow, poll = "1", give_up = "0", idle_exit = "0";
  bool until_done = false, no_verify = false, no_scr = false;
};

/// The daemon that a signal ends.
transfer::Daemon* running = nullptr;

extern "C" void end_running(int) {
  if (running != nullptr) running->stop();
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

Result<ExitStatus> run(Output& out, const RunOptions& given) {
  transfer::DaemonOptions options;
  options.file = named_transfer_file(given.file);
  const char* const allowed = std::getenv("H5BENTO_TRANSFER_ALLOW");
  options.allowed = split(given.allow.empty() && allowed != nullptr ? allowed : given.allow);
  BENTO_ASSIGN(options.poll, number(given.poll, "--poll"));
  BENTO_ASSIGN(options.give_up, number(given.give_up, "--give-up"));
  BENTO_ASSIGN(options.idle_exit, number(given.idle_exit, "--idle-exit"));
  options.until_done = given.until_done;
  options.job.verify = !given.no_verify;
  options.job.scr_files = !given.no_scr;
  options.job.assemble = assembler();
  options.job.make_view = view_maker();
  BENTO_ASSIGN(const auto daemon, transfer::Daemon::start(options));
  running = daemon.get();
  struct sigaction action{};
  action.sa_handler = end_running;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaction(signal, &action, nullptr);
  const auto arrived = daemon->run();
  running = nullptr;
  if (!arrived) return fail(arrived.error());
  out.answer()["arrived"] = *arrived;
  return *arrived ? ExitStatus::kDone : ExitStatus::kFound;
}

void add_run(Tool& tool, Command& group) {
  const auto options = std::make_shared<RunOptions>();
  tool.add_below(
          group, "run", "Work through a transfer file until told to end",
          [options](Output& out) { return run(out, *options); },
          "Copies what the transfer file lists, at the pace that its BW and PERCENT say, and gives "
          "each container its name\nonly when it is complete and verified. Ends on COMMAND EXIT, "
          "SIGTERM, SIGINT and SIGHUP, and takes up again\nwhere it was when it is started anew. "
          "Exit "
          "status 1: some file failed for good, or a daemon runs already.")
      .option("--file", "FILE", options->file, kFileHelp)
      .option("--allow", "DIR[:DIR...]", options->allow,
              "refuse destinations outside these; default: $H5BENTO_TRANSFER_ALLOW, else none")
      .option("--poll", "SECONDS", options->poll, "between two looks at the file while idle")
      .option("--give-up", "SECONDS", options->give_up,
              "after which a full disk and the like is an error for good; 0: never")
      .option("--idle-exit", "SECONDS", options->idle_exit,
              "end after so long without work; 0: never")
      .flag("--until-done", options->until_done, "end when nothing is left to do")
      .flag("--no-verify", options->no_verify, "do not hold containers against their checksums")
      .flag("--no-scr", options->no_scr, "write no SCR summary and index");
}

// ---- submit ----

struct SubmitOptions {
  std::string file, source, destination, bw, percent, arrive;
  bool evict = false, no_start = false, wait = false;
};

/// SOURCE alone is a final name: what shall arrive there is in the cache of this node.
Status name_cached(transfer::Submission& submission, bool arrive_given) {
  BENTO_ASSIGN(const auto copy, transfer::newest_copy(submission.source));
  if (!copy)
    return fail(Code::kNotFound,
                fmt::format("no cache has a newer state of '{}'; to copy it, name a destination",
                            submission.source));
  BENTO_ASSIGN(const auto note, transfer::read_note(copy->final_name));
  // It replaces what lies under the name now.
  if (note) BENTO_TRY(transfer::write_note(copy->final_name, *note));
  submission.source = copy->path;
  submission.destination = copy->final_name;
  submission.evict = submission.evict || (note && note->evict);
  submission.cached = true;
  if (note && !arrive_given) {
    BENTO_ASSIGN(submission.arrive, transfer::arrive_of(note->arrive));
  }
  return {};
}

/// The cache was full: no daemon knows of what was written elsewhere, so it is brought here and
/// now.
Result<ExitStatus> finish_here(Output& out, const transfer::Submission& submission,
                               const std::string& file) {
  transfer::FlushWish wish;
  wish.transfer_file = file;
  wish.evict = submission.evict;
  wish.arrive = submission.arrive;
  const auto tick = []() -> Status { return {}; };
  BENTO_TRY(transfer::hand_over(submission.destination, submission.source, wish, tick));
  out.answer()["arrived"] = true;
  out.print("'{}' has arrived\n", submission.destination);
  return ExitStatus::kDone;
}

Result<ExitStatus> submit(Output& out, const SubmitOptions& given) {
  transfer::Submission submission;
  submission.source = given.source;
  submission.destination = given.destination;
  submission.evict = given.evict;
  BENTO_ASSIGN(submission.arrive, transfer::arrive_of(given.arrive));
  if (given.destination.empty()) BENTO_TRY(name_cached(submission, !given.arrive.empty()));
  if (!given.bw.empty()) {
    BENTO_ASSIGN(const std::uint64_t rate, parse_size(given.bw));
    submission.bytes_per_second = static_cast<double>(rate);
  }
  if (!given.percent.empty()) {
    BENTO_ASSIGN(submission.cpu_percent, number(given.percent, "--percent"));
  }
  const std::string file = named_transfer_file(given.file);
  if (submission.cached && transfer::needs_finish(submission.source))
    return finish_here(out, submission, file);
  BENTO_ASSIGN(const auto entries, transfer::submit(file, submission));
  bool started = false;
  if (!given.no_start) {
    // By its own name, which people look for among the processes.
    std::error_code problem;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", problem);
    const std::string program = problem ? "/proc/self/exe" : self.string();
    BENTO_ASSIGN(started, transfer::start_daemon(program, file, {"--idle-exit", "60"}));
  }
  std::uint64_t bytes = 0;
  for (const auto& entry : entries) {
    bytes += entry.size;
    out.answer()["files"].push_back({{"source", entry.source}, {"destination", entry.destination}});
  }
  out.answer()["transfer_file"] = file;
  out.answer()["daemon_started"] = started;
  out.print("{} to '{}': {} in {}\n", given.source, entries.front().destination, bytes_text(bytes),
            count_text(entries.size(), "file"));
  if (!given.wait) return ExitStatus::kDone;
  return follow_transfer(out, file, entries.front().destination);
}

void add_submit(Tool& tool, Command& group) {
  const auto options = std::make_shared<SubmitOptions>();
  tool.add_below(
          group, "submit", "Hand a container, or any file, to the daemon",
          [options](Output& out) { return submit(out, *options); },
          "All physical files of a container go together. A daemon is started if none runs; it "
          "outlives this program.\nWithout DESTINATION, SOURCE is the final name of a container "
          "that a program has left in its cache (flush=off).")
      .argument("SOURCE", options->source, "what to copy")
      .optional_argument("DESTINATION", options->destination, "its final name, or a folder")
      .option("--file", "FILE", options->file, kFileHelp)
      .option("--bw", "BYTES", options->bw, "limit in bytes per second: 50M; 0: none")
      .option("--percent", "PERCENT", options->percent, "limit of CPU time, of one CPU; 0: none")
      .choice("--arrive", options->arrive, {"container", "onefile", "native"},
              "as it is, as a container of one file, or as an ordinary HDF5 file")
      .flag("--evict", options->evict, "remove the source when it has arrived, verified")
      .flag("--no-start", options->no_start, "start no daemon")
      .flag("--wait", options->wait, "wait until it has arrived");
}

// ---- wait ----

Result<ExitStatus> wait(Output& out, const std::string& file, const std::string& path,
                        const std::string& seconds) {
  double most = -1;
  if (!seconds.empty()) {
    BENTO_ASSIGN(most, number(seconds, "--seconds"));
  }
  std::array<char, 4096> why{};
  const int result = h5bento_transfer_wait(path.c_str(), named_transfer_file(file).c_str(), most,
                                           why.data(), why.size());
  out.answer()["path"] = path;
  out.answer()["arrived"] = result == H5BENTO_TRANSFER_ARRIVED;
  out.answer()["problem"] = why.data();
  if (result == H5BENTO_TRANSFER_UNKNOWN) return fail(Code::kNotFound, why.data());
  if (result == H5BENTO_TRANSFER_ARRIVED) return ExitStatus::kDone;
  out.print("{}: {}\n", path,
            result == H5BENTO_TRANSFER_LATE ? fmt::format("not yet: {}", why.data()) : why.data());
  return ExitStatus::kFound;
}

void add_wait(Tool& tool, Command& group) {
  struct Options {
    std::string file, path, seconds;
  };
  const auto options = std::make_shared<Options>();
  tool.add_below(
          group, "wait", "Wait until a file has arrived",
          [options](Output& out) {
            return wait(out, options->file, options->path, options->seconds);
          },
          "Exit status 1: it has failed for good, or the time is over. 2: nobody has submitted it, "
          "or no daemon runs.")
      .argument("PATH", options->path, "its final name")
      .option("--seconds", "SECONDS", options->seconds, "to wait at most; default: for ever")
      .option("--file", "FILE", options->file, kFileHelp);
}

// ---- show and cancel ----

Result<ExitStatus> show(Output& out, const std::string& file, const std::string& mode) {
  BENTO_ASSIGN(const transfer::KvTree tree, transfer::read_kvfile(file));
  const auto how = mode == "keyval" ? transfer::KvPrint::kKeyval : transfer::KvPrint::kTree;
  const std::string text = transfer::print_kvtree(tree, how);
  out.print("{}", text);
  out.answer()["text"] = text;
  return ExitStatus::kDone;
}

void add_show(Tool& tool, Command& group) {
  struct Options {
    std::string file, mode = "tree";
  };
  const auto options = std::make_shared<Options>();
  tool.add_below(group, "show", "Print a transfer, summary or index file as SCR's print tool does",
                 [options](Output& out) { return show(out, options->file, options->mode); })
      .argument("FILE", options->file, "a KVTree file")
      .choice("-m,--mode", options->mode, {"tree", "keyval"}, "one key a line, or KEY = VALUE");
}

Result<ExitStatus> cancel(Output& out, const std::string& file, const std::string& name) {
  std::vector<std::string> names;
  if (!name.empty()) names.push_back(name);
  BENTO_ASSIGN(const auto taken, transfer::cancel(named_transfer_file(file), names));
  out.answer()["cancelled"] = Json::array();
  for (const auto& entry : taken) {
    out.print("{}: not copied to '{}'\n", entry.source, entry.destination);
    out.answer()["cancelled"].push_back(entry.source);
  }
  return ExitStatus::kDone;
}

void add_cancel(Tool& tool, Command& group) {
  struct Options {
    std::string file, name;
  };
  const auto options = std::make_shared<Options>();
  tool.add_below(
          group, "cancel", "Take back what was submitted",
          [options](Output& out) { return cancel(out, options->file, options->name); },
          "What was copied so far is removed; a container that has its name stays. Without NAME: "
          "everything, and the\ndaemon stops.")
      .optional_argument("NAME", options->name, "a source or a destination, with all its parts")
      .option("--file", "FILE", options->file, kFileHelp);
}

}  // namespace

void add_transfer(Tool& tool) {
  Command group =
      tool.add_group("transfer", "Copy containers behind the program's back to their final place");
  add_run(tool, group);
  add_submit(tool, group);
  add_transfer_status(tool, group);
  add_wait(tool, group);
  add_show(tool, group);
  add_cancel(tool, group);
}

}  // namespace bento::tools
