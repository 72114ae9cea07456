// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// `h5bento info FILE`: what a container is, how large, and who writes it now.
#include <memory>
#include <numeric>

#include "core/offline/survey.hpp"
#include "tools/command.hpp"
#include "tools/joined_text.hpp"
#include "tools/survey_text.hpp"
#include "tools/units.hpp"

namespace bento::tools {

namespace {

constexpr std::size_t kFilesShown = 8;

void line(Output& out, const char* what, const std::string& text) {
  out.print("  {:<15}{}\n", what, text);
}

std::string chunk_text(const Survey& survey) {
  const auto groups = survey.plan().groups();
  std::string text;
  constexpr std::size_t kShown = 4;
  for (std::size_t i = 0; i < groups.size() && i < kShown; ++i)
    text += (i == 0 ? "" : ", ") + bytes_text(groups[i].chunk_bytes);
  if (groups.size() > kShown) text += ", ...";
  return text;
}

std::string steps_text(const Root& root) {
  if (root.step == 0) return "none committed yet";
  if (root.oldest == root.step)
    return fmt::format("{} committed, the newest can be read", count_text(root.step));
  return fmt::format("{} committed, those from {} to {} can be read", count_text(root.step),
                     root.oldest, root.step);
}

void settings(Output& out, const Survey& survey) {
  const Root& root = survey.root();
  const bool md5 = root.record_hash() == HashKind::kMd5;
  line(out, "chunk size",
       survey.committed() ? chunk_text(survey) : "not known before the first commit");
  line(out, "checksums", md5 ? "MD5" : "XXH3-128");
  out.answer()["settings"] = {{"files", root.groups.front().files},
                              {"chunk_bytes", root.groups.front().chunk_bytes},
                              {"fs_block_bytes", root.fs_block},
                              {"checksum", md5 ? "md5" : "xxh3"}};
}

void files(Output& out, const Survey& survey) {
  Json& list = out.answer()["files"] = Json::array();
  for (std::size_t i = 0; i < survey.files().size(); ++i) {
    const SurveyedFile& file = survey.files()[i];
    const FilePlan& plan = survey.plan().file(static_cast<std::uint32_t>(i));
    list.push_back({{"path", file.path},
                    {"found", file.found},
                    {"apparent_bytes", file.apparent},
                    {"allocated_bytes", file.allocated},
                    {"writers", plan.writers},
                    {"chunk_bytes", plan.chunk_bytes}});
    if (survey.files().size() == 1 || i >= kFilesShown) continue;
    out.print("    {}: {}, {}\n", file.path,
              file.found ? bytes_text(file.apparent) : std::string("missing"),
              count_text(plan.writers, "writer"));
  }
  if (survey.files().size() > kFilesShown)
    out.print("    ... and {} more\n", count_text(survey.files().size() - kFilesShown));
}

Status sizes(Output& out, Survey& survey) {
  const auto sum = [&](std::uint64_t SurveyedFile::* member) {
    return std::accumulate(
        survey.files().begin(), survey.files().end(), std::uint64_t{0},
        [&](std::uint64_t all, const SurveyedFile& file) { return all + file.*member; });
  };
  const std::uint64_t apparent = sum(&SurveyedFile::apparent);
  const std::uint64_t allocated = sum(&SurveyedFile::allocated);
  Json& json =
      out.answer()["sizes"] = {{"apparent_bytes", apparent}, {"allocated_bytes", allocated}};
  line(out, "size",
       fmt::format("{} apparent, {} allocated", bytes_text(apparent), bytes_text(allocated)));
  if (!survey.committed()) return {};
  BENTO_ASSIGN(const SpaceUse use, survey.space());
  BENTO_ASSIGN(std::uint64_t catalogue, survey.catalogue_in_use());
  catalogue = std::min(catalogue, survey.root().catalogue_end);  // whole pages count
  json["stream_bytes"] = use.used;
  json["data_bytes"] = use.live;
  json["older_steps_bytes"] = use.older_counted ? Json(use.older) : Json(nullptr);
  json["dead_bytes"] = use.dead;
  json["catalogue_bytes"] = survey.root().catalogue_end;
  json["catalogue_in_use_bytes"] = catalogue;
  line(out, "  data",
       fmt::format("{} in {} of {}", bytes_text(use.live), count_text(use.records, "record"),
                   count_text(use.datasets, "dataset")));
  if (!use.older_counted)
    line(out, "  older steps", "not counted, so many are kept: part of what is called dead");
  else if (use.older > 0)
    line(out, "  older steps", bytes_text(use.older) + " that only they show");
  line(out, "  dead", bytes_text(use.dead) + ": overwritten records, and headers and fillers");
  line(out, "  catalogue",
       fmt::format("{}, of which {} are in use", bytes_text(survey.root().catalogue_end),
                   bytes_text(catalogue)));
  out.answer()["records"] = use.records;
  out.answer()["datasets"] = use.datasets;
  return {};
}

Result<ExitStatus> info(Output& out, const std::string& path) {
  if (is_joined_container(path)) return joined_info(out, path);
  BENTO_ASSIGN(Survey survey, Survey::open(path));
  const Root& root = survey.root();
  out.print("{}: h5bento container, {}\n", path, state_text(survey));
  out.answer() = {{"file", path},
                  {"format_version", root.version},
                  {"state", state_name(survey)},
                  {"ranks", survey.plan().ranks()},
                  {"writers", survey.plan().writers()},
                  {"newest_step", root.step},
                  {"oldest_step", root.oldest},
                  {"native_view", view_name(survey.view())},
                  {"holder", survey.holder().empty() ? Json(nullptr) : Json(survey.holder())}};
  line(out, "written by",
       fmt::format("{}, {}", count_text(survey.plan().ranks(), "rank"),
                   count_text(survey.plan().files(), "physical file")));
  files(out, survey);
  line(out, "steps", steps_text(root));
  settings(out, survey);
  line(out, "writer", writer_text(survey));
  line(out, "native view", view_text(survey));
  const Status sized = sizes(out, survey);
  std::vector<std::string> problems = survey.problems();
  if (!sized) problems.push_back(sized.error().text);
  print_problems(out, problems);
  return problems.empty() ? ExitStatus::kDone : ExitStatus::kFound;
}

}  // namespace

void add_info(Tool& tool) {
  const auto path = std::make_shared<std::string>();
  tool.add("info", "Say what a container is, how large, and who writes it",
           [path](Output& out) { return info(out, *path); })
      .argument("FILE", *path, "the container: its first physical file");
}

}  // namespace bento::tools
