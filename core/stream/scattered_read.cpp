// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Parts of a large record that do not lie in one piece in it: a part of RecordReader. What they
/// span is read in windows, each once, and the elements are copied from there; or their runs are
/// read one by one, where they lie far apart. Who goes through a record slice by slice, as through
/// the columns of a matrix, is given some slices at a time.
#include <algorithm>
#include <optional>

#include "core/records/middle_cut.hpp"
#include "core/stream/record_reader.hpp"

namespace bento {

namespace {

constexpr std::uint64_t kWindowBytes = 4u << 20;  ///< memory that is taken, whatever the record
/// A run costs as much as so many bytes that are read and not wanted (measured on tmpfs: a system
/// call and what is around it against the copy).
constexpr std::uint64_t kRunBytes = 6u << 10;
/// The same against bytes that are hashed and kept as well.
constexpr std::uint64_t kRunOfKeptBytes = 4u << 10;

// A slice is thin if it lies in many short runs, as a column does: SliceCache.
constexpr std::uint64_t kThinRunBytes = 4096;
constexpr std::uint64_t kThinRuns = 64;

/// What is wanted of a record between two of its elements.
struct Wanted {
  std::vector<Box> parts;
  Box bounds;                 ///< of all parts
  std::uint64_t first = 0;    ///< byte in the record at which they begin
  std::uint64_t span = 0;     ///< bytes from there to their end
  std::uint64_t bytes = 0;    ///< wanted of these,
  std::uint64_t runs = 0;     ///< in so many runs
  std::uint64_t longest = 0;  ///< bytes of the longest one
};

/// Elements of `part` that lie in a row in `whole`, at least.
std::uint64_t run_elements(const Box& whole, const Box& part) {
  std::uint64_t elements = 1;
  for (unsigned d = part.rank(); d-- > 0;) {
    elements *= part.count[d];
    if (part.count[d] != whole.count[d]) break;
  }
  return elements;
}

Wanted wanted_of(std::vector<Box> parts, const Box& whole, std::uint64_t element_bytes) {
  Wanted all;
  all.bounds = parts.front();
  for (const Box& part : parts) {
    grow(all.bounds, part);
    const std::uint64_t elements = part.elements();
    const std::uint64_t run = run_elements(whole, part);
    all.bytes += elements * element_bytes;
    all.runs += elements / run;
    all.longest = std::max(all.longest, run * element_bytes);
  }
  Box last = all.bounds;
  for (unsigned d = 0; d < last.rank(); ++d) {
    last.start[d] += last.count[d] - 1;
    last.count[d] = 1;
  }
  all.first = row_major_offset(whole, all.bounds) * element_bytes;
  all.span = row_major_offset(whole, last) * element_bytes + element_bytes - all.first;
  all.parts = std::move(parts);
  return all;
}

/// Bytes from one run of `part` to the next, at least; there are several.
std::uint64_t least_gap(const Box& whole, const Box& part, std::uint64_t element_bytes) {
  unsigned d = part.rank() - 1;
  std::uint64_t apart = element_bytes;  // from one element along this dimension to the next
  const std::uint64_t run = run_elements(whole, part) * element_bytes;
  for (; apart < run || part.count[d] == 1; --d) apart *= whole.count[d];
  return apart - run;
}

/// Halves along the slowest dimension of more than one element; there is one.
std::pair<std::vector<Box>, std::vector<Box>> halves(const Wanted& wanted) {
  unsigned d = 0;
  while (wanted.bounds.count[d] == 1) ++d;
  const Box& all = wanted.bounds;
  const auto [lower, upper] = halves_of(all, {d, all.start[d] + all.count[d] / 2});
  std::pair<std::vector<Box>, std::vector<Box>> both;
  for (const Box& part : wanted.parts) {
    if (overlaps(part, lower)) both.first.push_back(intersect(part, lower));
    if (overlaps(part, upper)) both.second.push_back(intersect(part, upper));
  }
  return both;
}

}  // namespace

// What another rank has not committed yet may be written anew meanwhile, which its hash alone tells
// (Container::read_again): such a record, of which the hash is at hand, is always read whole.
bool RecordReader::reads_again(const Record& record, std::uint64_t element_bytes,
                               std::span<const Box> parts) {
  // All of it is no part. Most parts are seen to be some by their first dimension.
  if (parts.size() == 1 && record.box.rank() != 0 &&
      parts.front().count[0] == record.box.count[0] && parts.front().count == record.box.count)
    return false;
  if (wanted(record) != Verification::kSmall) return false;
  if (record.hash != Hash128{} && (own_ == nullptr || record.where.task != own_->writer()))
    return false;
  if (kept_.find(record) != nullptr) return false;
  std::uint64_t bytes = 0;
  std::uint64_t runs = 0;
  for (const Box& part : parts) {
    if (part.empty()) continue;
    const std::uint64_t elements = part.elements();
    bytes += elements * element_bytes;
    runs += elements / run_elements(record.box, part);
  }
  return bytes <= record.stored_bytes / 2 &&
         sound_.read_in_parts(record, bytes + runs * kRunOfKeptBytes);
}

Status RecordReader::read_scattered(const Place& place, std::uint64_t element_bytes,
                                    std::span<const Box> parts, const Box& to_box, std::byte* to) {
  const Record& record = place.record;
  const Box& part = parts.front();
  const std::uint64_t run = parts.size() == 1 ? run_elements(record.box, part) : 0;
  if (run == 0 || run * element_bytes >= kThinRunBytes || part.elements() / run < kThinRuns)
    return read_in_windows(place, element_bytes, parts, to_box, to);
  const bool verifies = !place.granules.empty();
  const SliceCache::Slab* slab = slices_.find(record, part, verifies);
  if (slab == nullptr) {
    const std::optional<Box> wide = slices_.wider(record, part, element_bytes);
    if (!wide) return read_in_windows(place, element_bytes, parts, to_box, to);
    SliceCache::Slab fresh{*wide, {}, verifies};
    fresh.bytes.resize(static_cast<std::size_t>(wide->count.bytes(element_bytes)));
    BENTO_TRY(
        read_in_windows(place, element_bytes, std::span(&*wide, 1), *wide, fresh.bytes.data()));
    slab = &slices_.put(record, std::move(fresh));
  }
  copy_box(part, slab->box, slab->bytes.data(), to_box, to, element_bytes);
  return {};
}

// Splits what is wanted until what it spans fits the window or is one run, so that memory stays
// bounded whatever the record's size.
Status RecordReader::read_in_windows(const Place& place, std::uint64_t element_bytes,
                                     std::span<const Box> parts, const Box& to_box, std::byte* to) {
  const Box& whole = place.record.box;
  const auto in_memory = [&](const Box& part, std::uint64_t bytes) -> std::span<std::byte> {
    return {to + row_major_offset(to_box, part) * element_bytes, static_cast<std::size_t>(bytes)};
  };
  std::vector<Box> there;
  for (const Box& part : parts)
    if (!part.empty()) there.push_back(part);
  if (there.empty()) return {};
  std::vector<std::byte> window;
  std::vector<Wanted> todo;
  todo.push_back(wanted_of(std::move(there), whole, element_bytes));
  while (!todo.empty()) {
    const Wanted now = std::move(todo.back());
    todo.pop_back();
    const Box& one = now.parts.front();
    if (now.parts.size() == 1 && now.span == now.bytes && is_contiguous_in(to_box, one)) {
      BENTO_TRY(fetch(place, now.first, in_memory(one, now.bytes)));
      continue;
    }
    // Of a record that is verified, granules are read whole: not once for each run.
    const bool far_apart = now.runs > 1 && now.span > 2 * now.bytes &&
                           (now.span - now.bytes) / (now.runs - 1) >= kRunBytes &&
                           (place.granules.empty() || now.longest >= kRunBytes);
    if (far_apart && now.parts.size() == 1 && least_gap(whole, one, element_bytes) >= kRunBytes) {
      BENTO_TRY(read_runs(place, element_bytes, one, to_box, to));
      continue;
    }
    if (now.span <= kWindowBytes && !far_apart) {
      window.resize(static_cast<std::size_t>(now.span));
      BENTO_TRY(fetch(place, now.first, window));
      // copy_box addresses the record's whole box; the window holds it from `first` on.
      for (const Box& part : now.parts)
        copy_box(part, whole, window.data() - now.first, to_box, to, element_bytes);
      continue;
    }
    if (now.bounds.elements() == 1) {  // wider than the window
      BENTO_TRY(fetch(place, now.first, in_memory(one, now.span)));
      continue;
    }
    auto [lower, upper] = halves(now);
    if (!upper.empty()) todo.push_back(wanted_of(std::move(upper), whole, element_bytes));
    if (!lower.empty()) todo.push_back(wanted_of(std::move(lower), whole, element_bytes));
  }
  return {};
}

// Nothing between them is wanted, so nothing is read ahead.
Status RecordReader::read_runs(const Place& place, std::uint64_t element_bytes, const Box& part,
                               const Box& to_box, std::byte* to) {
  const Box& whole = place.record.box;
  Box run = part;
  unsigned outer = part.rank();  // dimensions of the part in which its runs lie one by one
  while (outer > 0 && (outer == part.rank() || part.count[outer] == whole.count[outer])) --outer;
  for (unsigned d = 0; d < outer; ++d) run.count[d] = 1;
  const bool in_place = is_contiguous_in(to_box, run);
  std::vector<std::byte> apart(in_place ? 0
                                        : static_cast<std::size_t>(run.elements() * element_bytes));
  const auto bytes = static_cast<std::size_t>(run.elements() * element_bytes);
  for (;;) {
    const std::span into(
        in_place ? to + row_major_offset(to_box, run) * element_bytes : apart.data(), bytes);
    BENTO_TRY(
        fetch(place, row_major_offset(whole, run) * element_bytes, into, Ahead::kNothingMore));
    if (!in_place) copy_box(run, run, apart.data(), to_box, to, element_bytes);
    unsigned d = outer;
    while (d > 0 && ++run.start[d - 1] == part.start[d - 1] + part.count[d - 1]) {
      run.start[d - 1] = part.start[d - 1];
      --d;
    }
    if (d == 0) return {};
  }
}

}  // namespace bento
