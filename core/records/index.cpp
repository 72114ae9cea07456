// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/index.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/growing_array.hpp"
#include "core/geometry/row_major_join.hpp"
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
  GrowingArray<Meta> meta;
  std::vector<std::uint64_t> stored;  ///< per record: rank starts, rank counts, as written
  /// The same after clipping. Empty while that is the same for all records.
  std::vector<std::uint64_t> clipped_corners;
  /// Changes of extent by ascending collective count: each holds the smallest extent from its count
  /// on, so that one look clips a record however often the extent changed.
  std::vector<std::pair<std::uint64_t, Dims>> clips;
  /// Over the first of the visible boxes; null if over none. Few datasets have so many records.
  mutable std::unique_ptr<BoxTree> tree;
  mutable std::size_t looked_through = 0;  ///< boxes that are not in the tree, in all questions

  [[nodiscard]] unsigned rank() const { return declaration.rank; }
  [[nodiscard]] std::size_t stride() const { return std::size_t{2} * rank(); }
  [[nodiscard]] const std::vector<std::uint64_t>& visible() const {
    return clipped_corners.empty() ? stored : clipped_corners;
  }
  [[nodiscard]] std::size_t in_tree() const { return tree ? tree->size() : 0; }

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
  void put_visible(std::size_t at, const Box& box) {
    if (clipped_corners.empty()) {
      if (box == box_at(stored, at)) return;
      clipped_corners = stored;
    }
    put_box(clipped_corners, at, box);
  }
  /// Room for so many records; those that are added are put() next.
  void resize(std::size_t records) {
    meta.resize(records);
    stored.resize(records * stride());
    if (!clipped_corners.empty()) clipped_corners.resize(stored.size());
  }
  void clear() {
    meta.clear();
    stored.clear();
    clipped_corners.clear();
    tree.reset();
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

  /// Does what is seen of a record reach beyond this extent?
  [[nodiscard]] bool reaches_beyond(std::size_t at, const Dims& extent) const {
    const std::uint64_t* const corners = &visible()[at * stride()];
    for (unsigned d = 0; d < rank(); ++d)
      if (corners[d] + corners[rank() + d] > extent[d]) return true;
    return false;
  }

  void put(std::size_t at, const Record& record) {
    meta[at] = {record.order,       record.where,           record.stored_bytes, record.hash,
                record.filter_mask, record.header_distance, record.encoding};
    put_box(stored, at, record.box);
    put_visible(at, clips.empty() ? record.box : clipped(record.box, record.order.collective));
  }

  [[nodiscard]] std::vector<std::size_t> candidates(const Box& selection) const {
    if (rank() == 0) {  // a scalar's records all are the same element
      std::vector<std::size_t> all(meta.size());
      std::iota(all.begin(), all.end(), std::size_t{0});
      return all;
    }
    // A tail of new records is looked through one by one until it is worth a new tree: it is long,
    // or was looked through so often that a tree would have cost less.
    constexpr std::size_t kTail = 64;
    constexpr std::size_t kTreeCost = 16;
    const std::size_t tail = meta.size() - in_tree();
    looked_through += tail;
    if (tail > kTail &&
        (tail > kTail + in_tree() / 4 || looked_through > kTreeCost * meta.size())) {
      if (!tree) tree = std::make_unique<BoxTree>();
      tree->build(visible(), rank(), meta.size());
      looked_through = 0;
    }
    std::vector<std::size_t> found;
    if (tree) tree->find(visible(), selection, found);
    for (std::size_t i = in_tree(); i < meta.size(); ++i)
      if (corner_overlaps(&visible()[i * stride()], selection)) found.push_back(i);
    return found;
  }
};

Index::Index() = default;
Index::~Index() = default;
Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&&) noexcept = default;

// As std::map::at(): an exception for who asks for what is not there.
const Index::PerDataset& Index::at(DatasetNumber dataset) const {
  if (const PerDataset* const found = datasets_.find(dataset)) return *found;
  throw std::out_of_range("index: a dataset that is not declared");
}
Index::PerDataset& Index::at(DatasetNumber dataset) {
  return const_cast<PerDataset&>(std::as_const(*this).at(dataset));
}

void Index::declare(const DatasetDeclaration& dataset) {
  datasets_.erase(dataset.number);
  datasets_[dataset.number].declaration = dataset;
}

