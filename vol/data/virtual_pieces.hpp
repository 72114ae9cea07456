// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where the elements of a selection of a virtual dataset are: pieces of memory, and the same
/// elements in a source.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"
#include "vol/data/virtual_dataset.hpp"

namespace bento::vol {

struct VirtualPiece {
  std::string file;
  std::string dataset;
  SpaceHandle memory;
  SpaceHandle source;
};

/// Calls `visit` for each piece whose source there is, with the source open, in the order of the
/// mappings: of an element that several have the last one counts. A mapping may have several.
/// `wanted` (in the virtual dataset) and `memory` are plain selections of as many elements;
/// `memory` is not irregular (is_irregular()). Errors: those of opening sources and of `visit`.
using PieceVisitor = std::function<Status(VirtualPiece piece, Object* source)>;
Status for_each_piece(VirtualDataset& dataset, VirtualSources::For purpose, hid_t wanted,
                      hid_t memory, const PieceVisitor& visit);

/// What of a selection in memory some piece has.
class PiecesInMemory {
 public:
  explicit PiecesInMemory(bool disjoint) : disjoint_(disjoint) {}
  void add(SpaceHandle memory);
  /// What no piece has of the plain selection `memory`, as a selection of its own.
  [[nodiscard]] Result<SpaceHandle> missing_of(hid_t memory) const;

 private:
  bool disjoint_;
  hssize_t elements_ = 0;
  std::vector<SpaceHandle> spaces_;
};

}  // namespace bento::vol
