// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/geometry/box.hpp"

#include <algorithm>
#include <cstring>

#include "core/geometry/row_major_join.hpp"

namespace bento {

void Dims::copy_many(const Dims& other) {
  take_room(other.held_.rank);
  std::copy_n(other.held_.many, held_.rank, held_.many);
}

std::uint64_t Dims::bytes(std::uint64_t element_bytes) const {
  std::uint64_t product = element_bytes;
  bool fits = true;
  for (const std::uint64_t value : view()) {
    if (value == 0) return 0;
    fits = fits && !__builtin_mul_overflow(product, value, &product);
  }
  return fits ? product : ~std::uint64_t{0};
}

std::optional<std::uint64_t> Dims::checked_product() const {
  std::uint64_t product = 1;
  bool fits = true;
  for (const std::uint64_t value : view()) {
    if (value == 0) return 0;
    fits = fits && !__builtin_mul_overflow(product, value, &product);
  }
  return fits ? std::optional(product) : std::nullopt;
}

bool Dims::operator==(const Dims& other) const {
  return std::ranges::equal(view(), other.view());
}

bool Box::empty() const {
  const auto counts = count.view();
  return std::ranges::find(counts, 0u) != counts.end();
}

Box Box::whole(const Dims& extent) {
  return {Dims(extent.rank()), extent};
}

Box intersect(const Box& a, const Box& b) {
  Box out = a;
  for (unsigned d = 0; d < a.rank(); ++d) {
    const std::uint64_t begin = std::max(a.start[d], b.start[d]);
    const std::uint64_t end = std::min(a.start[d] + a.count[d], b.start[d] + b.count[d]);
    out.start[d] = begin;
    out.count[d] = end > begin ? end - begin : 0;
  }
  return out;
}

bool overlaps(const Box& a, const Box& b) {
  for (unsigned d = 0; d < a.rank(); ++d)
    if (a.start[d] >= b.start[d] + b.count[d] || b.start[d] >= a.start[d] + a.count[d] ||
        a.count[d] == 0 || b.count[d] == 0)
      return false;
  return true;
}

void grow(Box& bounds, const Box& box) {
  for (unsigned d = 0; d < box.rank(); ++d) {
    const std::uint64_t end =
        std::max(bounds.start[d] + bounds.count[d], box.start[d] + box.count[d]);
    bounds.start[d] = std::min(bounds.start[d], box.start[d]);
    bounds.count[d] = end - bounds.start[d];
  }
}

bool contains(const Box& outer, const Box& inner) {
  for (unsigned d = 0; d < outer.rank(); ++d)
    if (inner.start[d] < outer.start[d] ||
        inner.start[d] + inner.count[d] > outer.start[d] + outer.count[d])
      return false;
  return true;
}

std::uint64_t hash_of(const Box& box, std::uint64_t seed) {
  std::uint64_t key = 0x9E3779B97F4A7C15ull * (seed + 1);
  const auto mix = [&key](std::uint64_t value) {
    key = (key ^ value) * 0xBF58476D1CE4E5B9ull;
    key ^= key >> 29;
  };
  for (const auto value : box.start.view()) mix(value);
  for (const auto value : box.count.view()) mix(value);
  return key;
}

void subtract(const Box& from, const Box& cut, std::vector<Box>& out) {
  if (!overlaps(from, cut)) {
    if (!from.empty()) out.push_back(from);
    return;
  }
  // Peel slabs off dimension by dimension; what remains at the end lies inside `cut`.
  Box rest = from;
  for (unsigned d = 0; d < from.rank(); ++d) {
    const std::uint64_t begin = std::max(rest.start[d], cut.start[d]);
    const std::uint64_t end = std::min(rest.start[d] + rest.count[d], cut.start[d] + cut.count[d]);
    if (begin > rest.start[d]) {
      Box below = rest;
      below.count[d] = begin - rest.start[d];
      out.push_back(below);
    }
    if (rest.start[d] + rest.count[d] > end) {
      Box above = rest;
      above.start[d] = end;
      above.count[d] = rest.start[d] + rest.count[d] - end;
      out.push_back(above);
    }
    rest.start[d] = begin;
    rest.count[d] = end - begin;
  }
}

bool append_row_major(Box& first, const Box& second) {
  const auto join = row_major_join(first.start.view(), first.count.view(), second);
  if (join) first.count[*join] += second.count[*join];
  return join.has_value();
}

std::uint64_t row_major_offset(const Box& whole, const Box& part) {
  std::uint64_t offset = 0;
  for (unsigned d = 0; d < whole.rank(); ++d)
    offset = offset * whole.count[d] + (part.start[d] - whole.start[d]);
  return offset;
}

bool is_contiguous_in(const Box& whole, const Box& part) {
  unsigned d = 0;
  while (d < part.rank() && part.count[d] == 1) ++d;
  for (++d; d < part.rank(); ++d)
    if (part.count[d] != whole.count[d]) return false;
  return true;
}

namespace {

// Rows of a box inside one or two row-major buffers, after dimensions that are full everywhere were
// folded into the run length. Offsets and strides are in elements.
struct Walk {          // NOLINT(cppcoreguidelines-pro-type-member-init): of `outer` dimensions
  unsigned outer = 0;  // dimensions that are stepped through
  std::uint64_t run = 1;
  std::array<std::uint64_t, kMaxRank> count;
  std::array<std::uint64_t, kMaxRank> from_stride;
  std::array<std::uint64_t, kMaxRank> to_stride;
};

Walk make_walk(const Box& part, const Box& from, const Box& to) {
  Walk walk;
  const unsigned rank = part.rank();
  unsigned inner = rank;  // dimensions [inner, rank) form the run
  while (inner > 0) {
    --inner;
    walk.run *= part.count[inner];
    if (part.count[inner] != from.count[inner] || part.count[inner] != to.count[inner]) break;
  }
  walk.outer = inner;
  std::uint64_t from_stride = 1;
  std::uint64_t to_stride = 1;
  for (unsigned d = rank; d-- > 0;) {
    if (d < walk.outer) {
      walk.count[d] = part.count[d];
      walk.from_stride[d] = from_stride;
      walk.to_stride[d] = to_stride;
    }
    from_stride *= from.count[d];
    to_stride *= to.count[d];
  }
  return walk;
}

// Calls visit(from_element, to_element) for each run.
template <class Visit>
void for_each_run(const Walk& walk, std::uint64_t from, std::uint64_t to, const Visit& visit) {
  std::array<std::uint64_t, kMaxRank>
      at;  // NOLINT(cppcoreguidelines-pro-type-member-init): as used
  for (unsigned d = 0; d < walk.outer; ++d) at[d] = 0;
  for (;;) {
    visit(from, to);
    unsigned d = walk.outer;
    for (;;) {
      if (d == 0) return;
      --d;
      from += walk.from_stride[d];
      to += walk.to_stride[d];
      if (++at[d] < walk.count[d]) break;
      from -= walk.from_stride[d] * walk.count[d];
      to -= walk.to_stride[d] * walk.count[d];
      at[d] = 0;
    }
  }
}

template <std::size_t N>
void copy_runs_fixed(const Walk& walk, std::uint64_t from, std::uint64_t to,
                     const std::byte* source, std::byte* target) {
  for_each_run(walk, from, to, [&](std::uint64_t f, std::uint64_t t) {
    std::memcpy(target + t * N, source + f * N, N);
  });
}

}  // namespace

void copy_box(const Box& part, const Box& from_box, const std::byte* from, const Box& to_box,
              std::byte* to, std::size_t element_bytes) {
  if (part.empty()) return;
  const Walk walk = make_walk(part, from_box, to_box);
  const std::uint64_t from_at = row_major_offset(from_box, part);
  const std::uint64_t to_at = row_major_offset(to_box, part);
  if (walk.run == 1) {  // a copy of known size is an assignment, not a call
    if (element_bytes == 8) return copy_runs_fixed<8>(walk, from_at, to_at, from, to);
    if (element_bytes == 4) return copy_runs_fixed<4>(walk, from_at, to_at, from, to);
  }
  const std::size_t bytes = static_cast<std::size_t>(walk.run) * element_bytes;
  for_each_run(walk, from_at, to_at, [&](std::uint64_t f, std::uint64_t t) {
    std::memcpy(to + t * element_bytes, from + f * element_bytes, bytes);
  });
}

void fill_box(const Box& part, const Box& to_box, std::byte* to, std::span<const std::byte> value) {
  if (part.empty() || value.empty()) return;
  const Walk walk = make_walk(part, to_box, to_box);
  const std::uint64_t at = row_major_offset(to_box, part);
  const std::size_t bytes = static_cast<std::size_t>(walk.run) * value.size();
  const bool uniform =
      std::all_of(value.begin(), value.end(), [&](std::byte b) { return b == value[0]; });
  const std::byte* first = nullptr;
  for_each_run(walk, at, at, [&](std::uint64_t, std::uint64_t t) {
    std::byte* const row = to + t * value.size();
    if (uniform) {
      std::memset(row, std::to_integer<int>(value[0]), bytes);
    } else if (first != nullptr) {
      std::memcpy(row, first, bytes);
    } else {
      for (std::size_t i = 0; i < bytes; i += value.size())
        std::memcpy(row + i, value.data(), value.size());
      first = row;
    }
  });
}

}  // namespace bento
