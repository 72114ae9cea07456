// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/file.hpp"

#include <fmt/format.h>

namespace bento {

Status File::read_at(std::uint64_t offset, std::span<std::byte> into) {
  BENTO_ASSIGN(const std::size_t got, read_some(offset, into));
  if (got == into.size()) return {};
  // The end may lie far before `offset`.
  BENTO_ASSIGN(const std::uint64_t end, size());
  return fail(Code::kCorrupt,
              fmt::format("'{}' ends at byte {}: {} bytes wanted at offset {}, {} there", path(),
                          end, into.size(), offset, got));
}

}  // namespace bento
