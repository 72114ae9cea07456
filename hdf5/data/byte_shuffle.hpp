// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What HDF5's filter shuffle does to the bytes of elements: first the first byte of each, then the
/// second of each, and so on. Bytes behind the last whole element stay where they are.
#pragma once

#include <cstddef>
#include <span>

namespace bento::vol {

/// Does the filter change that many bytes at all? It leaves a single element as it is.
constexpr bool shuffle_changes(std::size_t bytes, std::size_t element_bytes) {
  return element_bytes > 1 && bytes / element_bytes > 1;
}

/// `to` has as many bytes as `from`, and lies elsewhere. `element_bytes` is not 0.
void shuffle_bytes(std::size_t element_bytes, std::span<const std::byte> from, std::byte* to);
/// The reverse.
void unshuffle_bytes(std::size_t element_bytes, std::span<const std::byte> from, std::byte* to);

}  // namespace bento::vol
