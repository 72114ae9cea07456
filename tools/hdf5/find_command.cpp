// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// `h5bento find FILE DATASET --min A --max B`: where such values may be.
#include <algorithm>
#include <limits>
#include <memory>

#include "core/offline/survey.hpp"
#include "tools/command.hpp"
#include "tools/hdf5/start.hpp"
#include "tools/parse.hpp"
#include "tools/units.hpp"
#include "vol/library/steps.hpp"

namespace bento::tools {

namespace {

struct Options {
  std::string path;
  std::string dataset;
  std::string low;
  std::string high;
  std::string box;
};

constexpr std::size_t kShown = 100;

Result<vol::Number> bound(const std::string& text, double otherwise) {
  if (text.empty()) return vol::Number(otherwise);
  return parse_number(text);
}

Json to_json(const Box& box) {
  return {{"start", std::vector<std::uint64_t>(box.start.view().begin(), box.start.view().end())},
          {"count", std::vector<std::uint64_t>(box.count.view().begin(), box.count.view().end())}};
}

Result<ExitStatus> find(Output& out, const Options& options) {
  BENTO_TRY(check_is_container(options.path));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  BENTO_ASSIGN(const vol::Number low, bound(options.low, -kInfinity));
  BENTO_ASSIGN(const vol::Number high, bound(options.high, kInfinity));
  BENTO_TRY(start_hdf5());
  BENTO_ASSIGN(const Dims extent, vol::dataset_extent(options.path, options.dataset));
  Box box = Box::whole(extent);
  if (!options.box.empty()) {
    BENTO_ASSIGN(box, parse_box(options.box, extent));
  }
  BENTO_ASSIGN(vol::FoundRecords found,
               vol::find_records(options.path, options.dataset, box, low, high));
  std::ranges::sort(found.boxes, [](const Box& a, const Box& b) {
    return std::ranges::lexicographical_compare(a.start.view(), b.start.view());
  });
  out.answer() = {{"file", options.path},        {"dataset", options.dataset},
                  {"box", to_json(box)},         {"written_elements", found.written},
                  {"kept_elements", found.kept}, {"skipped_records", found.skipped}};
  Json& boxes = out.answer()["boxes"] = Json::array();
  for (const auto& one : found.boxes) boxes.push_back(to_json(one));
  out.print("{} of {} written elements are in records that may hold such values; {} ruled out\n",
            count_text(found.kept), count_text(found.written), count_text(found.skipped, "record"));
  for (std::size_t i = 0; i < found.boxes.size() && i < kShown; ++i)
    out.print("  {}\n", box_text(found.boxes[i]));
  if (found.boxes.size() > kShown)
    out.print("  ... and {} more (--json lists all)\n", count_text(found.boxes.size() - kShown));
  if (found.skipped == 0 && found.written > 0)
    out.print("(no record could be ruled out; those written without minmax=on never can)\n");
  return ExitStatus::kDone;
}

}  // namespace

void add_find(Tool& tool) {
  const auto options = std::make_shared<Options>();
  tool.add(
          "find", "Say where in a dataset such values may be, without reading data",
          [options](Output& out) { return find(out, *options); },
          "Uses the smallest and largest value of each record, which are kept with minmax=on. What "
          "is listed may\nhold such values; what is not listed does not, fill values of places "
          "that nobody wrote aside.")
      .argument("FILE", options->path, "the container: its first physical file")
      .argument("DATASET", options->dataset, "its path")
      .option("--min", "A", options->low, "smallest wanted value (default: any)")
      .option("--max", "B", options->high, "largest wanted value (default: any)")
      .option("--box", "BOX", options->box,
              "look only here: FROM:TO for each dimension, as in 0:10,5:20");
}

}  // namespace bento::tools
