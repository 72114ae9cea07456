// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Boxes in a dataspace: the shape of every record and of every piece of a selection. Arithmetic
/// only; which record wins is the index's business, where bytes lie the container's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

namespace bento {

inline constexpr unsigned kMaxRank = 32;  ///< H5S_MAX_RANK

/// Up to kMaxRank extents or coordinates. Those of up to kUsualRank dimensions take no memory of
/// their own: there may be millions of them, of which each would take 256 bytes for 32 dimensions.
class Dims {
 public:
  Dims() = default;
  explicit Dims(unsigned rank, std::uint64_t value = 0) {
    take_room(rank);
    std::uint64_t* const to = at();
    for (unsigned d = 0; d < rank; ++d) to[d] = value;
  }
  Dims(std::initializer_list<std::uint64_t> values)
      : Dims(std::span<const std::uint64_t>(values.begin(), values.size())) {}
  explicit Dims(std::span<const std::uint64_t> values) {
    take_room(static_cast<unsigned>(values.size()));
    std::uint64_t* const to = at();
    for (unsigned d = 0; d < held_.rank; ++d) to[d] = values[d];
  }
  Dims(const Dims& other) : Dims(other, other.many()) {}
  Dims(Dims&& other) noexcept : held_(other.held_) {
    if (many()) other.held_.rank = 0;
  }
  Dims& operator=(const Dims& other) {
    if (many() || other.many()) return *this = Dims(other);
    held_ = other.held_;
    return *this;
  }
  Dims& operator=(Dims&& other) noexcept {
    if (this == &other) return *this;
    give_back();
    held_ = other.held_;
    if (many()) other.held_.rank = 0;
    return *this;
  }
  ~Dims() { give_back(); }

  [[nodiscard]] unsigned rank() const { return held_.rank; }
  std::uint64_t& operator[](unsigned d) { return at()[d]; }
  std::uint64_t operator[](unsigned d) const { return at()[d]; }
  [[nodiscard]] std::span<const std::uint64_t> view() const { return {at(), held_.rank}; }
  /// Product of all values; 1 for rank 0 (a scalar). The largest number of 64 bits stands for all
  /// that are larger.
  [[nodiscard]] std::uint64_t product() const { return bytes(1); }
  /// Bytes of so many elements of `element_bytes` bytes; the largest number of 64 bits stands for
  /// all that are larger.
  [[nodiscard]] std::uint64_t bytes(std::uint64_t element_bytes) const;
  /// The same, nothing if 64 bits are too few.
  [[nodiscard]] std::optional<std::uint64_t> checked_product() const;
  bool operator==(const Dims& other) const;

 private:
  static constexpr unsigned kUsualRank = 6;
  /// Copied as it is, with what is uninitialised beyond its rank: that takes less than to look.
  struct Held {
    unsigned rank = 0;
    union {
      std::uint64_t few[kUsualRank];  // NOLINT(*-avoid-c-arrays)
      std::uint64_t* many;            ///< of more dimensions
    };
  };

  Dims(const Dims& other, bool many) {
    if (many)
      copy_many(other);
    else
      held_ = other.held_;
  }
  void copy_many(const Dims& other);
  [[nodiscard]] bool many() const { return held_.rank > kUsualRank; }
  [[nodiscard]] std::uint64_t* at() { return many() ? held_.many : held_.few; }
  [[nodiscard]] const std::uint64_t* at() const { return many() ? held_.many : held_.few; }
  /// From nothing. If there is no memory, there are no dimensions.
  void take_room(unsigned rank) {
    if (rank > kUsualRank) held_.many = new std::uint64_t[rank];
    held_.rank = rank;
  }
  void give_back() noexcept {
    if (many()) delete[] held_.many;
  }

  Held held_;
};

/// Half-open box [start, start + count) of elements. Rank 0 is the one element of a scalar.
struct Box {
  Dims start;
  Dims count;

  [[nodiscard]] unsigned rank() const { return count.rank(); }
  /// As Dims::product().
  [[nodiscard]] std::uint64_t elements() const { return count.product(); }
  /// Is some count 0? The number of elements may be too large for 64 bits.
  [[nodiscard]] bool empty() const;
  bool operator==(const Box& other) const = default;

  /// The whole of an extent.
  static Box whole(const Dims& extent);
};

/// Overlap of two boxes of equal rank; an empty box (some count 0) if there is none.
Box intersect(const Box& a, const Box& b);
bool overlaps(const Box& a, const Box& b);
/// Makes `bounds` the smallest box that holds `box`, too.
void grow(Box& bounds, const Box& box);
bool contains(const Box& outer, const Box& inner);

/// A number that equal boxes share and others hardly ever do. `seed`: what else tells two apart.
std::uint64_t hash_of(const Box& box, std::uint64_t seed);

/// Appends the parts of `from` outside `cut` to `out`: at most 2 * rank disjoint boxes, nothing if
/// covered.
void subtract(const Box& from, const Box& cut, std::vector<Box>& out);

/// If `second`, laid behind `first` in row-major order, makes one larger box in row-major order
/// (they meet along one dimension, agree in the others, and every slower dimension has count 1),
/// returns true and grows `first`.
bool append_row_major(Box& first, const Box& second);

/// Position, in elements, of `part`'s first element inside row-major `whole` (part must lie in
/// whole).
std::uint64_t row_major_offset(const Box& whole, const Box& part);
/// Is `part` one run of elements inside row-major `whole`?
bool is_contiguous_in(const Box& whole, const Box& part);

/// Calls `visit(Box) -> Status` for disjoint boxes that make up `whole`, each of at most
/// `max_elements` elements, in row-major order of their first elements.
template <class Visit>
auto for_each_part(const Box& whole, std::uint64_t max_elements, const Visit& visit)
    -> decltype(visit(whole)) {
  std::vector<Box> todo{whole};
  while (!todo.empty()) {
    Box box = todo.back();
    todo.pop_back();
    unsigned d = 0;
    while (d < box.rank() && box.count[d] <= 1) ++d;
    if (box.elements() > max_elements && d < box.rank()) {
      Box tail = box;
      tail.start[d] += box.count[d] / 2;
      tail.count[d] -= box.count[d] / 2;
      box.count[d] /= 2;
      todo.push_back(tail);
      todo.push_back(box);
    } else if (auto done = visit(box); !done) {
      return done;
    }
  }
  return {};
}

/// Copies the elements of `part` from the row-major buffer of `from_box` to the row-major buffer of
/// `to_box`; `part` lies in both. `element_bytes` is the size of one element.
void copy_box(const Box& part, const Box& from_box, const std::byte* from, const Box& to_box,
              std::byte* to, std::size_t element_bytes);
/// Fills the elements of `part` in the row-major buffer of `to_box` with one value of
/// `element_bytes` bytes.
void fill_box(const Box& part, const Box& to_box, std::byte* to, std::span<const std::byte> value);

}  // namespace bento
