// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The calls of h5bento.h that need HDF5: handed on to libh5bento_hdf5.so.
#include <algorithm>

#include "core/offline/survey.hpp"
#include "library/c_edge.hpp"
#include "library/handles.hpp"

using namespace bento;
using namespace bento::library;

namespace {

/// Looks first whether it is a container at all: the answer needs no HDF5.
Result<const Hdf5Calls*> calls_for(const char* path) {
  BENTO_TRY(check_is_container(path));
  return hdf5_calls();
}

h5bento_status change_view(const char* path, Status (*Hdf5Calls::*work)(const std::string&)) {
  return guarded_call([&]() -> Status {
    BENTO_TRY(check_given(path));
    BENTO_ASSIGN(const Hdf5Calls* const calls, calls_for(path));
    return (calls->*work)(path);
  });
}

}  // namespace

extern "C" {

h5bento_status h5bento_steps_list(const char* path, h5bento_steps** steps) {
  return guarded_call([&]() -> Status {
    BENTO_TRY(check_given(path, steps));
    *steps = nullptr;
    BENTO_ASSIGN(const Hdf5Calls* const calls, calls_for(path));
    auto made = std::make_unique<h5bento_steps>();
    BENTO_TRY(calls->steps(path, *made));
    *steps = made.release();
    return {};
  });
}
size_t h5bento_steps_count(const h5bento_steps* steps) {
  return steps == nullptr ? 0 : steps->steps.size();
}
uint64_t h5bento_steps_number(const h5bento_steps* steps, size_t i) {
  return i < h5bento_steps_count(steps) ? steps->steps[i].number : H5BENTO_UNKNOWN;
}
size_t h5bento_steps_datasets(const h5bento_steps* steps, size_t i) {
  return i < h5bento_steps_count(steps) ? steps->steps[i].datasets.size() : 0;
}
const char* h5bento_steps_dataset(const h5bento_steps* steps, size_t i, size_t k) {
  return k < h5bento_steps_datasets(steps, i) ? steps->steps[i].datasets[k].c_str() : "";
}
void h5bento_steps_free(h5bento_steps* steps) {
  delete steps;
}

h5bento_status h5bento_dataset_steps(const char* path, const char* dataset, uint64_t* first,
                                     size_t* count, uint64_t* absolute, size_t room) {
  return guarded_call([&]() -> Status {
    BENTO_TRY(check_given(path, dataset, first, count));
    BENTO_ASSIGN(const Hdf5Calls* const calls, calls_for(path));
    std::vector<std::uint64_t> found;
    BENTO_TRY(calls->dataset_steps(path, dataset, *first, found));
    *count = found.size();
    if (absolute != nullptr) std::copy_n(found.begin(), std::min(room, found.size()), absolute);
    return {};
  });
}

h5bento_status h5bento_dataset_open(const char* path, const char* dataset, uint64_t relative_step,
                                    h5bento_dataset** opened) {
  return guarded_call([&]() -> Status {
    BENTO_TRY(check_given(path, dataset, opened));
    *opened = nullptr;
    BENTO_ASSIGN(const Hdf5Calls* const calls, calls_for(path));
    BENTO_ASSIGN(auto made, calls->open(path, dataset, relative_step));
    *opened = made.release();
    return {};
  });
}
uint64_t h5bento_dataset_step(const h5bento_dataset* dataset) {
  return dataset == nullptr ? H5BENTO_UNKNOWN : dataset->step;
}
unsigned h5bento_dataset_rank(const h5bento_dataset* dataset) {
  return dataset == nullptr ? 0 : static_cast<unsigned>(dataset->extent.size());
}
uint64_t h5bento_dataset_extent(const h5bento_dataset* dataset, unsigned dimension) {
  return dimension < h5bento_dataset_rank(dataset) ? dataset->extent[dimension] : 0;
}
size_t h5bento_dataset_element_bytes(const h5bento_dataset* dataset) {
  return dataset == nullptr ? 0 : dataset->element_bytes;
}
h5bento_status h5bento_dataset_read(const h5bento_dataset* dataset, const uint64_t* start,
                                    const uint64_t* count, void* to, size_t bytes) {
  return guarded_call([&]() -> Status {
    BENTO_TRY(check_given(dataset, to));
    if ((start == nullptr) != (count == nullptr))
      return fail(Code::kInvalidArgument, "start and count are given both, or none of them");
    return dataset->read(start, count, to, bytes);
  });
}
int64_t h5bento_dataset_hid(const h5bento_dataset* dataset) {
  return dataset == nullptr ? -1 : dataset->hid();
}
void h5bento_dataset_free(h5bento_dataset* dataset) {
  delete dataset;
}

h5bento_status h5bento_find(const char* path, const char* dataset, h5bento_number low,
                            h5bento_number high, const uint64_t* start, const uint64_t* count,
                            h5bento_boxes** boxes) {
  return guarded_call([&]() -> Status {
    BENTO_TRY(check_given(path, dataset, boxes));
    *boxes = nullptr;
    if ((start == nullptr) != (count == nullptr))
      return fail(Code::kInvalidArgument, "start and count are given both, or none of them");
    BENTO_ASSIGN(const Hdf5Calls* const calls, calls_for(path));
    auto made = std::make_unique<h5bento_boxes>();
    BENTO_TRY(calls->find(path, dataset, low, high, start, count, *made));
    *boxes = made.release();
    return {};
  });
}
size_t h5bento_boxes_count(const h5bento_boxes* boxes) {
  return boxes == nullptr ? 0 : boxes->starts.size();
}
unsigned h5bento_boxes_rank(const h5bento_boxes* boxes) {
  return boxes == nullptr ? 0 : boxes->rank;
}
uint64_t h5bento_boxes_start(const h5bento_boxes* boxes, size_t i, unsigned dimension) {
  return i < h5bento_boxes_count(boxes) && dimension < boxes->rank ? boxes->starts[i][dimension]
                                                                   : H5BENTO_UNKNOWN;
}
uint64_t h5bento_boxes_extent(const h5bento_boxes* boxes, size_t i, unsigned dimension) {
  return i < h5bento_boxes_count(boxes) && dimension < boxes->rank ? boxes->counts[i][dimension]
                                                                   : 0;
}
uint64_t h5bento_boxes_skipped(const h5bento_boxes* boxes) {
  return boxes == nullptr ? 0 : boxes->skipped;
}
void h5bento_boxes_free(h5bento_boxes* boxes) {
  delete boxes;
}

h5bento_status h5bento_recover(const char* path, h5bento_report** report) {
  return guarded_call([&]() -> Status {
    BENTO_TRY(check_given(path, report));
    *report = nullptr;
    BENTO_ASSIGN(const Hdf5Calls* const calls, calls_for(path));
    auto made = std::make_unique<h5bento_report>();
    BENTO_TRY(calls->recover(path, *made));
    *report = made.release();
    return {};
  });
}

h5bento_status h5bento_view_build(const char* path) {
  return change_view(path, &Hdf5Calls::view_build);
}
h5bento_status h5bento_view_drop(const char* path) {
  return change_view(path, &Hdf5Calls::view_drop);
}
h5bento_status h5bento_view_take_over(const char* path) {
  return change_view(path, &Hdf5Calls::view_take_over);
}
}
