// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// `h5bento steps FILE [DATASET]`: the steps that can be read, and what each wrote.
#include <memory>

#include "core/base/printable.hpp"
#include "core/offline/survey.hpp"
#include "tools/command.hpp"
#include "tools/hdf5/start.hpp"
#include "vol/library/steps.hpp"

namespace bento::tools {

namespace {

struct Options {
  std::string path;
  std::string dataset;
};

Result<ExitStatus> file_steps(Output& out, const Options& options) {
  BENTO_ASSIGN(const auto steps, vol::list_steps(options.path));
  Json& list = out.answer()["steps"] = Json::array();
  if (!steps.empty()) out.print("{:>8}  {}\n", "step", "datasets that it wrote");
  for (const auto& step : steps) {
    Json& one = list.emplace_back(Json{{"step", step.step.number()}});
    Json& datasets = one["datasets"] = Json::array();
    std::string names;
    for (const auto& dataset : step.datasets) {
      datasets.push_back({{"number", dataset.number}, {"path", dataset.path}});
      names += fmt::format(" {}", dataset.path.empty()
                                      ? fmt::format("(deleted dataset {})", dataset.number)
                                      : dataset.path);
    }
    out.print("{:>8} {}\n", step.step.number(),
              names.empty() ? " (metadata only)" : printable(names));
  }
  return ExitStatus::kDone;
}

Result<ExitStatus> dataset_steps(Output& out, const Options& options) {
  BENTO_ASSIGN(const auto steps, vol::dataset_steps(options.path, options.dataset));
  Json& list = out.answer()["steps"] = Json::array();
  out.print("{:>8}  {:>8}\n", "relative", "absolute");
  for (const auto& step : steps) {
    list.push_back({{"relative", step.relative.number()}, {"absolute", step.absolute.number()}});
    out.print("{:>8}  {:>8}\n", step.relative.number(), step.absolute.number());
  }
  return ExitStatus::kDone;
}

Result<ExitStatus> steps(Output& out, const Options& options) {
  BENTO_TRY(check_is_container(options.path));
  BENTO_TRY(start_hdf5());
  return options.dataset.empty() ? file_steps(out, options) : dataset_steps(out, options);
}

}  // namespace

void add_steps(Tool& tool) {
  const auto options = std::make_shared<Options>();
  tool.add("steps", "List the steps that can be read, and what changed in each",
           [options](Output& out) { return steps(out, *options); })
      .argument("FILE", options->path, "the container")
      .optional_argument("DATASET", options->dataset,
                         "list the steps of this dataset, by its path");
}

}  // namespace bento::tools
