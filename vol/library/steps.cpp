// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/library/steps.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/container/container.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "hdf5/data/selection.hpp"
#include "hdf5/skeleton/skeleton_copy.hpp"
#include "vol/file/file_context.hpp"
#include "vol/file/linked_datasets.hpp"
#include "vol/library/bento_list.hpp"

namespace bento::vol {

namespace {

Result<std::unique_ptr<Container>> open_to_ask(const std::string& path,
                                               std::optional<AbsoluteStep> step = {}) {
  ContainerOptions options;
  options.step = step;
  return Container::open(path, false, options, make_self_communicator());
}

/// Paths of the diverted datasets of the step that the container shows.
Result<std::map<DatasetNumber, std::string>> paths_of(Container& container) {
  BENTO_ASSIGN(const auto by_token, linked_datasets(container.path(), container.skeleton()));
  std::map<DatasetNumber, std::string> paths;
  numbers_of(container).for_each([&](const TokenBytes& token, DatasetNumber number) {
    if (const auto found = by_token.find(token); found != by_token.end())
      paths[number] = found->second;
  });
  return paths;
}

/// A dataset in the newest step, and a container to ask about it.
struct NewestDataset {
  std::unique_ptr<Container> container;
  DatasetNumber number = 0;
  H5O_token_t token{};
  Dims extent;
  ValueOrder order;
};

Result<NewestDataset> open_newest(const std::string& path, const std::string& dataset) {
  NewestDataset newest;
  BENTO_ASSIGN(newest.container, open_to_ask(path));
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  BENTO_ASSIGN(const FileHandle file, open_skeleton_copy(path, newest.container->skeleton()));
  H5O_info2_t root{};
  H5O_info2_t info{};
  if (H5Oget_info3(file.get(), &root, H5O_INFO_BASIC) < 0 ||
      H5Oget_info_by_name3(file.get(), dataset.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0 ||
      info.type != H5O_TYPE_DATASET || info.fileno != root.fileno)
    return fail(Code::kNotFound, fmt::format("'{}' is no dataset in '{}'", dataset, path));
  const auto numbers = numbers_of(*newest.container);
  const auto* const number = numbers.find(token_bytes(info.token));
  if (number == nullptr)
    return fail(Code::kInvalidArgument,
                fmt::format("the data of '{}' is in the embedded HDF5 image of '{}': no steps of "
                            "it are counted, and no values kept",
                            dataset, path));
  newest.number = *number;
  newest.token = info.token;
  const DatasetHandle opened(H5Dopen2(file.get(), dataset.c_str(), H5P_DEFAULT));
  const SpaceHandle space(H5Dget_space(opened.get()));
  const TypeHandle type(H5Dget_type(opened.get()));
  if (!space.valid() || !type.valid())
    return fail(Code::kInternal, fmt::format("'{}' cannot be opened", dataset));
  BENTO_ASSIGN(newest.extent, extent_of(space.get()));
  newest.order = ValueOrder(type.get());
  return newest;
}

Result<std::vector<DatasetStep>> steps_to_open(const NewestDataset& newest) {
  return read_of_one_step(*newest.container, [&]() -> Result<std::vector<DatasetStep>> {
    BENTO_ASSIGN(const CommittedIndex* const committed, newest.container->committed());
    BENTO_ASSIGN(const auto list, committed->steps().list_steps(newest.number));
    std::vector<DatasetStep> steps;
    for (std::size_t i = 0; i < list.steps.size(); ++i)
      steps.push_back({RelativeStep(list.first.number() + i), list.steps[i]});
    return steps;
  });
}

}  // namespace

// --- steps -------------------------------------------------------------------------------------

Result<std::vector<FileStep>> list_steps(const std::string& path) {
  BENTO_ASSIGN(const auto container, open_to_ask(path));
  BENTO_ASSIGN(auto steps, read_of_one_step(*container, [&]() -> Result<std::vector<FileStep>> {
                 BENTO_ASSIGN(const CommittedIndex* const committed, container->committed());
                 const StepIndex& index = committed->steps();
                 std::vector<FileStep> all;
                 BENTO_TRY(index.visit_steps([&](AbsoluteStep at, const StepInfo& info) -> Status {
                   FileStep step{at, {}};
                   for (const DatasetNumber number : info.datasets)
                     step.datasets.push_back({number, {}});
                   all.push_back(std::move(step));
                   return {};
                 }));
                 std::reverse(all.begin(), all.end());
                 return all;
               }));
  // Datasets keep their paths nearly always: an older skeleton is opened only for one that is gone.
  BENTO_ASSIGN(const auto newest, paths_of(*container));
  for (auto& step : steps) {
    std::optional<std::map<DatasetNumber, std::string>> then;
    for (auto& dataset : step.datasets) {
      const auto* paths = &newest;
      if (!newest.contains(dataset.number) && step.step != container->step()) {
        if (!then) {
          BENTO_ASSIGN(const auto older, open_to_ask(path, step.step));
          BENTO_ASSIGN(then, paths_of(*older));
        }
        paths = &*then;
      }
      if (const auto found = paths->find(dataset.number); found != paths->end())
        dataset.path = found->second;
    }
  }
  return steps;
}

Result<std::map<DatasetNumber, std::string>> dataset_paths(const std::string& path) {
  BENTO_ASSIGN(const auto container, open_to_ask(path));
  return paths_of(*container);
}

Result<Dims> dataset_extent(const std::string& path, const std::string& dataset) {
  BENTO_ASSIGN(const NewestDataset newest, open_newest(path, dataset));
  return newest.extent;
}

Result<std::vector<DatasetStep>> dataset_steps(const std::string& path,
                                               const std::string& dataset) {
  BENTO_ASSIGN(const NewestDataset newest, open_newest(path, dataset));
  return steps_to_open(newest);
}

Result<OpenedDataset> open_dataset_step(const std::string& path, const std::string& dataset,
                                        RelativeStep step) {
  BENTO_ASSIGN(const NewestDataset newest, open_newest(path, dataset));
  BENTO_ASSIGN(const auto steps, steps_to_open(newest));
  const auto found = std::find_if(steps.begin(), steps.end(),
                                  [&](const DatasetStep& at) { return at.relative == step; });
  if (found == steps.end()) {
    const std::string kept =
        steps.empty() ? std::string("it has none that are kept")
                      : fmt::format("those from {} to {} are kept", steps.front().relative.number(),
                                    steps.back().relative.number());
    return fail(Code::kNotFound, fmt::format("'{}' has no step {} of its own in '{}': {}", dataset,
                                             step.number(), path, kept));
  }
  OpenedDataset opened;
  opened.step = std::max(found->absolute, newest.container->oldest_step());
  BENTO_ASSIGN(const PlistHandle list, bento_list(fmt::format("step={}", opened.step.number())));
  const QuietErrors quiet;
  opened.file = FileHandle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, list.get()));
  // By its token, because its path may have been another one then.
  if (opened.file.valid())
    opened.dataset = DatasetHandle(H5Oopen_by_token(opened.file.get(), newest.token));
  if (!opened.dataset.valid())
    return fail(Code::kBusy, fmt::format("'{}' cannot be opened as of step {} of '{}': {}", dataset,
                                         opened.step.number(), path, innermost_error()));
  return opened;
}

