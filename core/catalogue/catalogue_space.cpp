// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/catalogue/catalogue_space.hpp"

#include <algorithm>
#include <array>
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
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    if (hole->end - hole->begin < bytes) continue;
    const Position at = hole->begin;
    hole->begin += bytes;
    if (hole->begin == hole->end) holes_.erase(hole);
    return at;
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
  for (std::size_t i = 0; i < holes_.size(); ++i) {
    const CatalogueRange hole = holes_[i];
    const Position at = fit(hole.begin, bytes, chunk_bytes);
    if (at + bytes > hole.end) continue;
    taken_ += bytes;
    if (at == hole.begin) {
      holes_[i].begin = at + bytes;
      if (holes_[i].begin == hole.end)
        holes_.erase(holes_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      holes_[i].end = at;
      if (at + bytes < hole.end)
        holes_.insert(holes_.begin() + static_cast<std::ptrdiff_t>(i) + 1, {at + bytes, hole.end});
    }
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
  for (std::size_t i = 0; i < holes_.size(); ++i) {
    const CatalogueRange hole = holes_[i];
    const auto found =
        run_in(round_up(hole.begin, chunk_bytes) / chunk_bytes, hole.end / chunk_bytes);
    if (!found) continue;
    const CatalogueRange taken{*found * chunk_bytes, (*found + count) * chunk_bytes};
    const auto at = holes_.erase(holes_.begin() + static_cast<std::ptrdiff_t>(i));
    const std::array<CatalogueRange, 2> rest{{{hole.begin, taken.begin}, {taken.end, hole.end}}};
    std::vector<CatalogueRange> left;
    for (const auto& part : rest)
      if (part.begin < part.end) left.push_back(part);
    holes_.insert(at, left.begin(), left.end());
    return *found;
  }
  const std::uint64_t first =
      *run_in(round_up(end_, chunk_bytes) / chunk_bytes, std::numeric_limits<std::uint64_t>::max());
  const CatalogueRange skipped{end_, first * chunk_bytes};
  if (skipped.begin < skipped.end) {
    if (!holes_.empty() && holes_.back().end == skipped.begin)
      holes_.back().end = skipped.end;
    else
      holes_.push_back(skipped);
  }
  end_ = (first + count) * chunk_bytes;
  return first;
}

void CatalogueSpace::give_back(CatalogueRange range) {
  if (range.begin >= range.end) return;
  taken_ -= std::min(taken_, range.end - range.begin);
  add_hole(range);
}

// Holes never touch each other, nor the end.
void CatalogueSpace::add_hole(CatalogueRange range) {
  auto at =
      holes_.insert(std::ranges::lower_bound(holes_, range.end, {}, &CatalogueRange::begin), range);
  if (at + 1 != holes_.end() && (at + 1)->begin == at->end) {
    at->end = (at + 1)->end;
    holes_.erase(at + 1);
  }
  if (at != holes_.begin() && (at - 1)->end == at->begin) {
    (at - 1)->end = at->end;
    at = holes_.erase(at) - 1;
  }
  if (at->end != end_) return;
  end_ = at->begin;
  holes_.erase(at);
}

std::vector<CatalogueRange> CatalogueSpace::unused(std::vector<CatalogueRange> used) {
  used.insert(used.end(), holes_.begin(), holes_.end());
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
  holes_.insert(holes_.end(), ranges.begin(), ranges.end());
  std::ranges::sort(holes_, {}, &CatalogueRange::begin);
  std::size_t joined = 0;
  for (const auto& hole : holes_)
    if (joined != 0 && holes_[joined - 1].end == hole.begin)
      holes_[joined - 1].end = hole.end;
    else
      holes_[joined++] = hole;
  holes_.resize(joined);
  if (holes_.empty() || holes_.back().end != end_) return;
  end_ = holes_.back().begin;
  holes_.pop_back();
}

std::uint64_t CatalogueSpace::free_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& hole : holes_) bytes += hole.end - hole.begin;
  return bytes;
}

}  // namespace bento
