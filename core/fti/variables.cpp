// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/fti/variables.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/checked.hpp"

namespace bento::fti {

Result<Variables> Variables::of(const Checkpoint& checkpoint) {
  Variables variables;
  for (const Block& block : checkpoint.blocks)
    for (const Container& c : block.containers)
      if (c.hascontent)
        variables.pieces_[c.id].push_back({c.dptr, c.fptr, c.chunksize, c.record_offset});

  for (auto& [id, pieces] : variables.pieces_) {
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
      return a.dptr != b.dptr ? a.dptr < b.dptr : a.bytes < b.bytes;
    });
    std::uint64_t at = 0;
    for (const Piece& piece : pieces) {
      if (piece.dptr != at)
        return fail(
            Code::kCorrupt,
            fmt::format("variable {}: the record at byte {} holds its bytes from {} on, want {}",
                        id, piece.record_offset, piece.dptr, at));
      BENTO_ASSIGN(at, checked_add(at, piece.bytes));
    }
    // Empty chunks only say that the variable is there.
    std::erase_if(pieces, [](const Piece& piece) { return piece.bytes == 0; });
  }
  return variables;
}

std::vector<Protected> Variables::list() const {
  std::vector<Protected> all;
  all.reserve(pieces_.size());
  for (const auto& [id, pieces] : pieces_)
    all.push_back({id, pieces.empty() ? 0 : pieces.back().dptr + pieces.back().bytes});
  return all;
}

Status Variables::read(Source& source, std::int32_t id, std::uint64_t offset,
                       std::span<std::byte> into) const {
  const auto found = pieces_.find(id);
  if (found == pieces_.end())
    return fail(Code::kNotFound, fmt::format("{}: no variable {}", source.name(), id));
  const auto& pieces = found->second;
  const std::uint64_t end = pieces.empty() ? 0 : pieces.back().dptr + pieces.back().bytes;
  if (offset > end || into.size() > end - offset)
    return fail(Code::kInvalidArgument,
                fmt::format("{}: {} bytes wanted at byte {} of variable {}, which has {}",
                            source.name(), into.size(), offset, id, end));
  auto piece = std::upper_bound(pieces.begin(), pieces.end(), offset,
                                [](std::uint64_t at, const Piece& p) { return at < p.dptr; });
  if (piece != pieces.begin()) --piece;
  while (!into.empty()) {
    const std::uint64_t skip = offset - piece->dptr;
    const auto now =
        static_cast<std::size_t>(std::min<std::uint64_t>(piece->bytes - skip, into.size()));
    BENTO_TRY(source.read_at(piece->fptr + skip, into.first(now)));
    into = into.subspan(now);
    offset += now;
    ++piece;
  }
  return {};
}

}  // namespace bento::fti
