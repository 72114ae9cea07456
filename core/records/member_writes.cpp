// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/member_writes.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/records/box_tree.hpp"

namespace bento {

namespace {

constexpr std::size_t kWriteBytes = 7;  // of an encoded write without its box, at least

std::uint64_t key_of(const Box& box, const MemberWriteTable::Write& write) {
  return hash_of(box, write.exchange << 32 ^ write.learnt << 16 ^ write.members);
}

}  // namespace

MemberSet MemberSet::all(std::size_t members) {
  MemberSet set(std::vector<std::uint64_t>((members + 63) / 64, ~std::uint64_t{0}));
  if (members % 64 != 0) set.words_.back() >>= 64 - members % 64;
  return set;
}

void MemberSet::remove(const MemberSet& others) {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= ~others.words_[i];
}

void MemberSet::add(const MemberSet& others) {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= others.words_[i];
}

bool MemberSet::contains(const MemberSet& others) const {
  for (std::size_t i = 0; i < words_.size(); ++i)
    if ((others.words_[i] & ~words_[i]) != 0) return false;
  return true;
}

bool MemberSet::empty() const {
  return std::all_of(words_.begin(), words_.end(), [](std::uint64_t word) { return word == 0; });
}

std::uint32_t MemberWriteTable::intern(const MemberSet& members) {
  const auto found = std::find(sets_.begin(), sets_.end(), members);
  if (found == sets_.end()) {
    sets_.push_back(members);
    return static_cast<std::uint32_t>(sets_.size() - 1);
  }
  return static_cast<std::uint32_t>(found - sets_.begin());
}

void MemberWriteTable::push(const Box& box, const Write& write) {
  append_corners(corners_, box);
  writes_.push_back(write);
}

void MemberWriteTable::replace(std::size_t at, const Box& box, const Write& write) {
  for (unsigned d = 0; d < rank_; ++d) {
    corners_[at * 2 * rank_ + d] = box.start[d];
    corners_[at * 2 * rank_ + rank_ + d] = box.count[d];
  }
  writes_[at] = write;
}

Box MemberWriteTable::box(std::size_t at) const {
  const auto corner = corners().subspan(at * 2 * rank_, std::size_t{2} * rank_);
  return {Dims(corner.first(rank_)), Dims(corner.subspan(rank_))};
}

void MemberWriteTable::clip(const Dims& extent) {
  MemberWriteTable kept(rank_, words_);
  for (std::size_t i = 0; i < size(); ++i)
    if (const Box inside = intersect(box(i), Box::whole(extent)); !inside.empty())
      kept.push(inside, writes_[i]);
  corners_ = std::move(kept.corners_);
  writes_ = std::move(kept.writes_);
}

Status MemberWriteTable::append(const MemberWriteTable& other) {
  if (other.rank_ != rank_ || other.words_ != words_)
    return fail(Code::kCorrupt, "member writes: the ranks disagree on a dataset's members");
  std::vector<std::uint32_t> renamed;
  renamed.reserve(other.sets_.size());
  for (const auto& set : other.sets_) renamed.push_back(intern(set));
  corners_.insert(corners_.end(), other.corners_.begin(), other.corners_.end());
  for (Write write : other.writes_) {
    write.members = renamed[write.members];
    writes_.push_back(write);
  }
  return {};
}

void MemberWriteTable::encode(ByteWriter& out) const {
  out.varint(rank_);
  out.varint(words_);
  out.varint(sets_.size());
  for (const auto& set : sets_)
    for (const auto word : set.words()) out.varint(word);
  out.varint(writes_.size());
  for (const auto corner : corners_) out.varint(corner);
  for (const auto& write : writes_) {
    out.varint(write.order.collective);
    out.varint(write.order.time_ns);
    out.varint(write.order.rank);
    out.varint(write.exchange);
    out.varint(write.members);
    out.varint(write.seen_ns);
    out.varint(write.told_ns);
  }
}

Result<MemberWriteTable> MemberWriteTable::decode(ByteReader& in) {
  BENTO_ASSIGN(const std::uint64_t rank, in.varint());
  BENTO_ASSIGN(const std::uint64_t words, in.varint());
  BENTO_ASSIGN(const std::uint64_t sets, in.varint());
  if (rank > kMaxRank || words == 0)
    return fail(Code::kCorrupt, "member writes: an impossible head");
  BENTO_TRY(in.fits(sets, words));
  MemberWriteTable table(static_cast<unsigned>(rank), static_cast<std::size_t>(words));
  for (std::uint64_t i = 0; i < sets; ++i) {
    std::vector<std::uint64_t> bits(static_cast<std::size_t>(words));
    for (auto& word : bits) {
      BENTO_ASSIGN(word, in.varint());
    }
    table.sets_.emplace_back(std::move(bits));
  }
  BENTO_ASSIGN(const std::uint64_t count, in.varint());
  BENTO_TRY(in.fits(count, 2 * rank + kWriteBytes));
  table.corners_.resize(static_cast<std::size_t>(count * 2 * rank));
  for (auto& corner : table.corners_) {
    BENTO_ASSIGN(corner, in.varint());
  }
  table.writes_.resize(static_cast<std::size_t>(count));
  for (auto& write : table.writes_) {
    BENTO_ASSIGN(write.order.collective, in.varint());
    BENTO_ASSIGN(write.order.time_ns, in.varint());
    BENTO_ASSIGN(const std::uint64_t writer, in.varint());
    BENTO_ASSIGN(write.exchange, in.varint());
    BENTO_ASSIGN(const std::uint64_t members, in.varint());
    BENTO_ASSIGN(write.seen_ns, in.varint());
    BENTO_ASSIGN(write.told_ns, in.varint());
    if (writer >> 32 != 0 || members >= sets)
      return fail(Code::kCorrupt, "member writes: an impossible write");
    write.order.rank = static_cast<std::uint32_t>(writer);
    write.members = static_cast<std::uint32_t>(members);
  }
  return table;
}

MemberWriteTable MemberWrites::PerDataset::apart() const {
  MemberWriteTable all(table.rank(), table.sets().front().words().size());
  for (const auto& set : table.sets()) all.intern(set);
  for (std::size_t at = 0; at < table.size(); ++at) {
    const Box box = table.box(at);
    MemberWriteTable::Write write = table.write(at);
    const auto longer = grown.find(at);
    if (longer == grown.end()) {
      all.push(box, write);
      continue;
    }
    const auto seen = longer->second.seen.parts();
    const auto told = longer->second.told.parts();
    std::size_t number = 0;
    std::size_t told_at = 0;
    for (const auto& part : longer->second.written.parts()) {
      while (told_at < told.size() && told[told_at].end <= part.begin) ++told_at;
      write.order.time_ns = part.time_ns;
      write.seen_ns = seen[number++].time_ns;
      write.told_ns = told_at < told.size() ? told[told_at].time_ns : 0;
      for (const Box& each : boxes_of_run(box, part.begin, part.end)) all.push(each, write);
    }
  }
  return all;
}

void MemberWrites::PerDataset::grow(std::size_t at, const Box& longer, std::uint64_t elements,
                                    const MemberWriteTable::Write& by) {
  const auto first = table.write(at);
  const std::uint64_t before = longer.elements() - elements;
  Grown& parts = grown[at];
  if (parts.written.empty()) {
    parts.written.add(before, first.order.time_ns);
    parts.seen.add(before, first.seen_ns);
    if (first.told_ns != 0) {
      parts.told.add(before, first.told_ns);
      parts.told_elements = before;
    }
  }
  parts.written.add(elements, by.order.time_ns);
  parts.seen.add(elements, by.seen_ns);
  table.replace(at, longer, first);
}

bool MemberWrites::continues(DatasetNumber dataset, const MemberSet& members,
                             std::uint64_t exchange) const {
  if (!last_ || last_->dataset != dataset) return false;
  const auto& table = datasets_.at(dataset).table;
  return table.write(last_->at).exchange == exchange && table.members(last_->at) == members;
}

// A write of the same members into the same box, with nothing learnt from other ranks in between,
// takes the place of the one before: nothing can be lost that depends on which of the two it was.
void MemberWrites::add(const Record& record, const MemberSet& members, bool partial,
                       std::uint64_t exchange, bool grew, const Seen& seen) {
  auto [found, added] = datasets_.try_emplace(record.dataset);
  PerDataset& entry = found->second;
  if (added) entry.table = MemberWriteTable(record.box.rank(), members.words().size());
  entry.partial = entry.partial || partial;
  const MemberWriteTable::Write write{record.order,  exchange, entry.table.intern(members),
                                      seen.until_ns, 0,        seen.learnt};
  Box box = record.box;
  if (grew && continues(record.dataset, members, exchange)) {
    Box longer = entry.table.box(last_->at);
    const std::uint64_t before = key_of(longer, entry.table.write(last_->at));
    if (append_row_major(longer, box)) {
      entry.grow(last_->at, longer, box.elements(), write);
      entry.by_box.erase(before);
      entry.by_box[key_of(longer, entry.table.write(last_->at))] = last_->at;
      now_last(*last_);
      return;
    }
  }
  const auto [same, fresh] = entry.by_box.try_emplace(key_of(box, write), entry.table.size());
  if (!fresh) {
    const std::size_t at = same->second;
    const auto& old = entry.table.write(at);
    if (old.exchange == exchange && old.learnt == write.learnt && old.members == write.members &&
        entry.table.box(at) == box) {
      entry.table.replace(at, box, write);
      entry.grown.erase(at);
      now_last({record.dataset, at});
      return;
    }
    same->second = entry.table.size();
  }
  now_last({record.dataset, entry.table.size()});
  entry.table.push(box, write);
}

void MemberWrites::now_last(const Place& place) {
  last_ = place;
  if (untold_.empty() || untold_.back() != place) untold_.push_back(place);
}

void MemberWrites::told(std::uint64_t time_ns) {
  for (const Place& place : untold_) {
    PerDataset& entry = datasets_.at(place.dataset);
    const auto longer = entry.grown.find(place.at);
    if (longer == entry.grown.end()) {
      entry.table.set_told(place.at, time_ns);
      continue;
    }
    Grown& parts = longer->second;
    const std::uint64_t elements = entry.table.box(place.at).elements();
    if (elements == parts.told_elements) continue;
    parts.told.add(elements - parts.told_elements, time_ns);
    parts.told_elements = elements;
  }
  untold_.clear();
}

void MemberWrites::clip(DatasetNumber dataset, const Dims& extent) {
  const auto found = datasets_.find(dataset);
  if (found == datasets_.end()) return;
  if (!found->second.grown.empty()) found->second.table = found->second.apart();
  found->second.grown.clear();
  found->second.table.clip(extent);
  found->second.by_box.clear();
  forget_places(dataset);
}

void MemberWrites::forget_places(DatasetNumber dataset) {
  last_.reset();
  std::erase_if(untold_, [&](const Place& place) { return place.dataset == dataset; });
}

void MemberWrites::forget(DatasetNumber dataset) {
  datasets_.erase(dataset);
  forget_places(dataset);
}

void MemberWrites::clear() {
  datasets_.clear();
  last_.reset();
  untold_.clear();
}

std::set<DatasetNumber> MemberWrites::partial() const {
  std::set<DatasetNumber> found;
  for (const auto& [dataset, entry] : datasets_)
    if (entry.partial) found.insert(found.end(), dataset);
  return found;
}

std::vector<std::byte> MemberWrites::encode(const std::set<DatasetNumber>& datasets) const {
  ByteWriter out;
  for (const DatasetNumber dataset : datasets) {
    const auto found = datasets_.find(dataset);
    if (found == datasets_.end()) continue;
    out.varint(dataset);
    if (found->second.grown.empty())
      found->second.table.encode(out);
    else
      found->second.apart().encode(out);
  }
  return std::move(out).take();
}

Result<std::map<DatasetNumber, MemberWriteTable>> decode_member_writes(
    std::span<const std::byte> bytes) {
  ByteReader in(bytes, std::endian::little, "member writes");
  std::map<DatasetNumber, MemberWriteTable> all;
  while (in.remaining() != 0) {
    BENTO_ASSIGN(const std::uint64_t dataset, in.varint());
    BENTO_ASSIGN(auto table, MemberWriteTable::decode(in));
    if (dataset >> 32 != 0) return fail(Code::kCorrupt, "member writes: an impossible dataset");
    const auto [found, added] =
        all.try_emplace(static_cast<DatasetNumber>(dataset), std::move(table));
    if (!added) BENTO_TRY(found->second.append(table));
  }
  return all;
}

}  // namespace bento