// --- values ------------------------------------------------------------------------------------

namespace {

std::vector<bool> shown(const StepLookup& lookup) {
  std::vector<bool> seen(lookup.records.size());
  for (const auto& piece : lookup.pieces) seen[piece.record] = true;
  return seen;
}

Result<FoundRecords> find_in(CommittedIndex& index, DatasetNumber number, const Box& box,
                             const std::optional<ValueRange>& values) {
  FoundRecords out;
  BENTO_ASSIGN(const StepLookup all, index.look_up(number, box));
  const auto before = shown(all);
  out.skipped = static_cast<std::size_t>(std::count(before.begin(), before.end(), true));
  for (const auto& piece : all.pieces) out.written += piece.part.elements();
  if (!values) return out;
  BENTO_ASSIGN(StepLookup some, index.look_up(number, box, values));
  const auto after = shown(some);
  out.skipped -= static_cast<std::size_t>(std::count(after.begin(), after.end(), true));
  for (auto& piece : some.pieces) {
    out.kept += piece.part.elements();
    out.boxes.push_back(std::move(piece.part));
  }
  return out;
}

}  // namespace

Result<FoundRecords> find_records(const std::string& path, const std::string& dataset,
                                  const Box& box, const Number& low, const Number& high) {
  BENTO_ASSIGN(const NewestDataset newest, open_newest(path, dataset));
  if (box.rank() != newest.extent.rank() || !contains(Box::whole(newest.extent), box))
    return fail(Code::kInvalidArgument,
                fmt::format("a box that is not inside the extent of '{}'", dataset));
  const auto values = newest.order.between(low, high);
  return read_of_one_step(*newest.container, [&]() -> Result<FoundRecords> {
    BENTO_ASSIGN(CommittedIndex* const committed, newest.container->committed());
    return find_in(*committed, newest.number, box, values);
  });
}

}  // namespace bento::vol
