// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/catalogue/catalogue_space.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/base/checked.hpp"

namespace bento {

std::vector<CatalogueRange> joined(std::vector<CatalogueRange> ranges) {
  std::ranges::sort(ranges, {}, &CatalogueRange::begin);
  std::vector<CatalogueRange> out;
  for (const auto& range : ranges) {
    if (out.empty() || range.begin > out.back().end)
      out.push_back(range);
    else
      out.back().end = std::max(out.back().end, range.end);
  }
  return out;
}

void CatalogueSpace::begin_behind(Position position) {
  end_ = std::max(end_, position);
}

Position CatalogueSpace::take(std::uint64_t bytes) {
  taken_ += bytes;
  if (const auto hole = holes_.first(bytes); hole) {
    holes_.take(*hole, {hole->begin, hole->begin + bytes});
    return hole->begin;
  }
  const Position at = end_;
  end_ += bytes;
  return at;
}

namespace {
/// The first place from `from` on for `bytes` inside one chunk.
Position fit(Position from, std::uint64_t bytes, std::uint64_t chunk_bytes) {
  const Position at = round_up(from, 8);
  return at % chunk_bytes + bytes > chunk_bytes ? round_up(at, chunk_bytes) : at;
}
}  // namespace

Position CatalogueSpace::take_in_chunk(std::uint64_t bytes, std::uint64_t chunk_bytes) {
  for (auto hole = holes_.first(bytes); hole; hole = holes_.first(bytes, hole->end)) {
    const Position at = fit(hole->begin, bytes, chunk_bytes);
    if (at + bytes > hole->end) continue;
    taken_ += bytes;
    holes_.take(*hole, {at, at + bytes});
    return at;
  }
  return take_behind(bytes, chunk_bytes);
}

Position CatalogueSpace::take_behind(std::uint64_t bytes, std::uint64_t chunk_bytes) {
  taken_ += bytes;
  const Position at = fit(end_, bytes, chunk_bytes);
  end_ = at + bytes;
  return at;
}

std::uint64_t CatalogueSpace::take_chunks(std::uint64_t count, std::uint64_t chunk_bytes,
                                          const std::function<bool(std::uint64_t)>& usable) {
  taken_ += count * chunk_bytes;
  // The first run of `count` usable chunks from `first` on that ends at or before `end`.
  const auto run_in = [&](std::uint64_t first, std::uint64_t end) -> std::optional<std::uint64_t> {
    std::uint64_t seen = 0;
    for (std::uint64_t chunk = first; chunk < end && seen < count; ++chunk)
      seen = usable(chunk) ? seen + 1 : (first = chunk + 1, 0);
    if (seen < count) return std::nullopt;
    return first;
  };
  const std::uint64_t bytes = count * chunk_bytes;
  for (auto hole = holes_.first(bytes); hole; hole = holes_.first(bytes, hole->end)) {
    const auto found =
        run_in(round_up(hole->begin, chunk_bytes) / chunk_bytes, hole->end / chunk_bytes);
    if (!found) continue;
    holes_.take(*hole, {*found * chunk_bytes, *found * chunk_bytes + bytes});
    return *found;
  }
  const std::uint64_t first =
      *run_in(round_up(end_, chunk_bytes) / chunk_bytes, std::numeric_limits<std::uint64_t>::max());
  const CatalogueRange skipped{end_, first * chunk_bytes};
  if (skipped.begin < skipped.end) holes_.add(skipped);
  end_ = (first + count) * chunk_bytes;
  return first;
}

void CatalogueSpace::give_back(CatalogueRange range) {
  if (range.begin >= range.end) return;
  taken_ -= std::min(taken_, range.end - range.begin);
  add_hole(range);
}

// What is free at the end is no hole.
void CatalogueSpace::add_hole(const CatalogueRange& range) {
  holes_.add(range);
  const auto last = holes_.last();
  if (last->end != end_) return;
  end_ = last->begin;
  holes_.take(*last, *last);
}

std::vector<CatalogueRange> CatalogueSpace::unused(std::vector<CatalogueRange> used) {
  const auto holes = holes_.all();
  used.insert(used.end(), holes.begin(), holes.end());
  std::sort(used.begin(), used.end(),
            [](const CatalogueRange& a, const CatalogueRange& b) { return a.begin < b.begin; });
  std::vector<CatalogueRange> found;
  Position at = 0;
  for (const auto& range : used) {
    if (at >= end_) break;
    if (range.begin > at) found.push_back({at, std::min(range.begin, end_)});
    at = std::max(at, range.end);
  }
  if (at < end_) found.push_back({at, end_});
  taken_ = 0;
  return found;
}

void CatalogueSpace::release(std::span<const CatalogueRange> ranges) {
  for (const auto& range : ranges) add_hole(range);
}

}  // namespace bento
