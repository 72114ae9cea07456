// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// `h5bento view {status,build,drop,take-over} FILE`: the native view, which HDF5 without h5bento
/// reads.
#include <memory>

#include "core/offline/survey.hpp"
#include "tools/command.hpp"
#include "tools/hdf5/start.hpp"
#include "tools/joined_text.hpp"
#include "tools/survey_text.hpp"
#include "vol/library/edited_view.hpp"

namespace bento::tools {

namespace {

using Notes = std::vector<std::string>;

void report(Output& out, const std::string& path, const Notes& notes, const std::string& done) {
  out.answer() = {{"file", path}, {"native_view", "there"}, {"notes", notes}};
  out.print("{}: {}\n", path, done);
  for (const auto& note : notes) out.print("  not shown: {}\n", note);
}

/// Of a container of the file driver.
Result<ExitStatus> joined_status(Output& out, const std::string& path) {
  BENTO_ASSIGN(const JoinedReport report, inspect_joined(path));
  BENTO_TRY(start_hdf5());
  Notes notes;
  if (report.view == JoinedView::kThere)
    if (auto found = vol::view_notes(path)) notes = std::move(*found);
  out.answer() = {{"file", path}, {"native_view", joined_view_name(report.view)}, {"notes", notes}};
  if (report.view == JoinedView::kEdited)
    out.print(
        "{}: another program changed the file through its native view; 'h5bento view drop' "
        "forgets that\n",
        path);
  else
    out.print("{}: {}\n", path,
              report.view == JoinedView::kThere ? "a native view, with a group for each file"
                                                : "no native view; 'h5bento view build' makes it");
  for (const auto& note : notes) out.print("  not shown: {}\n", note);
  return report.view == JoinedView::kEdited ? ExitStatus::kFound : ExitStatus::kDone;
}

Result<ExitStatus> status(Output& out, const std::string& path) {
  if (is_joined_container(path)) return joined_status(out, path);
  BENTO_ASSIGN(Survey survey, Survey::open(path));
  BENTO_TRY(start_hdf5());
  const auto notes = vol::view_notes(path);
  BENTO_ASSIGN(const ViewState state, survey.examined_view());
  out.answer() = {{"file", path}, {"native_view", view_name(state)}};
  out.answer()["notes"] = notes ? Json(*notes) : Json::array();
  if (state == ViewState::kEdited)
    out.print(
        "{}: another program changed the file through its native view.\n"
        "  h5bento reads what was committed, and refuses to write. 'h5bento view take-over' makes\n"
        "  the change the container's content; 'h5bento view drop' forgets it.\n",
        path);
  else
    out.print("{}: {}\n", path, view_text(survey));
  if (notes)
    for (const auto& note : *notes) out.print("  not shown: {}\n", note);
  return state == ViewState::kEdited ? ExitStatus::kFound : ExitStatus::kDone;
}

Result<ExitStatus> build(Output& out, const std::string& path) {
  BENTO_TRY(check_is_container(path));
  BENTO_TRY(start_hdf5());
  BENTO_ASSIGN(const Notes notes,
               or_refusal(vol::rebuild_view(path, {}, vol::MissingView::kFails), path));
  report(out, path, notes,
         is_joined_container(path) ? "the native view has a group for each file"
                                   : "the native view shows what is committed");
  return ExitStatus::kDone;
}

Result<ExitStatus> drop(Output& out, const std::string& path) {
  BENTO_TRY(check_is_container(path));
  BENTO_TRY(start_hdf5());
  BENTO_ASSIGN(const Notes notes, or_refusal(vol::drop_edited_view(path), path));
  if (is_joined_container(path)) {
    out.answer() = {{"file", path}, {"native_view", "none"}, {"notes", notes}};
    out.print("{}: the native view is gone; the files of the processes are as they were\n", path);
    return ExitStatus::kDone;
  }
  report(out, path, notes, "changes by other programs are dropped; the native view is built anew");
  return ExitStatus::kDone;
}

Result<ExitStatus> take_over(Output& out, const std::string& path, bool anyway) {
  BENTO_TRY(check_is_container(path));
  BENTO_TRY(start_hdf5());
  auto taken =
      vol::take_over_view(path, anyway ? vol::TakeOver::kAnyway : vol::TakeOver::kIfChanged);
  if (!taken && !anyway && taken.error().code == Code::kInvalidArgument)
    taken.error().text += "; if one wrote values in place, --force takes them over";
  BENTO_ASSIGN(const Notes given_up, or_refusal(std::move(taken), path));
  for (const auto& note : given_up) out.note(note);
  report(out, path, {}, "what other programs changed is the container's content now");
  return ExitStatus::kDone;
}

using Work = Result<ExitStatus> (*)(Output& out, const std::string& path);

void add_one(Tool& tool, Command& view, const char* name, const char* description, Work work,
             const char* details = "") {
  const auto path = std::make_shared<std::string>();
  tool.add_below(
          view, name, description, [path, work](Output& out) { return work(out, *path); }, details)
      .argument("FILE", *path, "the container: its first physical file");
}

}  // namespace

void add_view(Tool& tool) {
  Command view = tool.add_group("view", "The native view, which HDF5 without h5bento reads");
  add_one(tool, view, "status", "Is there a view, and did another program change the file?",
          status);
  add_one(tool, view, "build", "Build the view of what is committed", build);
  add_one(tool, view, "drop", "Forget what other programs changed, and build the view anew", drop,
          "Refused if a program overwrote data in place: only take-over can keep that.");
  const auto path = std::make_shared<std::string>();
  const auto anyway = std::make_shared<bool>(false);
  tool.add_below(
          view, "take-over", "Make what other programs changed the container's content",
          [path, anyway](Output& out) { return take_over(out, *path, *anyway); },
          "Writes a new container beside the old one and renames it; earlier steps are gone then.")
      .argument("FILE", *path, "the container: its first physical file")
      .flag(
          "--force", *anyway,
          "also if the metadata are as h5bento wrote them: takes over values that were changed in "
          "place, which no longer have their checksum; or if the view is older than what was "
          "committed, which is given up");
}

}  // namespace bento::tools
