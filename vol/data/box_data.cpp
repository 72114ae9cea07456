// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/box_data.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "vol/data/filtered_data.hpp"
#include "vol/data/table_columns.hpp"
#include "vol/data/unwritten_elements.hpp"

namespace bento::vol {

Status write_box(Object* object, DatasetState& state, const Box& box, const std::byte* data,
                 const WrittenMembers* written) {
  const std::span bytes(data, static_cast<std::size_t>(box.count.bytes(state.element_bytes)));
  if (bytes.size() >= kFilteredChunkBytes) {
    BENTO_ASSIGN(const bool filtered, write_filtered(object, state, box, data, written));
    if (filtered) return {};
  }
  BENTO_ASSIGN(const auto cut, cut_of_write(object, state, box));
  if (cut) {
    SpanSource source(bytes);
    return write_table(state, box, *cut, source, written);
  }
  BENTO_TRY(state.file->container().write(state.number, box, state.element_bytes, bytes,
                                          state.range_of(bytes), written));
  tell_unwritten(object, state);
  return {};
}

Result<bool> writes_in_strips(Object* object, DatasetState& state, const Box& box) {
  if (state.file->config().minmax) return false;
  BENTO_ASSIGN(const bool filtered, is_filtered(object, state, box));
  return !filtered;
}

Status write_box(Object* object, DatasetState& state, const Box& box, ByteSource& data,
                 const WrittenMembers* written) {
  BENTO_ASSIGN(const auto cut, cut_of_write(object, state, box));
  if (cut) return write_table(state, box, *cut, data, written);
  BENTO_TRY(state.file->container().write(state.number, box, state.element_bytes, data, written));
  tell_unwritten(object, state);
  return {};
}

namespace {
/// A piece of a lookup, and where its record lies.
struct Placed {
  Location where;
  std::size_t record;
  const Box* part;
  [[nodiscard]] std::pair<Location, std::size_t> key() const { return {where, record}; }
};
}  // namespace

Status read_box(Object* object, DatasetState& state, const Box& box, std::byte* to) {
  Container& container = state.file->container();
  const Record* one = container.find_one(state.number, box);
  if (one == nullptr) {
    BENTO_ASSIGN(one, container.find_at_once(state.number, box));
  }
  if (one != nullptr && one->encoding == Encoding::kPlain)
    return container.read(*one, box, state.element_bytes, box, to);
  if (one != nullptr && one->encoding == Encoding::kFiltered)
    return read_filtered(object, state, *one, box, box, to);
  BENTO_ASSIGN(const RecordLookup lookup, container.find(state.number, box));
  // What is left of a large record under many small ones is read in one go, and all in the order
  // in which it lies in the files, where one record leads to the next (ReadAhead).
  std::vector<Placed> placed;
  placed.reserve(lookup.pieces.size());
  for (const Piece& piece : lookup.pieces)
    placed.push_back({lookup.records[piece.record].where, piece.record, &piece.part});
  if (placed.size() > 1) std::ranges::stable_sort(placed, {}, &Placed::key);
  std::vector<Box> parts;
  for (auto piece = placed.begin(); piece != placed.end();) {
    const Record& record = lookup.records[piece->record];
    parts.clear();
    for (const std::size_t same = piece->record; piece != placed.end() && piece->record == same;
         ++piece)
      parts.push_back(*piece->part);
    if (record.encoding == Encoding::kVariable)
      return fail(Code::kCorrupt, "variable-length elements in a dataset of fixed-size ones");
    if (record.encoding == Encoding::kPlain) {
      BENTO_TRY(container.read(record, parts, state.element_bytes, box, to));
      continue;
    }
    for (const Box& part : parts) BENTO_TRY(read_filtered(object, state, record, part, box, to));
  }
  if (!lookup.uncovered.empty()) {
    BENTO_ASSIGN(const auto* const fill, state.fill_value(object));
    for (const auto& hole : lookup.uncovered) fill_box(hole, box, to, *fill);
  }
  return {};
}

}  // namespace bento::vol