const DatasetDeclaration* Index::find(DatasetNumber dataset) const {
  const PerDataset* const found = datasets_.find(dataset);
  return found == nullptr ? nullptr : &found->declaration;
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
  PerDataset* const entry = datasets_.find(record.dataset);
  if (entry == nullptr)
    return fail(Code::kCorrupt, fmt::format("index: a record of dataset {}, which is not declared",
                                            record.dataset));
  if (record.box.rank() != entry->rank())
    return fail(Code::kCorrupt,
                fmt::format("index: a record with {} dimensions in dataset {}, which has {}",
                            record.box.rank(), record.dataset, entry->rank()));
  const std::size_t at = changed(*entry).meta.size();
  entry->resize(at + 1);
  entry->put(at, record);
  return at;
}

Result<std::size_t> Index::add_part(const Record& record, const Box& part) {
  BENTO_ASSIGN(const std::size_t position, add(record));
  PerDataset& entry = at(record.dataset);
  entry.put_visible(position, entry.clipped(part, record.order.collective));
  return position;
}

void Index::replace(DatasetNumber dataset, std::size_t position, const Record& record) {
  PerDataset& entry = at(dataset);
  if (position >= entry.in_tree()) {
    entry.put(position, record);
    return;
  }
  const Box before = entry.box_at(entry.visible(), position);
  entry.put(position, record);
  if (!(entry.box_at(entry.visible(), position) == before)) entry.tree.reset();
}

std::optional<unsigned> Index::joins(std::size_t position, const Record& by) const {
  const PerDataset& entry = at(by.dataset);
  const PerDataset::Meta& meta = entry.meta[position];
  if (meta.encoding != Encoding::kPlain || meta.order.collective != by.order.collective)
    return std::nullopt;
  const auto corners = std::span<const std::uint64_t>(entry.stored)
                           .subspan(position * entry.stride(), entry.stride());
  return row_major_join(corners.first(entry.rank()), corners.last(entry.rank()), by.box);
}

void Index::grow(std::size_t position, const Record& by, unsigned dimension, std::uint64_t bytes) {
  PerDataset& entry = at(by.dataset);
  PerDataset::Meta& meta = entry.meta[position];
  entry.stored[position * entry.stride() + entry.rank() + dimension] += by.box.count[dimension];
  meta.stored_bytes += bytes;
  if (!entry.clips.empty() || !entry.clipped_corners.empty())
    entry.put_visible(position,
                      entry.clipped(entry.box_at(entry.stored, position), meta.order.collective));
  if (position < entry.in_tree()) entry.tree.reset();
}

Record Index::record(DatasetNumber dataset, std::size_t position) const {
  const PerDataset& entry = at(dataset);
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
  return at(dataset).meta[position].where;
}

void Index::move(DatasetNumber dataset, std::size_t position, const Location& to) {
  at(dataset).meta[position].where = to;
}

Order Index::order(DatasetNumber dataset, std::size_t position) const {
  return at(dataset).meta[position].order;
}

bool Index::sees_all_of(DatasetNumber dataset, std::size_t position) const {
  const PerDataset& entry = at(dataset);
  if (entry.clipped_corners.empty()) return true;
  const auto stored = entry.stored.begin() + static_cast<std::ptrdiff_t>(position * entry.stride());
  const auto seen =
      entry.clipped_corners.begin() + static_cast<std::ptrdiff_t>(position * entry.stride());
  return std::equal(stored, stored + static_cast<std::ptrdiff_t>(entry.stride()), seen);
}

void Index::hide(DatasetNumber dataset, std::size_t position) {
  PerDataset& entry = at(dataset);
  entry.meta[position].order = {};
  const std::size_t counts = position * entry.stride() + entry.rank();
  for (auto* const corners : {&entry.stored, &entry.clipped_corners})
    if (!corners->empty()) std::fill_n(&(*corners)[counts], entry.rank(), 0);
  if (position < entry.in_tree()) entry.tree.reset();
}

bool Index::is_hidden(DatasetNumber dataset, std::size_t position) const {
  const PerDataset& entry = at(dataset);
  return entry.rank() != 0 && entry.stored[position * entry.stride() + entry.rank()] == 0;
}

std::size_t Index::size(DatasetNumber dataset) const {
  const PerDataset* const found = datasets_.find(dataset);
  return found == nullptr ? 0 : found->meta.size();
}

