// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/index.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "core/records/box_tree.hpp"
#include "core/records/resolve.hpp"

namespace bento {

// Columns, since a record as a struct would take 600 bytes for its 32 possible dimensions.
struct Index::PerDataset {
  struct Meta {
    Order order;
    Location where;
    std::uint64_t stored_bytes;
    Hash128 hash;
    std::uint32_t filter_mask;
    std::uint32_t header_distance;
    Encoding encoding;
  };

  DatasetDeclaration declaration;
  std::vector<Meta> meta;
  std::vector<std::uint64_t> stored;   ///< per record: rank starts, rank counts, as written
  std::vector<std::uint64_t> visible;  ///< the same after clipping
  /// Changes of extent by ascending collective count: each holds the smallest extent from its count
  /// on, so that one look clips a record however often the extent changed.
  std::vector<std::pair<std::uint64_t, Dims>> clips;
  mutable BoxTree tree;  ///< over the first tree.size() visible boxes

  [[nodiscard]] unsigned rank() const { return declaration.rank; }
  [[nodiscard]] std::size_t stride() const { return std::size_t{2} * rank(); }

  [[nodiscard]] Box box_at(const std::vector<std::uint64_t>& corners, std::size_t at) const {
    const std::span<const std::uint64_t> all(corners);
    return {Dims(all.subspan(at * stride(), rank())),
            Dims(all.subspan(at * stride() + rank(), rank()))};
  }
  void put_box(std::vector<std::uint64_t>& corners, std::size_t at, const Box& box) const {
    for (unsigned d = 0; d < rank(); ++d) {
      corners[at * stride() + d] = box.start[d];
      corners[at * stride() + rank() + d] = box.count[d];
    }
  }

  static std::uint64_t count_of(const std::pair<std::uint64_t, Dims>& clip) { return clip.first; }

  void add_clip(const ExtentEvent& event) {
    auto at = std::ranges::upper_bound(clips, event.collective, {}, count_of);
    Dims smallest = event.extent;
    for (unsigned d = 0; at != clips.end() && d < rank(); ++d)
      smallest[d] = std::min(smallest[d], at->second[d]);
    at = clips.insert(at, {event.collective, smallest});
    // Those before are no larger than those behind: the first that stays ends it.
    while (at != clips.begin()) {
      --at;
      bool changed = false;
      for (unsigned d = 0; d < rank(); ++d) {
        changed = changed || event.extent[d] < at->second[d];
        at->second[d] = std::min(at->second[d], event.extent[d]);
      }
      if (!changed) return;
    }
  }

  [[nodiscard]] Box clipped(const Box& box, std::uint64_t collective) const {
    const auto later = std::ranges::upper_bound(clips, collective, {}, count_of);
    return later == clips.end() ? box : intersect(box, Box::whole(later->second));
  }

  void put(std::size_t at, const Record& record) {
    meta[at] = {record.order,       record.where,           record.stored_bytes, record.hash,
                record.filter_mask, record.header_distance, record.encoding};
    put_box(stored, at, record.box);
    put_box(visible, at, clipped(record.box, record.order.collective));
  }

  [[nodiscard]] std::vector<std::size_t> candidates(const Box& selection) const {
    if (rank() == 0) {  // a scalar's records all are the same element
      std::vector<std::size_t> all(meta.size());
      std::iota(all.begin(), all.end(), std::size_t{0});
      return all;
    }
    // A tail of new records is looked through one by one until it is worth a new tree.
    constexpr std::size_t kTail = 64;
    if (meta.size() - tree.size() > kTail + tree.size() / 4)
      tree.build(visible, rank(), meta.size());
    std::vector<std::size_t> found;
    tree.find(visible, selection, found);
    for (std::size_t i = tree.size(); i < meta.size(); ++i)
      if (corner_overlaps(&visible[i * stride()], selection)) found.push_back(i);
    return found;
  }
};

Index::Index() = default;
Index::~Index() = default;
Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&&) noexcept = default;

void Index::declare(const DatasetDeclaration& dataset) {
  auto entry = std::make_unique<PerDataset>();
  entry->declaration = dataset;
  datasets_[dataset.number] = std::move(entry);
}

const DatasetDeclaration* Index::find(DatasetNumber dataset) const {
  const auto found = datasets_.find(dataset);
  return found == datasets_.end() ? nullptr : &found->second->declaration;
}

// A commit clears what was filled since the one before, and looks at nothing else.
Index::PerDataset& Index::changed(PerDataset& entry) {
  if (entry.meta.empty() && entry.clips.empty()) filled_.push_back(entry.declaration.number);
  return entry;
}

void Index::remove(DatasetNumber dataset) {
  datasets_.erase(dataset);
}

Result<std::size_t> Index::add(const Record& record) {
  const auto found = datasets_.find(record.dataset);
  if (found == datasets_.end())
    return fail(Code::kCorrupt, fmt::format("index: a record of dataset {}, which is not declared",
                                            record.dataset));
  PerDataset& entry = *found->second;
  if (record.box.rank() != entry.rank())
    return fail(Code::kCorrupt,
                fmt::format("index: a record with {} dimensions in dataset {}, which has {}",
                            record.box.rank(), record.dataset, entry.rank()));
  const std::size_t at = changed(entry).meta.size();
  entry.meta.emplace_back();
  entry.stored.resize(entry.stored.size() + entry.stride());
  entry.visible.resize(entry.visible.size() + entry.stride());
  entry.put(at, record);
  return at;
}

