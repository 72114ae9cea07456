// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/view/copied_texts.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include "core/base/checked.hpp"
#include "core/bytes/little_endian.hpp"
#include "hdf5/skeleton/header_bytes.hpp"

namespace bento::vol {

namespace {

constexpr std::string_view kSignature = "GCOL";
constexpr std::uint64_t kHeapPrefix = 16;
constexpr std::uint64_t kObjectPrefix = 16;
constexpr std::uint64_t kAlignment = 8;
constexpr std::uint64_t kLeastHeapBytes = 4096;  // the library takes none that is smaller
constexpr std::uint64_t kMostHeapBytes = 64u << 10;

Result<std::vector<std::span<const std::byte>>> objects_at(std::span<const std::byte> image,
                                                           std::uint64_t address) {
  if (address > image.size()) return not_of_this_kind();
  const auto rest = image.subspan(static_cast<std::size_t>(address));
  ByteReader in = header_reader(rest);
  BENTO_ASSIGN(const auto signature, in.bytes(kSignature.size()));
  BENTO_TRY(in.skip(4));  // version
  BENTO_ASSIGN(const std::uint64_t bytes, in.u64());
  if (!std::ranges::equal(signature, std::as_bytes(std::span(kSignature))) || bytes < kHeapPrefix ||
      bytes > rest.size())
    return not_of_this_kind();
  std::vector<std::span<const std::byte>> objects;
  for (std::uint64_t at = kHeapPrefix; bytes - at >= kObjectPrefix;) {
    const auto begin = rest.subspan(static_cast<std::size_t>(at));
    ByteReader object = header_reader(begin);
    BENTO_ASSIGN(const std::uint16_t number, object.u16());
    BENTO_TRY(object.skip(6));  // count of references
    BENTO_ASSIGN(const std::uint64_t size, object.u64());
    if (number == 0) break;  // what is free
    if (size > bytes - at - kObjectPrefix) return not_of_this_kind();
    if (number >= objects.size()) objects.resize(std::size_t{number} + 1);
    objects[number] = begin.first(static_cast<std::size_t>(kObjectPrefix + size));
    at = std::min(bytes, at + kObjectPrefix + round_up(size, kAlignment));
  }
  return objects;
}

}  // namespace

bool CopiedTexts::read_heap(std::uint64_t address) {
  if (address == read_at_) return true;
  auto found = objects_at(image_, address);
  if (!found) return false;
  read_ = std::move(*found);
  read_at_ = address;
  return true;
}

bool CopiedTexts::move(std::span<std::byte, kTextBytes> text) {
  ByteReader in = header_reader(text);
  const auto skipped = in.skip(4);  // length
  const auto address = in.u64();
  const auto number = in.u32();
  if (!skipped || !address || !number) return false;
  if (*address == 0) return true;  // no text
  if (!read_heap(*address) || *number >= read_.size() || read_[*number].empty()) return false;
  const Object object = read_[*number];
  if (!begin_heap(object.size())) return false;
  // Its number in this heap, and all else as it was.
  const auto copy = heap_.zeros(round_up(object.size(), kAlignment));
  std::ranges::copy(object, copy.begin());
  put_little_endian(copy.first(sizeof last_), ++last_);
  put_little_endian(text.subspan<4, 8>(), heap_at_ - view_.base());
  put_little_endian(text.subspan<12, 4>(), last_);
  return true;
}

Status CopiedTexts::begin_heap(std::uint64_t object_bytes) {
  const std::uint64_t needed = round_up(object_bytes, kAlignment);
  if (heap_at_ != 0 && heap_.size() + needed <= heap_bytes_ &&
      last_ < std::numeric_limits<std::uint16_t>::max())
    return {};
  BENTO_TRY(finish());
  const std::uint64_t usual =
      heap_bytes_ == 0 ? kLeastHeapBytes : std::min(2 * heap_bytes_, kMostHeapBytes);
  heap_bytes_ = std::max(usual, kHeapPrefix + needed);
  heap_at_ = view_.allocate(H5FD_MEM_GHEAP, heap_bytes_);
  BENTO_TRY(view_.failure());
  heap_.clear();
  heap_.bytes(std::as_bytes(std::span(kSignature)));
  heap_.u32(1);  // version
  heap_.u64(heap_bytes_);
  last_ = 0;
  return {};
}

Status CopiedTexts::finish() {
  if (heap_at_ == 0) return {};
  const std::uint64_t free = heap_bytes_ - heap_.size();
  if (free >= kObjectPrefix) {
    heap_.zeros(8);  // number 0
    heap_.u64(free);
  }
  heap_.zeros(static_cast<std::size_t>(heap_bytes_ - heap_.size()));
  view_.write(heap_at_, heap_.view());
  heap_at_ = 0;
  return view_.failure();
}

}  // namespace bento::vol
