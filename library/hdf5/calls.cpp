// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// libh5bento_hdf5.so: what libh5bento.so asks of HDF5.
#include <algorithm>

#include <fmt/format.h>
#include <hdf5.h>

#include "core/base/guarded.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "library/handles.hpp"
#include "library/report.hpp"
#include "vol/library/edited_view.hpp"
#include "vol/library/steps.hpp"

namespace bento::library {

namespace {

using namespace vol;

Status start() {
  return H5open() < 0 ? fail(Code::kInternal, "the HDF5 library cannot be started") : Status{};
}

/// Starts HDF5, keeps it quiet, and lets no exception out.
template <class Work>
Status with_hdf5(const Work& work) {
  return guarded([&]() -> Status {
    BENTO_TRY(start());
    const QuietErrors quiet;
    return work();
  });
}

Status steps(const std::string& path, h5bento_steps& into) {
  return with_hdf5([&]() -> Status {
    BENTO_ASSIGN(const auto found, list_steps(path));
    for (const auto& step : found) {
      auto& one = into.steps.emplace_back();
      one.number = step.step.number();
      for (const auto& dataset : step.datasets) one.datasets.push_back(dataset.path);
    }
    return {};
  });
}

Status steps_of_dataset(const std::string& path, const std::string& dataset, std::uint64_t& first,
                        std::vector<std::uint64_t>& absolute) {
  return with_hdf5([&]() -> Status {
    BENTO_ASSIGN(const auto found, vol::dataset_steps(path, dataset));
    first = found.empty() ? 0 : found.front().relative.number();
    for (const auto& step : found) absolute.push_back(step.absolute.number());
    return {};
  });
}

class OpenDataset final : public h5bento_dataset {
 public:
  OpenDataset(OpenedDataset opened, TypeHandle type)
      : opened_(std::move(opened)), type_(std::move(type)) {
    step = opened_.step.number();
    element_bytes = H5Tget_size(type_.get());
  }

  [[nodiscard]] std::int64_t hid() const override { return opened_.dataset.get(); }

  Status read(const std::uint64_t* start, const std::uint64_t* count, void* to,
              std::size_t bytes) const override {
    return with_hdf5([&]() -> Status {
      const SpaceHandle file(H5Dget_space(opened_.dataset.get()));
      std::vector<hsize_t> from(extent.size());
      std::vector<hsize_t> many(extent.begin(), extent.end());
      for (std::size_t d = 0; d < extent.size() && start != nullptr; ++d) {
        from[d] = start[d];
        many[d] = count[d];
        if (start[d] > extent[d] || count[d] > extent[d] - start[d])
          return fail(Code::kInvalidArgument,
                      fmt::format("{} elements from {} on leave the extent {} of dimension {}",
                                  count[d], start[d], extent[d], d));
      }
      const auto need = Dims(std::span<const std::uint64_t>(many.data(), many.size()));
      if (need.bytes(element_bytes) != bytes)
        return fail(Code::kInvalidArgument,
                    fmt::format("the box has {} bytes, and there is room for {}",
                                need.bytes(element_bytes), bytes));
      if (bytes == 0) return {};
      SpaceHandle memory;
      if (!extent.empty()) {
        memory = SpaceHandle(H5Screate_simple(static_cast<int>(many.size()), many.data(), nullptr));
        if (H5Sselect_hyperslab(file.get(), H5S_SELECT_SET, from.data(), nullptr, many.data(),
                                nullptr) < 0)
          return fail(Code::kInternal, innermost_error());
      }
      if (H5Dread(opened_.dataset.get(), type_.get(), extent.empty() ? H5S_ALL : memory.get(),
                  file.get(), H5P_DEFAULT, to) < 0)
        return fail(Code::kIo, innermost_error());
      return {};
    });
  }

