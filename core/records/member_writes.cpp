// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/member_writes.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace bento {

namespace {

constexpr std::size_t kWriteBytes = 5;  // of an encoded write without its box, at least

std::uint64_t key_of(const Box& box, std::uint64_t exchange, std::uint32_t members) {
  return hash_of(box, exchange << 32 ^ members);
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
  corners_.insert(corners_.end(), box.start.view().begin(), box.start.view().end());
  corners_.insert(corners_.end(), box.count.view().begin(), box.count.view().end());
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
    const auto grown = times.find(at);
    if (grown == times.end()) {
      all.push(box, write);
      continue;
    }
    for (const auto& part : grown->second.parts()) {
      write.order.time_ns = part.time_ns;
      for (const Box& each : boxes_of_run(box, part.begin, part.end)) all.push(each, write);
    }
  }
  return all;
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
                       std::uint64_t exchange, bool grew) {
  auto [found, added] = datasets_.try_emplace(record.dataset);
  PerDataset& entry = found->second;
  if (added) entry.table = MemberWriteTable(record.box.rank(), members.words().size());
  entry.partial = entry.partial || partial;
  const MemberWriteTable::Write write{record.order, exchange, entry.table.intern(members)};
  Box box = record.box;
  if (grew && continues(record.dataset, members, exchange)) {
    Box longer = entry.table.box(last_->at);
    const std::uint64_t before = key_of(longer, exchange, write.members);
    const std::uint64_t elements = longer.elements();
    if (append_row_major(longer, box)) {
      auto first = entry.table.write(last_->at);
      WriteTimes& times = entry.times[last_->at];
      if (times.empty()) times.add(elements, first.order.time_ns);
      times.add(box.elements(), record.order.time_ns);
      entry.by_box.erase(before);
      entry.table.replace(last_->at, longer, first);
      entry.by_box[key_of(longer, exchange, write.members)] = last_->at;
      return;
    }
  }
  const auto [same, fresh] =
      entry.by_box.try_emplace(key_of(box, exchange, write.members), entry.table.size());
  if (!fresh) {
    const std::size_t at = same->second;
    const auto& old = entry.table.write(at);
    if (old.exchange == exchange && old.members == write.members && entry.table.box(at) == box) {
      entry.table.replace(at, box, write);
      entry.times.erase(at);
      last_ = {record.dataset, at};
      return;
    }
    same->second = entry.table.size();
  }
  last_ = {record.dataset, entry.table.size()};
  entry.table.push(box, write);
}

void MemberWrites::clip(DatasetNumber dataset, const Dims& extent) {
  const auto found = datasets_.find(dataset);
  if (found == datasets_.end()) return;
  if (!found->second.times.empty()) found->second.table = found->second.apart();
  found->second.times.clear();
  found->second.table.clip(extent);
  found->second.by_box.clear();
  last_.reset();
}

void MemberWrites::forget(DatasetNumber dataset) {
  datasets_.erase(dataset);
  last_.reset();
}

void MemberWrites::clear() {
  datasets_.clear();
  last_.reset();
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
    if (found->second.times.empty())
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
