// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/offline/index_shares.hpp"

#include <utility>

#include "core/catalogue/committed_index.hpp"

namespace bento {

Result<FtiShares> shares_in(const Index& index, std::uint32_t writers) {
  ShareFinder finder(writers);
  for (const DatasetNumber dataset : index.datasets()) {
    RecordLookup seen;
    BENTO_ASSIGN(Lookup found, index.find(dataset, whole_space(index.find(dataset)->rank)));
    seen.pieces = std::move(found.pieces);
    for (std::size_t i = 0; i < index.size(dataset); ++i)
      seen.records.push_back(index.record(dataset, i));
    finder.add(dataset, seen);
  }
  return std::move(finder).take();
}

}  // namespace bento
