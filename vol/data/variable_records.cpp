// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/variable_records.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace bento::vol {

namespace {

Status check_variable(const Record& record) {
  if (record.encoding == Encoding::kVariable) return {};
  return fail(Code::kCorrupt, fmt::format("a record of dataset {}, whose elements are of variable "
                                          "length, holds elements of fixed size",
                                          record.dataset));
}

/// The first dimension along which a box can be parted.
unsigned slowest_dimension(const Box& box) {
  unsigned d = 0;
  while (d < box.rank() && box.count[d] == 1) ++d;
  return d;
}

/// Cuts a box of elements into records that are neither too long nor of too many elements.
class VariableWriter {
 public:
  VariableWriter(DatasetState& state, const std::byte* elements, const WrittenMembers* written)
      : state_(state), elements_(elements), written_(written) {}

  Status write(const Box& box) {
    const std::uint64_t count = box.elements();
    ends_.resize(count + 1);
    for (std::uint64_t i = 0; i < count; ++i) {
      BENTO_ASSIGN(const std::uint64_t bytes, state_.variable->encoded_bytes(element(i)));
      ends_[i + 1] = ends_[i] + bytes;
    }
    return write_range(box, 0);
  }

 private:
  [[nodiscard]] const std::byte* element(std::uint64_t number) const {
    return elements_ + number * state_.element_bytes;
  }

  [[nodiscard]] bool fits(std::uint64_t first, std::uint64_t count) const {
    return count <= kVariableRecordElements &&
           ends_[first + count] - ends_[first] <= kVariableRecordBytes;
  }

  // Slower dimensions have one element, so each range of slabs is a run of elements.
  Status write_range(const Box& box, std::uint64_t first) {
    const std::uint64_t count = box.elements();
    const unsigned d = slowest_dimension(box);
    if (d == box.rank() || fits(first, count)) return write_record(box, first, count);
    const std::uint64_t slab = count / box.count[d];
    Box part = box;
    for (std::uint64_t done = 0; done < box.count[d]; done += part.count[d]) {
      std::uint64_t slabs = 1;
      while (done + slabs < box.count[d] && fits(first + done * slab, (slabs + 1) * slab)) ++slabs;
      part.start[d] = box.start[d] + done;
      part.count[d] = slabs;
      BENTO_TRY(write_range(part, first + done * slab));
    }
    return {};
  }

  Status write_record(const Box& box, std::uint64_t first, std::uint64_t count) {
    VariableElements::begin(stored_);
    stored_.reserve(1 + ends_[first + count] - ends_[first]);
    for (std::uint64_t i = first; i < first + count; ++i)
      BENTO_TRY(state_.variable->encode(element(i), stored_));
    return state_.file->container().write_variable(state_.number, box, stored_, written_);
  }

  DatasetState& state_;
  const std::byte* elements_;
  const WrittenMembers* written_;
  std::vector<std::uint64_t> ends_;  ///< bytes of all elements before, when they are encoded
  std::vector<std::byte> stored_;
};

Status decode_piece(DatasetState& state, const Record& record, const Box& part, const Box& to_box,
                    std::byte* to, const AllocateValue& allocate) {
  BENTO_TRY(check_variable(record));
  DecodedCache& cache = state.file->decoded();
  const std::vector<std::byte>* stored = cache.find(record);
  std::vector<std::byte> read;
  if (stored == nullptr) {
    BENTO_ASSIGN(read, state.file->container().read_stored(record));
    stored = part == record.box ? &read : &cache.put(record, std::move(read));
  }
  return state.variable->decode(record.box, *stored, part, to_box, to, allocate);
}

Status fill_hole(Object* object, DatasetState& state, const Box& hole, const Box& to_box,
                 std::byte* to, const AllocateValue& allocate) {
  BENTO_ASSIGN(const auto* const fill, state.variable_fill(object));
  Box one = hole;
  for (unsigned d = 0; d < one.rank(); ++d) one.count[d] = 1;
  for (std::uint64_t i = 0; i < hole.elements(); ++i) {
    std::uint64_t rest = i;
    for (unsigned d = hole.rank(); d-- > 0;) {
      one.start[d] = hole.start[d] + rest % hole.count[d];
      rest /= hole.count[d];
    }
    BENTO_TRY(state.variable->decode(one, *fill, one, to_box, to, allocate));
  }
  return {};
}

/// A record's bytes, in as many records as the target's chunks need.
Status write_stored(DatasetState& to, const Box& box, const std::vector<std::byte>& stored) {
  Container& container = to.file->container();
  const unsigned d = slowest_dimension(box);
  if (stored.size() <= container.largest_record() || d == box.rank())
    return container.write_variable(to.number, box, stored, to.all_members());
  Box first = box;
  first.count[d] /= 2;
  Box second = box;
  second.start[d] += first.count[d];
  second.count[d] -= first.count[d];
  for (const Box& half : {first, second}) {
    BENTO_ASSIGN(const auto bytes, to.variable->cut(box, stored, half));
    BENTO_TRY(write_stored(to, half, bytes));
  }
  return {};
}

}  // namespace

