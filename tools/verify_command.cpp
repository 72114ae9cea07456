// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// `h5bento verify [-j N] FILE...`: every checksum and cross-check.
#include <memory>
#include <thread>

#include "core/offline/verify_container.hpp"
#include "tools/command.hpp"
#include "tools/findings_text.hpp"
#include "tools/joined_text.hpp"
#include "tools/progress.hpp"
#include "tools/units.hpp"

namespace bento::tools {

namespace {

struct Options {
  std::vector<std::string> files;
  std::uint64_t jobs = 0;
};

void report(Output& out, Json& json, const std::string& path, const ContainerVerdict& verdict,
            std::uint64_t bytes) {
  json["sound"] = verdict.sound();
  json["closed"] = verdict.closed;
  json["step"] = verdict.step;
  json["steps"] = verdict.steps;
  json["streams"] = verdict.streams;
  json["records"] = verdict.records;
  json["older_records"] = verdict.older_records;
  json["bytes"] = bytes;
  const std::string read =
      fmt::format("{} of {} in {}", bytes_text(bytes),
                  count_text(verdict.records + verdict.older_records, "record"),
                  count_text(verdict.streams, "stream"));
  if (verdict.sound())
    out.print("{}: sound as of step {} ({}){}\n", path, verdict.step, read,
              verdict.closed ? "" : "; not closed: what only a close writes was not judged");
  else
    out.print("{}: {} found as of step {} ({})\n", path, count_text(verdict.count, "fault"),
              verdict.step, read);
  print_findings(out, json, path, verdict);
}

Result<ExitStatus> verify(Output& out, const Options& options) {
  constexpr std::uint64_t kMostJobs = 1024;
  if (options.jobs > kMostJobs)  // a negative one, too
    return fail(Code::kInvalidArgument,
                fmt::format("--jobs: a number of streams from 0 to {} is wanted", kMostJobs));
  ExitStatus status = ExitStatus::kDone;
  Json& list = out.answer()["files"] = Json::array();
  for (const auto& path : options.files) {
    Json& json = list.emplace_back(Json{{"file", path}});
    if (is_joined_container(path)) {
      const auto found = joined_verify(out, json, path);
      if (!found) json["error"] = out.complain(found.error());
      status = std::max(status, found ? *found : status_of(found.error()));
      continue;
    }
    std::unique_ptr<Progress> progress;
    std::uint64_t bytes = 0;
    VerifyOptions how;
    how.jobs = static_cast<unsigned>(options.jobs);
    if (how.jobs == 0) how.jobs = std::max(1U, std::thread::hardware_concurrency());
    how.total = [&](std::uint64_t all) {
      bytes = all;
      progress = std::make_unique<Progress>("verify", all);
    };
    how.progress = [&](std::uint64_t read) { progress->add(read); };
    const auto verdict = verify_container(path, how);
    progress.reset();
    if (verdict) {
      report(out, json, path, *verdict, bytes);
      if (!verdict->sound()) status = std::max(status, ExitStatus::kFound);
      continue;
    }
    json["error"] = out.complain(verdict.error());
    status = std::max(status, status_of(verdict.error()));
  }
  return status;
}

}  // namespace

void add_verify(Tool& tool) {
  const auto options = std::make_shared<Options>();
  tool.add(
          "verify", "Verify every checksum and cross-check",
          [options](Output& out) { return verify(out, *options); },
          "Reads all data once. Of a container that was not closed, the SION view and the marks of "
          "overwritten\nrecords are not judged: only a close, or repair, writes them.")
      .option("-j,--jobs", "N", options->jobs, "streams to verify at a time (default: processors)")
      .arguments("FILE", options->files, "containers, each by its first physical file");
}

}  // namespace bento::tools
