// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The calls of h5bento.h that need no HDF5.
#include <algorithm>
#include <ctime>
#include <thread>

#include "core/offline/export_fti.hpp"
#include "core/offline/survey.hpp"
#include "core/offline/verify_container.hpp"
#include "library/c_edge.hpp"
#include "library/handles.hpp"
#include "library/report.hpp"

using namespace bento;
using namespace bento::library;

namespace {

std::uint64_t now_in_ns() {
  std::timespec now{};
  std::timespec_get(&now, TIME_UTC);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

extern "C" {

h5bento_status h5bento_is_container(const char* path, int* yes) {
  return guarded_call([&]() -> Status {
    BENTO_TRY(check_given(path, yes));
    *yes = 0;
    const Status found = check_is_container(path);
    *yes = found ? 1 : 0;
    // What is no container is an answer; what cannot be read is none.
    const bool other = !found && (found.error().code == Code::kInvalidArgument ||
                                  found.error().code == Code::kCorrupt);
    return other ? Status{} : found;
  });
}

h5bento_status h5bento_summarize(const char* path, h5bento_summary* summary) {
  return guarded_call([&]() -> Status {
    BENTO_TRY(check_given(path, summary));
    *summary = {};
    BENTO_ASSIGN(const Survey survey, Survey::open(path));
    summary->newest_step = survey.root().step;
    summary->oldest_step = survey.root().oldest;
    summary->ranks = survey.plan().ranks();
    summary->files = survey.plan().files();
    for (const auto& file : survey.files()) {
      summary->apparent_bytes += file.apparent;
      summary->allocated_bytes += file.allocated;
    }
    summary->closed = survey.closed() && survey.writing() == Writing::kNobody ? 1 : 0;
    summary->being_written = survey.writing() == Writing::kNow ? 1 : 0;
    if (!survey.problems().empty()) return fail(Code::kCorrupt, survey.problems().front());
    return {};
  });
}

h5bento_status h5bento_verify(const char* path, unsigned jobs, h5bento_report** report) {
  return guarded_call([&]() -> Status {
    BENTO_TRY(check_given(path, report));
    *report = nullptr;
    VerifyOptions options;
    options.jobs = jobs != 0 ? jobs : std::max(1U, std::thread::hardware_concurrency());
    BENTO_ASSIGN(const ContainerVerdict verdict, verify_container(path, options));
    auto made = std::make_unique<h5bento_report>();
    fill(*made, verdict);
    *report = made.release();
    return {};
  });
}

h5bento_status h5bento_export_fti(const char* path, const char* folder, h5bento_fti form,
                                  int32_t checkpoint, uint64_t* files) {
  return guarded_call([&]() -> Status {
    BENTO_TRY(check_given(path, folder));
    if (form != H5BENTO_FTI_1_1 && form != H5BENTO_FTI_1_6)
      return fail(Code::kInvalidArgument, "form is neither H5BENTO_FTI_1_1 nor H5BENTO_FTI_1_6");
    BENTO_TRY(check_is_container(path));
    ExportFtiOptions options;
    options.layout = form == H5BENTO_FTI_1_1 ? fti::Layout::kV11 : fti::Layout::kV16;
    options.ckpt_id = checkpoint;
    options.timestamp_ns = now_in_ns();
    BENTO_ASSIGN(const auto written, export_fti(path, folder, options));
    if (files != nullptr) *files = written.size();
    return {};
  });
}

h5bento_status h5bento_view_status(const char* path, h5bento_view* view) {
  return guarded_call([&]() -> Status {
    BENTO_TRY(check_given(path, view));
    BENTO_ASSIGN(Survey survey, Survey::open(path));
    BENTO_ASSIGN(const ViewState state, survey.examined_view());
    *view = state == ViewState::kNone    ? H5BENTO_VIEW_NONE
            : state == ViewState::kThere ? H5BENTO_VIEW_THERE
                                         : H5BENTO_VIEW_EDITED;
    return {};
  });
}

// --- reports -------------------------------------------------------------------------------------

int h5bento_report_sound(const h5bento_report* report) {
  return report != nullptr && report->sound ? 1 : 0;
}
uint64_t h5bento_report_step(const h5bento_report* report) {
  return report == nullptr ? 0 : report->step;
}
uint64_t h5bento_report_damage(const h5bento_report* report) {
  return report == nullptr ? 0 : report->count;
}
size_t h5bento_report_count(const h5bento_report* report) {
  return report == nullptr ? 0 : report->damage.size();
}
const char* h5bento_report_text(const h5bento_report* report, size_t i) {
  return i < h5bento_report_count(report) ? report->damage[i].text.c_str() : "";
}
const char* h5bento_report_file(const h5bento_report* report, size_t i) {
  return i < h5bento_report_count(report) ? report->damage[i].file.c_str() : "";
}
uint64_t h5bento_report_offset(const h5bento_report* report, size_t i) {
  return i < h5bento_report_count(report) ? report->damage[i].offset : H5BENTO_UNKNOWN;
}
uint64_t h5bento_report_task(const h5bento_report* report, size_t i) {
  return i < h5bento_report_count(report) ? report->damage[i].task : H5BENTO_UNKNOWN;
}
uint64_t h5bento_report_dataset(const h5bento_report* report, size_t i) {
  return i < h5bento_report_count(report) ? report->damage[i].dataset : H5BENTO_UNKNOWN;
}
uint64_t h5bento_report_dataset_step(const h5bento_report* report, size_t i) {
  return i < h5bento_report_count(report) ? report->damage[i].step : H5BENTO_UNKNOWN;
}
size_t h5bento_report_notes(const h5bento_report* report) {
  return report == nullptr ? 0 : report->notes.size();
}
const char* h5bento_report_note(const h5bento_report* report, size_t i) {
  return i < h5bento_report_notes(report) ? report->notes[i].c_str() : "";
}
void h5bento_report_free(h5bento_report* report) {
  delete report;
}
}
