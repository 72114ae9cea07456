// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The library's filter pipeline has no public entry, so one chunk goes through a one-chunk dataset
/// in memory with the user's creation properties: every registered filter then works as it does
/// natively.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"

namespace bento::vol {

/// Runs the filters of `dcpl` over one whole chunk of elements of `type`. Returns the stored bytes;
/// `mask` gets the filters that were skipped. Errors: kInvalidArgument (a filter is not available).
Result<std::vector<std::byte>> filter_chunk(hid_t dcpl, hid_t type,
                                            std::span<const std::byte> chunk, std::uint32_t& mask);
/// The reverse: stored bytes and their mask to the chunk's elements, `chunk_bytes` of them.
Result<std::vector<std::byte>> unfilter_chunk(hid_t dcpl, hid_t type,
                                              std::span<const std::byte> stored, std::uint32_t mask,
                                              std::size_t chunk_bytes);

}  // namespace bento::vol