 private:
  OpenedDataset opened_;
  TypeHandle type_;
};

Result<std::unique_ptr<h5bento_dataset>> open(const std::string& path, const std::string& dataset,
                                              std::uint64_t relative) {
  std::unique_ptr<h5bento_dataset> made;
  BENTO_TRY(with_hdf5([&]() -> Status {
    BENTO_ASSIGN(OpenedDataset opened, open_dataset_step(path, dataset, RelativeStep(relative)));
    const TypeHandle stored(H5Dget_type(opened.dataset.get()));
    TypeHandle type(H5Tget_native_type(stored.get(), H5T_DIR_ASCEND));
    const SpaceHandle space(H5Dget_space(opened.dataset.get()));
    const int rank = H5Sget_simple_extent_ndims(space.get());
    if (!type.valid() || rank < 0) return fail(Code::kInternal, innermost_error());
    std::vector<hsize_t> extent(static_cast<std::size_t>(rank));
    H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr);
    made = std::make_unique<OpenDataset>(std::move(opened), std::move(type));
    made->extent.assign(extent.begin(), extent.end());
    return {};
  }));
  return made;
}

Result<Number> number_of(const h5bento_number& number) {
  switch (number.kind) {
    case H5BENTO_INT64:
      return Number(number.value.i);
    case H5BENTO_UINT64:
      return Number(number.value.u);
    case H5BENTO_DOUBLE:
      return Number(number.value.d);
  }
  return fail(Code::kInvalidArgument, "the kind of a number is none of h5bento_kind");
}

Status find(const std::string& path, const std::string& dataset, h5bento_number low,
            h5bento_number high, const std::uint64_t* start, const std::uint64_t* count,
            h5bento_boxes& into) {
  return with_hdf5([&]() -> Status {
    BENTO_ASSIGN(const Dims extent, dataset_extent(path, dataset));
    BENTO_ASSIGN(const Number from, number_of(low));
    BENTO_ASSIGN(const Number to, number_of(high));
    Box box = Box::whole(extent);
    for (unsigned d = 0; d < extent.rank() && start != nullptr; ++d) {
      box.start[d] = start[d];
      box.count[d] = count[d];
    }
    BENTO_ASSIGN(const FoundRecords found, find_records(path, dataset, box, from, to));
    into.rank = extent.rank();
    into.skipped = found.skipped;
    for (const auto& one : found.boxes) {
      into.starts.emplace_back(one.start.view().begin(), one.start.view().end());
      into.counts.emplace_back(one.count.view().begin(), one.count.view().end());
    }
    return {};
  });
}

Status recover_it(const std::string& path, h5bento_report& into) {
  return with_hdf5([&]() -> Status {
    BENTO_ASSIGN(const RecoveryReport report, recover_container(path));
    fill(into, report.verdict);
    into.sound = report.sound();
    into.count += report.beyond_repair.size();
    for (const auto& spot : report.beyond_repair)
      into.damage.push_back({"a block's header cannot be rebuilt", spot.file, spot.address,
                             spot.writer, H5BENTO_UNKNOWN, H5BENTO_UNKNOWN});
    for (const auto& spot : report.rebuilt)
      into.notes.push_back(fmt::format("rebuilt the header of the block at byte {} of '{}'",
                                       spot.address, spot.file));
    for (const auto& spot : report.lost)
      into.notes.push_back(
          fmt::format("never committed: {} records of task {}, from byte {} of "
                      "'{}' on",
                      spot.records, spot.writer, spot.address, spot.file));
    for (const auto& file : report.left_over)
      into.notes.push_back(fmt::format("'{}' is left of a session that committed nothing", file));
    into.notes.insert(into.notes.end(), report.notes.begin(), report.notes.end());
    return {};
  });
}

Status build(const std::string& path) {
  return with_hdf5([&]() -> Status {
    BENTO_TRY(rebuild_view(path, {}, MissingView::kFails));
    return {};
  });
}

Status drop(const std::string& path) {
  return with_hdf5([&]() -> Status {
    BENTO_TRY(drop_edited_view(path));
    return {};
  });
}

Status take_over(const std::string& path) {
  return with_hdf5([&]() -> Status {
    BENTO_TRY(take_over_view(path));
    return {};
  });
}

constexpr Hdf5Calls kCalls{H5BENTO_VERSION, &steps, &steps_of_dataset, &open, &find, &recover_it,
                           &build,          &drop,  &take_over};

}  // namespace

}  // namespace bento::library

extern "C" __attribute__((visibility("default"))) const bento::library::Hdf5Calls*
h5bento_hdf5_calls() {
  return &bento::library::kCalls;
}
