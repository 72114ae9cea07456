// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/early_fill.hpp"

namespace bento::vol {

// Chunks are filled with zeros if no fill value was set; contiguous storage is not.
EarlyFill::EarlyFill(const CreationFacts& list, bool early) {
  virtual_ = list.layout == H5D_VIRTUAL;
  if (!early || !list.fill_known) return;
  const bool always = list.filled == H5D_FILL_TIME_ALLOC;
  const bool if_set = list.filled == H5D_FILL_TIME_IFSET;
  if (list.layout == H5D_CONTIGUOUS) {
    fills_ = list.external == 0 && (always || (if_set && list.user_fill()));
    return;
  }
  if (list.layout != H5D_CHUNKED || list.chunk.rank() == 0) return;
  chunked_ = true;
  chunk_ = list.chunk;
  for (const auto size : chunk_.view())
    if (size == 0) return;
  fills_ = list.filters > 0 || always ||
           (if_set && (list.user_fill() || list.fill == H5D_FILL_VALUE_DEFAULT));
}

bool EarlyFill::at_creation(const Dims& extent) const {
  return virtual_ || (fills_ && !Box::whole(extent).empty());
}

bool EarlyFill::at_change(const Dims& before, const Dims& after) const {
  if (!fills_ || !chunked_ || Box::whole(after).empty()) return false;
  if (Box::whole(before).empty()) return true;
  for (unsigned d = 0; d < chunk_.rank() && d < after.rank(); ++d)
    if ((after[d] - 1) / chunk_[d] > (before[d] - 1) / chunk_[d]) return true;  // not empty
  return false;
}

}  // namespace bento::vol