bool Index::untouched(DatasetNumber dataset) const {
  const PerDataset* const found = datasets_.find(dataset);
  return found != nullptr && found->meta.empty() && found->clips.empty();
}

std::span<const std::uint64_t> Index::visible_corners(DatasetNumber dataset) const {
  return at(dataset).visible();
}

void Index::erase_if(DatasetNumber dataset, const std::function<bool(const Record&)>& drop) {
  PerDataset& entry = at(dataset);
  std::vector<Record> kept;
  for (std::size_t i = 0; i < entry.meta.size(); ++i) {
    const Record one = record(dataset, i);
    if (!drop(one)) kept.push_back(one);
  }
  entry.tree.reset();
  entry.resize(kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i) entry.put(i, kept[i]);
}

Status Index::clip(const ExtentEvent& event) {
  PerDataset* const entry = datasets_.find(event.dataset);
  if (entry == nullptr)
    return fail(Code::kCorrupt,
                fmt::format("index: a change of extent of dataset {}, which is not declared",
                            event.dataset));
  if (event.extent.rank() != entry->rank())
    return fail(Code::kCorrupt,
                fmt::format("index: an extent of {} dimensions for dataset {}, which has {}",
                            event.extent.rank(), event.dataset, entry->rank()));
  changed(*entry).add_clip(event);
  if (entry->rank() == 0) return {};
  bool cut = false;
  for (std::size_t i = 0; i < entry->meta.size(); ++i) {
    if (entry->meta[i].order.collective >= event.collective ||
        !entry->reaches_beyond(i, event.extent))
      continue;
    entry->put_visible(i, intersect(entry->box_at(entry->visible(), i), Box::whole(event.extent)));
    cut = true;
  }
  if (cut) entry->tree.reset();
  return {};
}

void Index::clear_records() {
  for (const DatasetNumber number : filled_) {
    PerDataset* const entry = datasets_.find(number);
    if (entry == nullptr) continue;
    entry->clear();
    entry->clips.clear();
  }
  filled_.clear();
}

std::optional<Dims> Index::clip_of(DatasetNumber dataset) const {
  const PerDataset* const found = datasets_.find(dataset);
  if (found == nullptr || found->clips.empty()) return std::nullopt;
  return found->clips.front().second;
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

Result<Lookup> Index::find_and_hide(DatasetNumber dataset, const Box& selection) {
  constexpr std::size_t kFew = 64;         // candidates that are not worth it
  constexpr std::size_t kMostKept = 4096;  // some 2 MiB, which would be taken and given back
  Lookup out;
  std::vector<Candidate> found = std::move(found_);
  found.clear();
  BENTO_TRY(candidates(dataset, selection, found));
  if (selection.empty()) return out;
  QueryBudget budget;
  BENTO_TRY(resolve_latest(selection, found, budget, out));
  if (found.size() > kFew) {
    std::vector<std::size_t> seen;
    seen.reserve(out.pieces.size());
    for (const Piece& piece : out.pieces) seen.push_back(piece.record);
    std::ranges::sort(seen);
    PerDataset& entry = at(dataset);
    for (const Candidate& one : found)
      if (contains(selection, one.visible) && !std::ranges::binary_search(seen, one.record))
        entry.put_visible(one.record, Box{one.visible.start, Dims(one.visible.rank())});
  }
  if (found.capacity() <= kMostKept) found_ = std::move(found);
  return out;
}

Status Index::candidates(DatasetNumber dataset, const Box& selection,
                         std::vector<Candidate>& out) const {
  if (selection.empty()) return {};
  const PerDataset* const entry = datasets_.find(dataset);
  if (entry == nullptr)
    return fail(Code::kCorrupt, fmt::format("index: dataset {} is not declared", dataset));
  if (selection.rank() != entry->rank())
    return fail(Code::kInvalidArgument,
                fmt::format("a selection of {} dimensions in dataset {}, which has {}",
                            selection.rank(), dataset, entry->rank()));
  for (const std::size_t found : entry->candidates(selection))
    out.push_back({found, entry->meta[found].order, entry->box_at(entry->visible(), found)});
  return {};
}

std::vector<DatasetNumber> Index::datasets() const {
  return datasets_.numbers();
}

}  // namespace bento
