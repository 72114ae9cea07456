// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/fuzz/vol/editable_blob.hpp"

#include <algorithm>
#include <cstring>

#include "core/bytes/byte_writer.hpp"

namespace bento::fuzz {

namespace {

using Form = EditableBlob::Form;

void put(ByteWriter& out, Form form, std::uint64_t position, std::uint64_t bytes,
         const Hash128& hash) {
  if (form == Form::kVarints) {
    out.varint(position);
    out.varint(bytes);
  } else {
    out.u64(position);
    if (form == Form::kFixed) out.u64(bytes);
  }
  out.bytes(hash);
}

/// Where the reference to `ref` whose hash lies at `hash_at` begins, and in which form.
std::optional<std::pair<std::size_t, Form>> reference_before(const Bytes& bytes,
                                                             std::size_t hash_at,
                                                             const CatalogueRef& ref) {
  for (const Form form : {Form::kVarints, Form::kFixed, Form::kPosition}) {
    ByteWriter out;
    put(out, form, ref.position, ref.bytes, ref.hash);
    const std::size_t before = out.size() - ref.hash.size();
    if (before <= hash_at &&
        std::equal(out.view().begin(), out.view().end(),
                   bytes.begin() + static_cast<std::ptrdiff_t>(hash_at - before)))
      return std::pair(hash_at - before, form);
  }
  return std::nullopt;
}

}  // namespace

EditableBlob::EditableBlob(const SampleBlob& blob, const std::vector<SampleBlob>& all,
                           const std::multimap<std::uint64_t, std::size_t>& by_hash) {
  const Bytes& bytes = blob.bytes;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    items_.push_back({bytes[at], {}, {}, {}, {}});
    if (blob.kind == SampleBlob::Kind::kSkeletonPage || at + 16 > bytes.size()) continue;
    std::uint64_t head = 0;
    std::memcpy(&head, &bytes[at], sizeof head);
    const auto [first, last] = by_hash.equal_range(head);
    for (auto found = first; found != last; ++found) {
      const auto begin = reference_before(bytes, at, all[found->second].ref);
      if (!begin) continue;
      items_.resize(items_.size() - 1 - (at - begin->first));
      items_.push_back({{}, found->second, begin->second, {}, {}});
      at += 15;
      break;
    }
  }
}

std::vector<std::size_t> EditableBlob::targets() const {
  std::vector<std::size_t> found;
  for (const auto& item : items_)
    if (item.target) found.push_back(*item.target);
  return found;
}

std::vector<std::size_t> EditableBlob::references() const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < items_.size(); ++i)
    if (items_[i].target) found.push_back(i);
  return found;
}

std::optional<std::pair<std::uint64_t, std::size_t>> EditableBlob::varint_at(std::size_t at) const {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 10 && at + i < items_.size() && !items_[at + i].target; ++i) {
    const auto byte = std::to_integer<std::uint64_t>(items_[at + i].byte);
    value |= (byte & 0x7Fu) << (7 * i);
    if ((byte & 0x80u) == 0) return std::pair(value, i + 1);
  }
  return std::nullopt;
}

void EditableBlob::replace_varint(std::size_t at, std::size_t count, std::uint64_t value) {
  ByteWriter out;
  out.varint(value);
  std::vector<Item> fresh;
  for (const auto byte : out.view()) fresh.push_back({byte, {}, {}, {}, {}});
  const auto begin = items_.begin() + static_cast<std::ptrdiff_t>(at);
  const auto rest = items_.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
  items_.insert(rest, fresh.begin(), fresh.end());
}

Bytes EditableBlob::encode(const std::function<CatalogueRef(std::size_t target)>& where) const {
  ByteWriter out;
  for (const auto& item : items_) {
    if (!item.target) {
      out.u8(std::to_integer<std::uint8_t>(item.byte));
      continue;
    }
    const CatalogueRef ref = where(*item.target);
    put(out, item.form, item.position.value_or(ref.position), item.bytes.value_or(ref.bytes),
        ref.hash);
  }
  return std::move(out).take();
}

}  // namespace bento::fuzz
