// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/segment_chain.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"

namespace bento {

namespace {
constexpr std::size_t kRefBytes = 8 + 8 + 16;
}

Result<CatalogueRef> append_segment(Catalogue& catalogue, const CatalogueRef& previous,
                                    std::span<const std::byte> segment, Position& end) {
  ByteWriter out;
  out.u64(previous.position);
  out.u64(previous.bytes);
  out.bytes(previous.hash);
  out.bytes(segment);
  return catalogue.append(end, out.view());
}

Result<std::vector<std::vector<std::byte>>> read_segments(Catalogue& catalogue,
                                                          const CatalogueRef& newest,
                                                          const CatalogueRef& until) {
  std::vector<std::vector<std::byte>> chain;
  CatalogueRef at = newest;
  while (at.bytes != 0 && !(at == until)) {
    BENTO_ASSIGN(const auto blob, catalogue.read(at, "index segment"));
    ByteReader in(blob, std::endian::little, "index segment");
    CatalogueRef previous;
    BENTO_ASSIGN(previous.position, in.u64());
    BENTO_ASSIGN(previous.bytes, in.u64());
    BENTO_ASSIGN(const auto hash, in.bytes(16));
    std::copy(hash.begin(), hash.end(), previous.hash.begin());
    if (previous.bytes != 0 && previous.position >= at.position)
      return fail(Code::kCorrupt,
                  fmt::format("index segment at position {} names a predecessor at {}", at.position,
                              previous.position));
    chain.emplace_back(blob.begin() + kRefBytes, blob.end());
    at = previous;
  }
  if (!(at == until) && until.bytes != 0)
    return fail(Code::kCorrupt,
                "the chain of index segments does not lead back to the one already read");
  std::reverse(chain.begin(), chain.end());
  return chain;
}

}  // namespace bento
