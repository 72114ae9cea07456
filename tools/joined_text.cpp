// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/joined_text.hpp"

#include "core/base/printable.hpp"
#include "tools/survey_text.hpp"
#include "tools/units.hpp"

namespace bento::tools {

namespace {

constexpr std::size_t kShown = 20;

std::string state_of(const JoinedReport& report) {
  if (report.in_use) return "being written";
  return report.finished ? "closed" : "not finished";
}

std::string view_text(JoinedView view) {
  switch (view) {
    case JoinedView::kThere:
      return "there: a group for each file";
    case JoinedView::kEdited:
      return "changed by a program without the driver; 'h5bento view drop' forgets that";
    case JoinedView::kNone:
      break;
  }
  return "none ('h5bento view build' makes it)";
}

void line(Output& out, const char* what, const std::string& text) {
  out.print("  {:<14} {}\n", what, text);
}

}  // namespace

std::string joined_view_name(JoinedView view) {
  switch (view) {
    case JoinedView::kThere:
      return "there";
    case JoinedView::kEdited:
      return "edited";
    case JoinedView::kNone:
      break;
  }
  return "none";
}

void print_joined(Output& out, const std::string& path, const JoinedReport& report) {
  std::uint64_t bytes = 0;
  Json& list = (out.answer()["streams"] = Json::array());
  for (const auto& one : report.streams) {
    bytes += one.bytes;
    list.push_back({{"name", one.name},
                    {"task", one.task},
                    {"rank", one.rank},
                    {"bytes", one.bytes},
                    {"cut", one.writing && !report.in_use}});
  }
  out.answer()["file"] = path;
  out.answer()["state"] = state_of(report);
  out.answer()["tasks"] = report.tasks;
  out.answer()["physical_files"] = report.files;
  out.answer()["chunk_bytes"] = report.chunk_bytes;
  out.answer()["job"] = report.job;
  out.answer()["native_view"] = joined_view_name(report.view);
  out.print("{}: HDF5 files of processes (file driver), {}\n", path,
            report.in_use || report.finished
                ? state_of(report)
                : "not finished: a process was ended; 'h5bento repair' finishes it");
  line(out, "files",
       fmt::format("{} of {}, {}", count_text(report.streams.size()),
                   report.tasks == 1 ? "1 process" : count_text(report.tasks) + " processes",
                   bytes_text(bytes)));
  line(out, "container",
       fmt::format("{}, chunks of {}", count_text(report.files, "physical file"),
                   bytes_text(report.chunk_bytes)));
  if (!report.job.empty()) line(out, "last job", printable(report.job));
  line(out, "native view", view_text(report.view));
  for (std::size_t i = 0; i < report.streams.size() && i < kShown; ++i) {
    const auto& one = report.streams[i];
    out.print("    rank {:<6} {:>10}  {}{}\n", one.rank, bytes_text(one.bytes), printable(one.name),
              !one.writing    ? ""
              : report.in_use ? " (being written)"
                              : " (cut off)");
  }
  if (report.streams.size() > kShown)
    out.print("    ... and {} more\n", count_text(report.streams.size() - kShown));
}

Result<ExitStatus> joined_info(Output& out, const std::string& path) {
  BENTO_ASSIGN(const JoinedReport report, inspect_joined(path));
  print_joined(out, path, report);
  print_problems(out, report.problems);
  return report.problems.empty() ? ExitStatus::kDone : ExitStatus::kFound;
}

Result<ExitStatus> joined_verify(Output& out, Json& json, const std::string& path) {
  BENTO_ASSIGN(const auto problems, check_joined(path));
  json["kind"] = "joined";
  json["problems"] = problems;
  json["sound"] = problems.empty();
  if (problems.empty())
    out.print("{}: sound; the HDF5 files in it have no checksums of the container\n", path);
  else
    out.print("{}: {} found\n", path, count_text(problems.size(), "fault"));
  for (const auto& problem : problems) out.print("  {}\n", printable(problem));
  return problems.empty() ? ExitStatus::kDone : ExitStatus::kFound;
}

}  // namespace bento::tools
