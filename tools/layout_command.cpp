// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// `h5bento layout FILE [--svg OUT]`: which task has how much of which chunk.
#include <filesystem>
#include <memory>
#include <span>

#include "core/io/new_file.hpp"
#include "tools/command.hpp"
#include "tools/layout_table.hpp"
#include "tools/survey_text.hpp"
#include "tools/units.hpp"

namespace bento::tools {

namespace {

struct Options {
  std::string path;
  std::string svg;
};

constexpr std::size_t kTextRows = 32;
constexpr std::size_t kSvgRows = 64;
constexpr std::size_t kSvgCells = 256;
constexpr std::uint32_t kFilesShown = 8;

std::string bar(const LayoutRow& row, std::size_t width) {
  std::string text;
  for (const auto& cell : row.cells) {
    const CellParts parts = cell_parts(cell, width);
    std::string part = std::string(parts.live, '#') + std::string(parts.older, 'o') +
                       std::string(parts.catalogue, 'c') + std::string(parts.dead, 'x');
    part.resize(width, '.');
    // Chunks are told apart where there is room for it.
    if (!text.empty() && width > 2) text += '|';
    text += part;
  }
  return text;
}

void print(Output& out, const LayoutTable& table, std::size_t columns) {
  if (table.blocks == 0) {
    out.print("{}: {}, nothing committed yet\n", table.path, count_text(table.tasks, "task"));
    return;
  }
  out.print("{}: {} of {} in each of {}{}\n", table.path, count_text(table.tasks, "chunk"),
            bytes_text(table.chunk_bytes), count_text(table.blocks, "block"),
            table.blocks_per_cell > 1
                ? fmt::format(", {} in a column", count_text(table.blocks_per_cell))
                : std::string());
  std::size_t label = 0;
  for (const auto& row : table.rows) label = std::max(label, row.label.size());
  constexpr std::size_t kFigures = 18;  // "  12.3 MiB 100.0%"
  const std::size_t room = columns - std::min(columns, label + kFigures + 6);
  for (const auto& row : table.rows) {
    const std::size_t cells = row.cells.size();
    std::size_t width = std::max<std::size_t>(room / std::max<std::size_t>(cells, 1), 1);
    if (width > 3) --width;  // the line between two chunks
    const LayoutCell sum = row.sum();
    const double part =
        sum.space == 0 ? 0 : 100 * static_cast<double>(sum.used()) / static_cast<double>(sum.space);
    out.print("  {:<{}} [{}] {:>8} {:5.1f}%\n", row.label, label, bar(row, width),
              bytes_text(sum.used()), part);
  }
}

Json to_json(const Survey& survey, const SpaceUse& use, std::uint32_t index) {
  const FilePlan& plan = survey.plan().file(index);
  Json tasks = Json::array();
  std::uint64_t blocks = 0;
  for (std::uint32_t i = 0; i < plan.writers; ++i) {
    const std::uint32_t writer = plan.first_writer + i;
    Json chunks = Json::array();
    if (writer < use.chunks.size())
      for (const ChunkUse& chunk : use.chunks[writer])
        chunks.push_back({{"used_bytes", chunk.used},
                          {"data_bytes", chunk.live},
                          {"older_steps_bytes", chunk.older},
                          {"dead_bytes", chunk.used - chunk.live - chunk.older}});
    blocks = std::max<std::uint64_t>(blocks, chunks.size());
    tasks.push_back({{"task", writer},
                     {"rank", survey.plan().rank_of_writer(writer)},
                     {"local_task", i},
                     {"chunks", chunks}});
  }
  return {{"path", survey.files()[index].path},
          {"data_start", plan.data_start()},
          {"chunk_bytes", plan.chunk_bytes},
          {"block_bytes", plan.block_bytes()},
          {"blocks", blocks},
          {"catalogue_bytes", index == 0 ? Json(survey.root().catalogue_end) : Json(nullptr)},
          {"tasks", tasks}};
}

/// An older picture may be replaced, and nothing else.
Status check_is_picture(const std::string& name) {
  const auto file = open_posix_file(name, OpenMode::kRead);
  if (!file) return file.error().code == Code::kNotFound ? Status{} : fail(file.error());
  constexpr std::size_t kLooked = 100;
  std::string begin(kLooked, '\0');
  BENTO_ASSIGN(const std::size_t read,
               (*file)->read_some(0, std::as_writable_bytes(std::span(begin))));
  begin.resize(read);
  const bool is_picture = begin.starts_with('<') && begin.find("<svg") != std::string::npos;
  if (begin.empty() || is_picture) return {};
  return fail(Code::kExists, fmt::format("'{}' is there already, and is no picture", name));
}

Status write_svg(const Survey& survey, const SpaceUse& use, const Options& options) {
  std::vector<LayoutTable> tables;
  const std::uint32_t files = std::min(survey.plan().files(), kFilesShown);
  for (std::uint32_t index = 0; index < files; ++index)
    tables.push_back(layout_table(survey, use, index, kSvgRows, kSvgCells));
  const std::string text =
      layout_svg(fmt::format("{}: step {}, {} of data, {} dead", options.path, survey.root().step,
                             bytes_text(use.live), bytes_text(use.dead)),
                 tables);
  for (const auto& part : survey.files()) {
    std::error_code missing;
    if (std::filesystem::equivalent(part.path, options.svg, missing))
      return fail(Code::kExists, fmt::format("'{}' is a file of the container itself: the picture "
                                             "would take its place",
                                             options.svg));
  }
  BENTO_TRY(check_is_picture(options.svg));
  BENTO_ASSIGN(const auto made, NewFile::create(options.svg, true));
  BENTO_TRY(made->file().write_at(0, std::as_bytes(std::span(text))));
  return made->publish();
}

Result<ExitStatus> layout(Output& out, const Options& options) {
  BENTO_ASSIGN(Survey survey, Survey::open(options.path));
  BENTO_ASSIGN(const SpaceUse use, survey.space());
  out.answer() = {{"file", options.path},           {"state", state_name(survey)},
                  {"step", survey.root().step},     {"data_bytes", use.live},
                  {"older_steps_bytes", use.older}, {"dead_bytes", use.dead}};
  Json& list = out.answer()["files"] = Json::array();
  const std::size_t columns = screen_columns();
  for (std::uint32_t index = 0; index < survey.plan().files(); ++index) {
    if (out.json()) list.push_back(to_json(survey, use, index));
    if (out.json() || index >= kFilesShown) continue;
    print(out, layout_table(survey, use, index, kTextRows, columns / 2), columns);
  }
  if (survey.plan().files() > kFilesShown)
    out.print("... and {} more (--json lists all)\n",
              count_text(survey.plan().files() - kFilesShown, "physical file"));
  constexpr std::size_t kLegendColumns = 104;
  out.print(
      "#: newest step{}   x: dead, headers, fillers   c: catalogue{}.: free, a hole in the file\n",
      use.older > 0 ? "   o: older steps" : "", columns < kLegendColumns ? "\n" : "   ");
  print_problems(out, survey.problems());
  if (!options.svg.empty()) {
    BENTO_TRY(write_svg(survey, use, options));
    out.print("the picture is in {}\n", options.svg);
    out.answer()["svg"] = options.svg;
  }
  return survey.problems().empty() ? ExitStatus::kDone : ExitStatus::kFound;
}

}  // namespace

void add_layout(Tool& tool) {
  const auto options = std::make_shared<Options>();
  tool.add("layout", "Show blocks, chunks and how full each task's are",
           [options](Output& out) { return layout(out, *options); })
      .option("--svg", "OUT", options->svg, "also write a picture to this file")
      .argument("FILE", options->path, "the container: its first physical file");
}

}  // namespace bento::tools