Result<std::size_t> Index::add_part(const Record& record, const Box& part) {
  BENTO_ASSIGN(const std::size_t at, add(record));
  PerDataset& entry = *datasets_.at(record.dataset);
  entry.put_box(entry.visible, at, entry.clipped(part, record.order.collective));
  return at;
}

void Index::replace(DatasetNumber dataset, std::size_t position, const Record& record) {
  PerDataset& entry = *datasets_.at(dataset);
  const Box before = entry.box_at(entry.visible, position);
  entry.put(position, record);
  if (position < entry.tree.size() && !(entry.box_at(entry.visible, position) == before))
    entry.tree.clear();
}

Record Index::record(DatasetNumber dataset, std::size_t position) const {
  const PerDataset& entry = *datasets_.at(dataset);
  const auto& meta = entry.meta[position];
  Record record;
  record.dataset = dataset;
  record.box = entry.box_at(entry.stored, position);
  record.order = meta.order;
  record.where = meta.where;
  record.stored_bytes = meta.stored_bytes;
  record.hash = meta.hash;
  record.encoding = meta.encoding;
  record.filter_mask = meta.filter_mask;
  record.header_distance = meta.header_distance;
  return record;
}

const Location& Index::where(DatasetNumber dataset, std::size_t position) const {
  return datasets_.at(dataset)->meta[position].where;
}

Order Index::order(DatasetNumber dataset, std::size_t position) const {
  return datasets_.at(dataset)->meta[position].order;
}

std::size_t Index::size(DatasetNumber dataset) const {
  const auto found = datasets_.find(dataset);
  return found == datasets_.end() ? 0 : found->second->meta.size();
}

bool Index::untouched(DatasetNumber dataset) const {
  const auto found = datasets_.find(dataset);
  return found != datasets_.end() && found->second->meta.empty() && found->second->clips.empty();
}

std::span<const std::uint64_t> Index::visible_corners(DatasetNumber dataset) const {
  return datasets_.at(dataset)->visible;
}

void Index::erase_if(DatasetNumber dataset, const std::function<bool(const Record&)>& drop) {
  PerDataset& entry = *datasets_.at(dataset);
  std::vector<Record> kept;
  for (std::size_t i = 0; i < entry.meta.size(); ++i) {
    const Record one = record(dataset, i);
    if (!drop(one)) kept.push_back(one);
  }
  entry.tree.clear();
  entry.meta.resize(kept.size());
  entry.stored.resize(kept.size() * entry.stride());
  entry.visible.resize(kept.size() * entry.stride());
  for (std::size_t i = 0; i < kept.size(); ++i) entry.put(i, kept[i]);
}

Status Index::clip(const ExtentEvent& event) {
  const auto found = datasets_.find(event.dataset);
  if (found == datasets_.end())
    return fail(Code::kCorrupt,
                fmt::format("index: a change of extent of dataset {}, which is not declared",
                            event.dataset));
  PerDataset& entry = *found->second;
  if (event.extent.rank() != entry.rank())
    return fail(Code::kCorrupt,
                fmt::format("index: an extent of {} dimensions for dataset {}, which has {}",
                            event.extent.rank(), event.dataset, entry.rank()));
  changed(entry).add_clip(event);
  entry.tree.clear();
  for (std::size_t i = 0; i < entry.meta.size(); ++i)
    entry.put_box(entry.visible, i,
                  entry.clipped(entry.box_at(entry.visible, i), entry.meta[i].order.collective));
  return {};
}

void Index::clear_records() {
  for (const DatasetNumber number : filled_) {
    const auto found = datasets_.find(number);
    if (found == datasets_.end()) continue;
    PerDataset& entry = *found->second;
    entry.meta.clear();
    entry.stored.clear();
    entry.visible.clear();
    entry.clips.clear();
    entry.tree.clear();
  }
  filled_.clear();
}

std::optional<Dims> Index::clip_of(DatasetNumber dataset) const {
  const auto found = datasets_.find(dataset);
  if (found == datasets_.end() || found->second->clips.empty()) return std::nullopt;
  return found->second->clips.front().second;
}

Result<Lookup> Index::find(DatasetNumber dataset, const Box& selection) const {
  Lookup out;
  std::vector<Candidate> found;
  BENTO_TRY(candidates(dataset, selection, found));
  if (selection.empty()) return out;
  QueryBudget budget;
  BENTO_TRY(resolve_latest(selection, found, budget, out));
  return out;
}

Status Index::candidates(DatasetNumber dataset, const Box& selection,
                         std::vector<Candidate>& out) const {
  if (selection.empty()) return {};
  const auto found = datasets_.find(dataset);
  if (found == datasets_.end())
    return fail(Code::kCorrupt, fmt::format("index: dataset {} is not declared", dataset));
  const PerDataset& entry = *found->second;
  if (selection.rank() != entry.rank())
    return fail(Code::kInvalidArgument,
                fmt::format("a selection of {} dimensions in dataset {}, which has {}",
                            selection.rank(), dataset, entry.rank()));
  for (const std::size_t at : entry.candidates(selection))
    out.push_back({at, entry.meta[at].order, entry.box_at(entry.visible, at)});
  return {};
}

std::vector<DatasetNumber> Index::datasets() const {
  std::vector<DatasetNumber> numbers;
  numbers.reserve(datasets_.size());
  for (const auto& [number, entry] : datasets_) numbers.push_back(number);
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace bento
