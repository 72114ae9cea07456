// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/mount/catalogue_text.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "core/base/printable.hpp"
#include "vol/library/steps.hpp"

namespace bento::tools {

namespace {

constexpr std::uint64_t kMostLines = 5000;

void put_steps(const Survey& survey, std::string& text) {
  text += "\nsteps that are kept, and the datasets that each wrote\n";
  const Root& root = survey.root();
  if (root.step - root.oldest >= kMostLines) {
    text += fmt::format("  {} to {}\n", root.oldest, root.step);
    return;
  }
  const auto steps = vol::list_steps(survey.path());
  if (!steps) {
    text += fmt::format("  cannot be read: {}\n", steps.error().text);
    return;
  }
  for (const auto& step : *steps) {
    std::string names;
    for (const auto& dataset : step.datasets)
      names += fmt::format(" {}", dataset.path.empty()
                                      ? fmt::format("(deleted dataset {})", dataset.number)
                                      : printable(dataset.path));
    text +=
        fmt::format("  {:>8} {}\n", step.step.number(), names.empty() ? " (metadata only)" : names);
  }
}

}  // namespace

std::string catalogue_text(const Survey& survey) {
  std::string text = fmt::format("container {}\n{}\n\nfiles, with bytes\n", survey.path(),
                                 survey.closed() ? "closed" : "being written, or not closed");
  std::uint64_t lines = 0;
  for (const auto& file : survey.files())
    if (++lines <= kMostLines)
      text += fmt::format("  {} {}{}\n", file.path, file.apparent, file.found ? "" : " (missing)");
  put_steps(survey, text);
  text += "\nstreams: rank, physical file, chunks begun, bytes\n";
  for (std::uint32_t writer = 0; writer < survey.fills().size(); ++writer) {
    if (writer == kMostLines) {
      text += fmt::format("  ... and {} more\n", survey.fills().size() - writer);
      break;
    }
    const ChunkFill& fill = survey.fills()[writer];
    text += fmt::format("  {:>8} {:>4} {:>6} {:>14}\n", writer, survey.plan().file_of(writer),
                        fill.size(), stream_bytes(fill));
  }
  for (const auto& problem : survey.problems()) text += fmt::format("problem: {}\n", problem);
  return text;
}

}  // namespace bento::tools
