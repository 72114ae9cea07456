// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/irregular_source.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/geometry/runs.hpp"
#include "hdf5/data/selection.hpp"
#include "hdf5/data/spaces.hpp"

namespace bento::vol {

namespace {

/// Consecutive elements by their places in the order of a selection.
struct Places {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// Elements that follow each other in the mapping's order and in that of what is wanted.
struct Stretch {
  std::uint64_t in_mapping = 0;
  std::uint64_t in_wanted = 0;
  std::uint64_t count = 0;
};

SpaceHandle run_of(std::uint64_t elements) {
  const hsize_t length = elements;
  SpaceHandle run(H5Screate_simple(1, &length, nullptr));
  const hsize_t zero = 0;
  if (run.valid() &&
      H5Sselect_hyperslab(run.get(), H5S_SELECT_SET, &zero, nullptr, &length, nullptr) < 0)
    run.reset();
  return run;
}

/// Where in the order of `space` the elements are that `chosen` has, too.
Result<std::vector<Places>> places_in(hid_t space, hid_t chosen) {
  const auto all = static_cast<std::uint64_t>(H5Sget_select_npoints(space));
  const SpaceHandle run = run_of(all);
  const SpaceHandle found(H5Sselect_project_intersection(space, run.get(), chosen));
  const hssize_t elements = H5Sget_select_npoints(found.get());
  if (elements < 0) return fail(Code::kInternal, "a virtual mapping cannot be intersected");
  std::vector<Places> places;
  if (elements == 0) return places;
  const hssize_t blocks = H5Sget_select_hyper_nblocks(found.get());
  std::vector<hsize_t> corners(2 * static_cast<std::size_t>(std::max<hssize_t>(blocks, 0)));
  if (blocks <= 0 ||
      H5Sget_select_hyper_blocklist(found.get(), 0, corners.size() / 2, corners.data()) < 0)
    return fail(Code::kInternal, "the places of a virtual mapping are unreadable");
  std::uint64_t end = 0;
  std::uint64_t counted = 0;
  for (std::size_t i = 0; i < corners.size(); i += 2) {
    if (corners[i] < end || corners[i + 1] < corners[i] || corners[i + 1] >= all)
      return fail(Code::kInternal, "the places of a virtual mapping are in no order");
    places.push_back({corners[i], corners[i + 1] - corners[i] + 1});
    end = corners[i + 1] + 1;
    counted += places.back().count;
  }
  if (counted != static_cast<std::uint64_t>(elements))
    return fail(Code::kInternal, "the places of a virtual mapping are not counted rightly");
  return places;
}

/// The n-th element of one list is the n-th of the other.
Result<std::vector<Stretch>> side_by_side(std::vector<Places> mapping, std::vector<Places> wanted) {
  std::vector<Stretch> stretches;
  std::size_t m = 0;
  std::size_t w = 0;
  while (m < mapping.size() && w < wanted.size()) {
    const std::uint64_t count = std::min(mapping[m].count, wanted[w].count);
    stretches.push_back({mapping[m].first, wanted[w].first, count});
    for (Places* const done : {&mapping[m], &wanted[w]}) {
      done->first += count;
      done->count -= count;
    }
    if (mapping[m].count == 0) ++m;
    if (wanted[w].count == 0) ++w;
  }
  if (m < mapping.size() || w < wanted.size())
    return fail(Code::kInternal, "a virtual mapping has other elements than are wanted of it");
  return stretches;
}

/// What of a row of the source, whose first element is number `first` of the mapping, is wanted.
void add_wanted(const Dims& start, std::uint64_t first, std::uint64_t length,
                const std::vector<Stretch>& stretches, std::vector<Run>& runs) {
  auto at = std::upper_bound(
      stretches.begin(), stretches.end(), first,
      [](std::uint64_t place, const Stretch& each) { return place < each.in_mapping; });
  if (at != stretches.begin()) --at;
  for (; at != stretches.end() && at->in_mapping < first + length; ++at) {
    const std::uint64_t begin = std::max(first, at->in_mapping);
    const std::uint64_t end = std::min(first + length, at->in_mapping + at->count);
    if (begin >= end) continue;
    Run run{start, end - begin, at->in_wanted + (begin - at->in_mapping)};
    run.start[start.rank() - 1] += begin - first;
    runs.push_back(run);
  }
}

std::vector<Run> wanted_runs(const SelectionShape& there, const std::vector<Stretch>& stretches) {
  std::vector<Run> runs;
  for (const RunBox& rows : there.runs) {
    const unsigned last = rows.box.rank() - 1;
    for (std::size_t i = 0; i < rows.rows.size(); ++i) {
      Dims start = rows.box.start;
      std::uint64_t rest = i;
      for (unsigned d = last; d-- > 0;) {
        start[d] += rest % rows.box.count[d];
        rest /= rows.box.count[d];
      }
      add_wanted(start, rows.rows[i], rows.box.count[last], stretches, runs);
    }
  }
  std::sort(runs.begin(), runs.end(),
            [](const Run& a, const Run& b) { return a.packed < b.packed; });
  return runs;
}

/// Do the rows lie at equal distances in the order of what is wanted?
bool equally_spaced(const RunBox& box) {
  for (std::size_t i = 2; i < box.rows.size(); ++i)
    if (box.rows[i] - box.rows[i - 1] != box.rows[1] - box.rows[0]) return false;
  return true;
}

/// The same box as boxes whose rows do.
std::vector<RunBox> regular_boxes(const RunBox& box) {
  if (equally_spaced(box)) return {box};
  std::vector<RunBox> boxes;
  const unsigned last = box.box.rank() - 1;
  for (std::size_t i = 0; i < box.rows.size(); ++i) {
    RunBox row{box.box, {box.rows[i]}};
    std::uint64_t rest = i;
    for (unsigned d = last; d-- > 0;) {
      row.box.start[d] += rest % box.box.count[d];
      row.box.count[d] = 1;
      rest /= box.box.count[d];
    }
    boxes.push_back(std::move(row));
  }
  return boxes;
}

class PartMaker {
 public:
  explicit PartMaker(const MappedSelections& selections)
      : selections_(selections),
        run_(run_of(static_cast<std::uint64_t>(H5Sget_select_npoints(selections.wanted)))) {}

