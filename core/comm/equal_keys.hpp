// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Merging among those ranks only that have something in common, a node for instance, wherever they
/// stand among all ranks. A tree cannot do it in short messages: two halves of it do not know
/// whether they have a key in common before one has sent all of its keys.
///
/// Here each key has a home, a rank that its hash names, where all that belongs to the key meets.
/// What a rank has for a home goes there in log2 N shifts, one for each power of two in the
/// distance, with what other ranks have for other homes beside it; what is of one key is merged
/// wherever it meets on the way. The answers go back the same ways. Source: J. Bruck, C.-T. Ho,
/// S. Kipnis, E. Upfal and D. Weathersby, "Efficient algorithms for all-to-all communications in
/// multiport message-passing systems", IEEE Transactions on Parallel and Distributed Systems 8
/// (1997) 1143, whose index algorithm with two ranks to a step this is, of sparse and merged data.
#pragma once

#include <span>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/comm/communicator.hpp"

namespace bento {

/// Merges the payloads of all ranks that have the same key as this one, and returns that on each of
/// them. Keys are hashes, so that their homes are spread over the ranks. merge() gets what was
/// brought in any order and grouping: it must be associative and commutative; it cannot fail.
/// Collective; sends and gets 2 ceil(log2 N) messages each on every rank. Of N ranks each passes on
/// about log2 N payloads or fewer, with 17 bytes each one way and one byte the other. Errors:
/// kPeer; kCorrupt on this rank only (a message that none of these has sent).
Result<Bytes> combine_equal(Communicator& ranks, const Hash128& key,
                            std::span<const std::byte> payload, const Communicator::Merge& merge);

}  // namespace bento
