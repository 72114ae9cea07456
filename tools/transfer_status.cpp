// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/transfer_status.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "tools/progress.hpp"
#include "tools/units.hpp"
#include "transfer/daemon.hpp"
#include "transfer/kvtree_file.hpp"
#include "transfer/submit.hpp"

namespace bento::tools {

namespace {

using transfer::Entry;
using transfer::TransferState;

struct Picture {
  TransferState state;
  bool daemon = false;
};

Result<Picture> look(const std::string& file) {
  Picture picture;
  BENTO_ASSIGN(const transfer::KvTree tree, transfer::read_kvfile(file));
  picture.state = transfer::read_state(tree);
  picture.daemon = transfer::DaemonLock::held(file);
  return picture;
}

std::string state_of(const Entry& entry) {
  if (entry.complete()) return "arrived";
  if (entry.failed) return "failed";
  return entry.problem.empty() ? "copying" : "waiting";
}

std::string line_of(const Entry& entry, double rate, std::size_t columns) {
  std::string line;
  if (entry.complete()) {
    line = fmt::format("{}  arrived, {}", entry.destination, bytes_text(entry.size));
  } else if (entry.failed) {
    line = fmt::format("{}  failed", entry.destination);
  } else {
    const double seconds = rate > 0 ? static_cast<double>(entry.progress()) / rate : 0;
    line = progress_line(entry.destination.substr(entry.destination.rfind('/') + 1),
                         entry.progress(), entry.size, seconds, columns);
  }
  if (!entry.problem.empty() && !entry.complete()) line += "\n    " + entry.problem;
  return line;
}

std::string text_of(const std::string& file, const Picture& picture) {
  const TransferState& state = picture.state;
  std::string text = fmt::format("{}: {}, {}", file, state.state.empty() ? "no state" : state.state,
                                 picture.daemon ? "a daemon runs" : "no daemon runs");
  if (state.bytes_per_second.value_or(0) > 0)
    text += fmt::format(", at most {}/s", bytes_text(*state.bytes_per_second));
  if (state.cpu_percent.value_or(0) > 0)
    text += fmt::format(", {:g} % of a CPU", *state.cpu_percent);
  text += "\n";
  for (const auto& entry : state.entries)
    text += "  " + line_of(entry, state.rate, screen_columns() - 2) + "\n";
  return text;
}

void answer(Output& out, const std::string& file, const Picture& picture) {
  const TransferState& state = picture.state;
  Json& json = out.answer();
  json["transfer_file"] = file;
  json["state"] = state.state;
  json["daemon"] = picture.daemon;
  json["done"] = state.done;
  json["bytes_per_second"] = state.runs() && state.to_do() ? state.rate : 0;
  json["limit_bytes_per_second"] = state.bytes_per_second.value_or(0);
  json["limit_cpu_percent"] = state.cpu_percent.value_or(0);
  std::uint64_t left = 0;
  json["files"] = Json::array();
  for (const auto& entry : state.entries) {
    if (!entry.complete() && !entry.failed)
      left += entry.size - std::min(entry.size, entry.progress());
    json["files"].push_back({{"source", entry.source},
                             {"destination", entry.destination},
                             {"bytes", entry.size},
                             {"written", entry.written},
                             {"progress", entry.progress()},
                             {"arrive", entry.arrive.empty() ? "container" : entry.arrive},
                             {"state", state_of(entry)},
                             {"problem", entry.problem}});
  }
  json["bytes_left"] = left;
  json["seconds_left"] = state.rate > 0 ? Json(static_cast<double>(left) / state.rate) : Json();
}

ExitStatus verdict(const TransferState& state) {
  return state.failed() ? ExitStatus::kFound : ExitStatus::kDone;
}

/// The text again, in the place of the last on a terminal.
void draw(Output& out, const std::string& text, std::size_t& lines) {
  if (::isatty(STDOUT_FILENO) != 0 && lines > 0) out.print("\033[{}F\033[J", lines);
  lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  out.print("{}", text);
}

Result<ExitStatus> status(Output& out, const std::string& given, bool follow) {
  const std::string file = named_transfer_file(given);
  if (follow) return follow_transfer(out, file, "");
  BENTO_ASSIGN(const Picture picture, look(file));
  out.print("{}", text_of(file, picture));
  answer(out, file, picture);
  return verdict(picture.state);
}

}  // namespace

// The daemon works in another folder.
std::string named_transfer_file(const std::string& given) {
  return given.empty() ? transfer::default_transfer_file() : transfer::clean_name(given);
}

Result<ExitStatus> follow_transfer(Output& out, const std::string& file,
                                   const std::string& destination) {
  std::size_t lines = 0;
  std::string last;
  for (;;) {
    BENTO_ASSIGN(Picture picture, look(file));
    if (!destination.empty())
      std::erase_if(picture.state.entries, [&](const Entry& entry) {
        return entry.destination != destination && entry.container != destination;
      });
    if (const std::string text = text_of(file, picture); text != last) {
      draw(out, text, lines);
      if (auto shown = out.flush(); !shown) return fail(std::move(shown).error());
      last = text;
    }
    if (!destination.empty() && picture.state.entries.empty())
      return fail(Code::kNotFound, fmt::format("'{}' was taken back", destination));
    if (!picture.state.to_do()) {
      answer(out, file, picture);
      return verdict(picture.state);
    }
    if (!picture.daemon)
      return fail(Code::kPeer,
                  fmt::format("no daemon runs for '{}': nothing would go on; start one "
                              "with h5bento transfer run --file {}",
                              file, file));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

void add_transfer_status(Tool& tool, Command& group) {
  struct Options {
    std::string file;
    bool follow = false;
  };
  const auto options = std::make_shared<Options>();
  tool.add_below(
          group, "status", "Say how far everything is",
          [options](Output& out) { return status(out, options->file, options->follow); },
          "Exit status 1: some file failed for good.")
      .option("--file", "FILE", options->file,
              "transfer file; default: $H5BENTO_TRANSFER_FILE, else "
              "/tmp/USER/h5bento/transfer.scrinfo")
      .flag("-f,--follow", options->follow, "go on until everything has arrived or failed");
}

}  // namespace bento::tools