Status write_variable_box(DatasetState& state, const Box& box, const std::byte* elements,
                          const WrittenMembers* written) {
  return VariableWriter(state, elements, written).write(box);
}

Status read_variable_box(Object* object, DatasetState& state, const Box& box, std::byte* elements,
                         const ValueOwner& owner) {
  std::fill_n(elements, box.elements() * state.element_bytes, std::byte{0});
  const auto read = [&]() -> Status {
    BENTO_ASSIGN(const RecordLookup lookup, state.file->container().find(state.number, box));
    for (const auto& piece : lookup.pieces)
      BENTO_TRY(decode_piece(state, lookup.records[piece.record], piece.part, box, elements,
                             owner.allocate));
    for (const auto& hole : lookup.uncovered)
      BENTO_TRY(fill_hole(object, state, hole, box, elements, owner.allocate));
    return {};
  };
  Status done = read();
  if (!done) state.variable->release(elements, box.elements(), owner.free);
  return done;
}

Status copy_variable(DatasetState& from, const Box& box, DatasetState& to) {
  if (from.file != to.file && from.variable->has_references())
    return for_each_written(from, box, [&](const Box& part, const std::byte* elements) {
      return write_variable_box(to, part, elements, to.all_members());
    });
  Container& container = from.file->container();
  const auto find = [&](const Box& part) {
    return read_of_one_step(container, [&] { return container.find(from.number, part); });
  };
  BENTO_ASSIGN(const RecordLookup written, find(box));
  for (const auto& piece : written.pieces) {
    // Asked again, since a write to the same container may move what still gathers in memory.
    BENTO_ASSIGN(const RecordLookup now, find(piece.part));
    for (const auto& found : now.pieces) {
      const Record& record = now.records[found.record];
      BENTO_TRY(check_variable(record));
      BENTO_ASSIGN(auto stored,
                   read_of_one_step(container, [&] { return container.read_stored(record); }));
      if (!(found.part == record.box)) {
        BENTO_ASSIGN(stored, from.variable->cut(record.box, stored, found.part));
      }
      BENTO_TRY(write_stored(to, found.part, stored));
    }
  }
  return {};
}

Status for_each_written(DatasetState& from, const Box& box, const WriteElements& write) {
  Container& container = from.file->container();
  BENTO_ASSIGN(const RecordLookup written,
               read_of_one_step(container, [&] { return container.find(from.number, box); }));
  ValueArena arena;
  std::vector<std::byte> elements;
  for (const auto& piece : written.pieces) {
    elements.resize(piece.part.elements() * from.element_bytes);
    BENTO_TRY(read_of_one_step(container, [&] {
      arena.clear();
      from.references.clear();
      return decode_piece(from, written.records[piece.record], piece.part, piece.part,
                          elements.data(),
                          [&arena](std::size_t bytes) { return arena.allocate(bytes); });
    }));
    from.variable->clear_references(elements.data(), piece.part.elements());
    BENTO_TRY(write(piece.part, elements.data()));
  }
  return {};
}

}  // namespace bento::vol
