// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/offline/damaged_records.hpp"

#include <algorithm>
#include <vector>

#include "core/catalogue/committed_index.hpp"
#include "core/fti/v11.hpp"

namespace bento {

namespace {

/// By writer; positions of records of one step come in any order.
class Places {
 public:
  explicit Places(std::span<const DamagedPlace> places) : all_(places.begin(), places.end()) {
    std::erase_if(all_, [](const DamagedPlace& place) { return !place.finding->writer; });
    std::stable_sort(all_.begin(), all_.end(), [](const auto& a, const auto& b) {
      return *a.finding->writer < *b.finding->writer;
    });
  }

  /// A record of a newer step goes first: it is the one that is seen.
  void name(const Record& record, AbsoluteStep step) {
    const Position data = record.where.offset;
    const Position header = data - std::min<std::uint64_t>(data, record.header_distance);
    const auto first = std::lower_bound(
        all_.begin(), all_.end(), record.where.task,
        [](const DamagedPlace& a, std::uint32_t writer) { return *a.finding->writer < writer; });
    for (auto place = first; place != all_.end() && *place->finding->writer == record.where.task;
         ++place) {
      const bool in_data = data < place->end && place->begin < data + record.stored_bytes;
      const bool in_header = record.header_distance != 0 && header < place->end &&
                             place->begin < header + fti::v11::kDbVarBytes;
      if (!in_data && !in_header) continue;
      ContainerFinding& finding = *place->finding;
      if (finding.step && *finding.step >= step.number()) continue;
      finding.dataset = record.dataset;
      finding.step = step.number();
    }
  }

 private:
  std::vector<DamagedPlace> all_;
};

}  // namespace

Status name_records(Survey& survey, std::span<const DamagedPlace> damaged) {
  Places places(damaged);
  BENTO_ASSIGN(const CommittedIndex committed,
               CommittedIndex::open(survey.first(), survey.plan().file(0), survey.root().index));
  if (committed.empty()) return {};
  BENTO_ASSIGN(const auto datasets, committed.steps().datasets());
  for (const auto& dataset : datasets) {
    BENTO_ASSIGN(const auto steps, committed.steps().stored_steps(dataset.number));
    for (const AbsoluteStep step : steps) {
      BENTO_ASSIGN(const auto segment, committed.steps().segment(dataset.number, step));
      if (!segment) continue;
      QueryBudget budget;
      BENTO_TRY(segment->find(committed.source(), nullptr, budget,
                              [&](std::uint64_t, const Record& record) -> Status {
                                places.name(record, step);
                                return {};
                              }));
    }
  }
  return {};
}

}  // namespace bento