  Status make(const RunBox& box, const RegularPartVisitor& visit) {
    const unsigned rank = box.box.rank();
    SpaceHandle source(H5Scopy(selections_.there));
    if (!source.valid()) return fail(Code::kInternal, "a virtual source cannot be copied");
    BENTO_TRY(select_box(source.get(), box.box));
    const hsize_t start = box.rows.front();
    const hsize_t count = box.rows.size();
    const hsize_t length = box.box.count[rank - 1];
    const hsize_t stride = count > 1 ? box.rows[1] - box.rows[0] : length;
    const SpaceHandle places(H5Scopy(run_.get()));
    if (!places.valid() ||
        H5Sselect_hyperslab(places.get(), H5S_SELECT_SET, &start, &stride, &count, &length) < 0)
      return fail(Code::kInternal, "places of a virtual mapping cannot be selected");
    SpaceHandle memory(
        H5Sselect_project_intersection(run_.get(), selections_.memory, places.get()));
    if (H5Sget_select_npoints(memory.get()) != H5Sget_select_npoints(source.get()))
      return fail(Code::kInternal, "a part of a virtual source cannot be projected onto memory");
    return visit(std::move(memory), std::move(source));
  }

 private:
  const MappedSelections& selections_;
  SpaceHandle run_;
};

}  // namespace

Status for_each_regular_part(const MappedSelections& selections, const RegularPartVisitor& visit) {
  BENTO_ASSIGN(auto in_mapping, places_in(selections.elements, selections.wanted));
  BENTO_ASSIGN(auto in_wanted, places_in(selections.wanted, selections.elements));
  BENTO_ASSIGN(const auto stretches, side_by_side(std::move(in_mapping), std::move(in_wanted)));
  BENTO_ASSIGN(const SelectionShape there, shape_of(selections.there));
  const std::vector<Run> runs = wanted_runs(there, stretches);
  PartMaker maker(selections);
  for (const RunBox& merged : merge_runs(runs))
    for (const RunBox& box : regular_boxes(merged)) BENTO_TRY(maker.make(box, visit));
  return {};
}

}  // namespace bento::vol
