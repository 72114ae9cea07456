// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Of records that overlap, which is seen where.
#pragma once

#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/geometry/box.hpp"
#include "core/records/query_budget.hpp"
#include "core/records/record.hpp"

namespace bento {

/// One answer of a query: `part` of the selection is found in `record`.
struct Piece {
  std::size_t record = 0;  ///< number of the candidate: for Index::record()
  Box part;                ///< lies in both the selection and the record's box
};

struct Lookup {
  std::vector<Piece> pieces;   ///< disjoint
  std::vector<Box> uncovered;  ///< what nobody wrote: the fill value
};

/// A Lookup that brings its records along; `pieces` name them by their place in `records`.
struct RecordLookup {
  std::vector<Record> records;
  std::vector<Piece> pieces;   ///< disjoint
  std::vector<Box> uncovered;  ///< what nobody wrote: the fill value
};

/// A record that may be seen.
struct Candidate {
  std::size_t record = 0;
  Order order;
  Box visible;  ///< after clipping
};

/// Is `a` seen where both are? Equal orders come from one write that was cut in pieces: the larger
/// record number breaks the tie.
bool is_newer(const Candidate& a, const Candidate& b);

/// Appends to `out` which parts of `selection` are seen in which candidate, the latest winning (of
/// equal orders the larger number), and what none covers. Cost O(n log n) unless many overlap: a
/// few planes that cross in many dimensions leave more pieces than any memory holds. Errors: the
/// budget's.
Status resolve_latest(const Box& selection, std::vector<const Candidate*> candidates,
                      QueryBudget& budget, Lookup& out);
Status resolve_latest(const Box& selection, std::span<const Candidate> candidates,
                      QueryBudget& budget, Lookup& out);

}  // namespace bento
