// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// `h5bento repair FILE`: after a death, makes everything that readers see of what is committed.
#include <algorithm>
#include <memory>

#include "core/joined/joined_report.hpp"
#include "core/offline/survey.hpp"
#include "tools/command.hpp"
#include "tools/findings_text.hpp"
#include "tools/hdf5/start.hpp"
#include "tools/joined_text.hpp"
#include "tools/units.hpp"
#include "vol/library/edited_view.hpp"

namespace bento::tools {

namespace {

constexpr std::size_t kShown = 20;

Json to_json(const std::vector<StreamSpot>& spots) {
  Json list = Json::array();
  for (const auto& spot : spots)
    list.push_back({{"file", spot.file},
                    {"offset", spot.address},
                    {"task", spot.writer},
                    {"records", spot.records},
                    {"bytes", spot.bytes},
                    {"datasets", spot.datasets}});
  return list;
}

void print_spots(Output& out, const std::vector<StreamSpot>& spots) {
  for (std::size_t i = 0; i < spots.size() && i < kShown; ++i)
    out.print("    {}, byte {}, task {}: {}, {}\n", spots[i].file, spots[i].address,
              spots[i].writer, count_text(spots[i].records, "record"), bytes_text(spots[i].bytes));
  if (spots.size() > kShown) out.print("    ... and {} more\n", count_text(spots.size() - kShown));
}

std::string what_holds(const ContainerVerdict& verdict) {
  return fmt::format("{} were read and have their checksums{}",
                     verdict.older_verified ? "all data" : "the data of the newest step",
                     verdict.unhashed > 0 ? ", as far as they have any" : "");
}

void print(Output& out, const std::string& path, const RecoveryReport& report) {
  out.print("{}: holds step {}, the last one committed; {}\n", path, report.step,
            report.was_closed ? "its last writer had closed it"
                              : "its last writer ended before it "
                                "closed the file");
  if (!report.rebuilt.empty())
    out.print("  rebuilt {} of blocks from the index:\n",
              count_text(report.rebuilt.size(), "header"));
  print_spots(out, report.rebuilt);
  if (!report.lost.empty())
    out.print("  {} written and never committed; the next session writes over them:\n",
              count_text(report.lost.size(), "block"));
  print_spots(out, report.lost);
  for (const auto& file : report.left_over)
    out.print("  {} is left of a session that committed nothing; it may be deleted\n", file);
  if (!report.beyond_repair.empty())
    out.print("  {} of blocks cannot be rebuilt:\n",
              count_text(report.beyond_repair.size(), "header"));
  print_spots(out, report.beyond_repair);
  if (!report.verdict.sound())
    out.print("  {} that nothing can repair:\n", count_text(report.verdict.count, "fault"));
  print_findings(out, out.answer(), path, report.verdict);
  out.print(
      "  SION view and FTI headers, and the native view if there is one, are those of step {}\n",
      report.step);
  for (const auto& note : report.notes) out.print("  note: {}\n", note);
  out.print("  {}\n", report.sound() ? what_holds(report.verdict) : "the container is damaged");
}

/// A container of the file driver: META2 and superblocks, then the view.
Result<ExitStatus> repair_streams(Output& out, const std::string& path) {
  BENTO_ASSIGN(const JoinedReport before, inspect_joined(path));
  std::vector<std::string> notes;
  BENTO_ASSIGN(const JoinedReport report, or_refusal(vol::repair_streams(path, notes), path));
  print_joined(out, path, report);
  out.print("  {}; its native view shows {}\n",
            before.finished ? "it was finished" : "it is finished now, for SION readers, too",
            notes.empty() ? "all files" : "the files, but for what the notes say");
  for (const auto& note : notes) out.print("  note: {}\n", note);
  out.answer()["was_closed"] = before.finished;
  out.answer()["notes"] = notes;
  const bool cut = std::ranges::any_of(report.streams, [](const auto& one) { return one.writing; });
  out.answer()["sound"] = !cut;
  return cut ? ExitStatus::kFound : ExitStatus::kDone;
}

Result<ExitStatus> repair(Output& out, const std::string& path) {
  BENTO_TRY(check_is_container(path));
  BENTO_TRY(start_hdf5());
  if (is_joined_container(path)) return repair_streams(out, path);
  BENTO_ASSIGN(const RecoveryReport report, or_refusal(vol::recover_container(path), path));
  out.answer() = {{"file", path},
                  {"step", report.step},
                  {"was_closed", report.was_closed},
                  {"sound", report.sound()},
                  {"rebuilt", to_json(report.rebuilt)},
                  {"uncommitted", to_json(report.lost)},
                  {"left_over", report.left_over},
                  {"beyond_repair", to_json(report.beyond_repair)},
                  {"notes", report.notes}};
  print(out, path, report);
  return report.sound() ? ExitStatus::kDone : ExitStatus::kFound;
}

}  // namespace

void add_repair(Tool& tool) {
  const auto path = std::make_shared<std::string>();
  tool.add(
          "repair", "Make a container whole after its program died",
          [path](Output& out) { return repair(out, *path); },
          "Shows the last committed step to all readers: completes the SION view, the FTI headers "
          "and the native\nview, rebuilds damaged block headers from the index, and reads all data "
          "once. Data that was damaged\nis reported and stays as it is. Refused while somebody "
          "writes the file.")
      .argument("FILE", *path, "the container: its first physical file");
}

}  // namespace bento::tools
