// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/fti/source.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace bento::fti {

Status MemorySource::read_at(std::uint64_t offset, std::span<std::byte> into) {
  if (offset > bytes_.size() || into.size() > bytes_.size() - offset)
    return fail(Code::kCorrupt,
                fmt::format("{}: {} bytes wanted at byte {}, but it ends at byte {}", name_,
                            into.size(), offset, bytes_.size()));
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
  return {};
}

Status for_each_piece(Source& source, std::uint64_t begin, std::uint64_t end,
                      const std::function<void(std::span<const std::byte>)>& use) {
  constexpr std::uint64_t kPieceBytes = 1u << 20;
  if (begin >= end) return {};
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(kPieceBytes, end - begin)));
  for (std::uint64_t at = begin; at < end;) {
    const auto piece = std::span(buffer).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), end - at)));
    BENTO_TRY(source.read_at(at, piece));
    use(piece);
    at += piece.size();
  }
  return {};
}

Result<ChecksumText> md5_text(Source& source, std::uint64_t begin, std::uint64_t end) {
  Md5 hash;
  BENTO_TRY(for_each_piece(source, begin, end,
                           [&](std::span<const std::byte> piece) { hash.update(piece); }));
  return to_text(hash.digest());
}

}  // namespace bento::fti
