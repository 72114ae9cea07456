// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/block_reuse.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "core/records/box_tree.hpp"

namespace bento {

namespace {

constexpr std::size_t kFew = 64;

Hash128 hash_of(std::span<const std::uint64_t> numbers) {
  return hash128(std::as_bytes(numbers));
}

Hash128 hash_of(const Box& box) {
  std::vector<std::uint64_t> numbers;
  append_corners(numbers, box);
  return hash_of(numbers);
}

std::uint64_t sum_of(std::span<const std::uint64_t> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
}

/// One container, mostly behind a filler: how a large record lies in its block.
bool is_large(const StreamBlockShape& block) {
  return block.capacities.size() <= 2 && block.capacities.back() >= (64u << 10);
}

}  // namespace

void BlockReuse::FewRecords::add(const Box& box, const Place& place) {
  rank_ = box.rank();
  if (numbers_.empty()) numbers_.reserve(width());  // most datasets come to no more
  append_corners(numbers_, box);
  numbers_.push_back(place.position);
  numbers_.push_back(place.bytes);
}

std::pair<Box, BlockReuse::Place> BlockReuse::FewRecords::at(std::size_t number) const {
  const auto record = std::span(numbers_).subspan(number * width(), width());
  return {Box{Dims(record.first(rank_)), Dims(record.subspan(rank_, rank_))},
          Place{record[width() - 2], record[width() - 1]}};
}

template <class Visit>
void BlockReuse::FewRecords::for_each(const Visit& visit) const {
  for (std::size_t i = 0; i < size(); ++i) {
    const auto [box, place] = at(i);
    visit(box, place);
  }
}

template <class Drop>
void BlockReuse::FewRecords::erase_if(const Drop& drop) {
  auto kept = numbers_.begin();
  for (std::size_t i = 0; i < size(); ++i) {
    const auto [box, place] = at(i);
    if (drop(box, place)) continue;
    const auto from = numbers_.begin() + static_cast<std::ptrdiff_t>(i * width());
    kept = std::copy_n(from, width(), kept);
  }
  numbers_.erase(kept, numbers_.end());
}

void BlockReuse::add_free(StreamBlockShape block) {
  if (is_large(block)) {
    large_bytes_ += block.capacities.back();
    const std::uint64_t capacity = block.capacities.back();
    large_.emplace(capacity, std::move(block));
    return;
  }
  const Hash128 hash = hash_of(block.capacities);
  small_by_bytes_.emplace(sum_of(block.capacities), hash);
  small_[hash].push_back(std::move(block));
}

void BlockReuse::add_dead(StreamBlockShape block, std::uint64_t step) {
  dead_.emplace(step, std::move(block));
}

void BlockReuse::note_written(StreamBlockShape block, std::span<const Position> records) {
  const Position at = block.position;
  blocks_[at] = {std::move(block), records.back() + 1, records.size()};
}

std::optional<StreamBlockShape> BlockReuse::take_large(std::uint64_t bytes, std::uint64_t most) {
  const auto found = large_.lower_bound(bytes);
  if (found == large_.end() || found->first > most) return std::nullopt;
  return take(found);
}

std::optional<StreamBlockShape> BlockReuse::take_large(std::uint64_t bytes) {
  return take_large(bytes, bytes + bytes / 7);
}

std::optional<StreamBlockShape> BlockReuse::take_roomy(std::uint64_t bytes) {
  return take_large(bytes, bytes + bytes);
}

std::optional<StreamBlockShape> BlockReuse::take_for_part(std::uint64_t bytes,
                                                          std::uint64_t least) {
  if (large_bytes_ < bytes) return std::nullopt;
  auto found = large_.lower_bound(bytes);
  if (found == large_.begin()) return std::nullopt;
  --found;
  if (found->first < std::max(least, bytes / 8)) return std::nullopt;  // not too many parts
  return take(found);
}

StreamBlockShape BlockReuse::take(Large::iterator block) {
  StreamBlockShape shape = std::move(block->second);
  large_bytes_ -= block->first;
  large_.erase(block);
  return shape;
}

StreamBlockShape BlockReuse::take(Small::iterator blocks) {
  StreamBlockShape block = std::move(blocks->second.back());
  blocks->second.pop_back();
  if (blocks->second.empty()) {
    small_by_bytes_.erase({sum_of(block.capacities), blocks->first});
    small_.erase(blocks);
  }
  return block;
}

std::optional<StreamBlockShape> BlockReuse::take_small(std::span<const std::uint64_t> capacities) {
  if (small_.empty()) return std::nullopt;
  const auto found = small_.find(hash_of(capacities));
  if (found == small_.end()) return std::nullopt;
  return take(found);
}

// There may be very many free blocks, and most are of no use: only a few are looked at, those first
// that are up to half as large again.
std::optional<BlockReuse::Fitting> BlockReuse::take_fitting(std::span<const std::uint64_t> sizes) {
  constexpr int kSmaller = 4;
  constexpr int kLarger = 2;
  if (small_.empty() || sizes.empty()) return std::nullopt;
  const std::uint64_t bytes = sum_of(sizes);
  const auto order = largest_first(sizes);
  auto best = small_.end();
  ContainerFit most;
  const auto look_at = [&](const std::pair<std::uint64_t, Hash128>& key) {
    const auto blocks = small_.find(key.second);
    ContainerFit fit = fit_records(sizes, order, blocks->second.back().capacities);
    if (fit.bytes <= most.bytes || fit.bytes < key.first / 4) return;
    most = std::move(fit);
    best = blocks;
  };
  const auto middle = small_by_bytes_.lower_bound({bytes + bytes / 2 + 1, Hash128{}});
  auto smaller = std::make_reverse_iterator(middle);
  for (int i = 0; i < kSmaller && smaller != small_by_bytes_.rend(); ++i, ++smaller) {
    if (smaller->first < bytes / 8) break;  // not too many blocks for one group of records
    look_at(*smaller);
  }
  auto larger = middle;
  for (int i = 0; i < kLarger && larger != small_by_bytes_.end(); ++i, ++larger) {
    if (larger->first / 4 > bytes) break;
    look_at(*larger);
  }
  if (best == small_.end()) return std::nullopt;
  return Fitting{take(best), std::move(most)};
}

void BlockReuse::drop_covered(PerDataset& own, const Record& record, std::uint64_t step) {
  const Place place{record.where.offset, record.stored_bytes};
  if (own.by_box.empty()) {
    own.few.erase_if([&](const Box& older, const Place& its) {
      if (!contains(record.box, older)) return false;
      dying_.push_back({step, its.position});
      return true;
    });
    own.few.add(record.box, place);
    if (own.few.size() <= kFew) return;
    own.few.for_each([&](const Box& box, const Place& its) { own.by_box[hash_of(box)] = its; });
    own.few.clear();
    return;
  }
  const auto [at, fresh] = own.by_box.try_emplace(hash_of(record.box), place);
  if (fresh) return;
  dying_.push_back({step, at->second.position});
  at->second = place;
}

std::uint64_t BlockReuse::replaced_bytes(const Record& record) const {
  const PerDataset* const own = own_.find(record.dataset);
  if (own == nullptr) return 0;
  std::uint64_t bytes = 0;
  own->few.for_each([&](const Box& older, const Place& its) {
    if (contains(record.box, older)) bytes += its.bytes;
  });
  if (own->by_box.empty()) return bytes;
  const auto found = own->by_box.find(hash_of(record.box));
  return found == own->by_box.end() ? bytes : bytes + found->second.bytes;
}

void BlockReuse::deletions_committed(std::span<const DatasetNumber> deleted, std::uint64_t step,
                                     std::uint64_t oldest) {
  for (const DatasetNumber dataset : deleted) {
    const PerDataset* const found = own_.find(dataset);
    if (found == nullptr) continue;
    found->few.for_each(
        [&](const Box&, const Place& place) { dying_.push_back({step, place.position}); });
    for (const auto& [box, place] : found->by_box) dying_.push_back({step, place.position});
    own_.erase(dataset);
  }
  release(oldest);
}

void BlockReuse::only_these_live(bool all, const std::set<DatasetNumber>& concerned,
                                 std::span<const Position> live, std::uint64_t step,
                                 std::uint64_t oldest) {
  // What dies is forgotten here, so that nothing dies twice: its place may be another's by then.
  const auto dies = [&](const Place& place) {
    if (std::binary_search(live.begin(), live.end(), place.position)) return false;
    dying_.push_back({step, place.position});
    return true;
  };
  own_.for_each([&](DatasetNumber dataset, PerDataset& own) {
    if (!all && !concerned.contains(dataset)) return;
    own.few.erase_if([&](const Box&, const Place& place) { return dies(place); });
    std::erase_if(own.by_box, [&](const auto& each) { return dies(each.second); });
  });
  release(oldest);
}

void BlockReuse::release(std::uint64_t oldest) {
  const auto end = dead_.upper_bound(oldest);
  for (auto each = dead_.begin(); each != end; ++each) add_free(std::move(each->second));
  dead_.erase(dead_.begin(), end);
  std::size_t done = 0;
  for (; done < dying_.size() && dying_[done].step <= oldest; ++done) {
    const Position record = dying_[done].position;
    auto block = blocks_.upper_bound(record);
    if (block == blocks_.begin()) continue;
    --block;
    if (record >= block->second.end || --block->second.alive != 0) continue;
    add_free(std::move(block->second.shape));
    blocks_.erase(block);
  }
  dying_.erase(dying_.begin(), dying_.begin() + static_cast<std::ptrdiff_t>(done));
}

}  // namespace bento
