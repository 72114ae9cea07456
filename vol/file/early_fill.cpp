// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/early_fill.hpp"

#include <array>

namespace bento::vol {

// Chunks are filled with zeros if no fill value was set; contiguous storage is not.
EarlyFill::EarlyFill(hid_t dcpl, bool early) {
  const H5D_layout_t layout = H5Pget_layout(dcpl);
  virtual_ = layout == H5D_VIRTUAL;
  if ((layout != H5D_CHUNKED && layout != H5D_CONTIGUOUS) || !early) return;
  const bool filters = H5Pget_nfilters(dcpl) > 0;
  H5D_fill_time_t when = H5D_FILL_TIME_IFSET;
  H5D_fill_value_t defined = H5D_FILL_VALUE_DEFAULT;
  if (H5Pget_fill_time(dcpl, &when) < 0 || H5Pfill_value_defined(dcpl, &defined) < 0) return;
  const bool set = defined == H5D_FILL_VALUE_USER_DEFINED;
  if (layout == H5D_CONTIGUOUS) {
    fills_ = H5Pget_external_count(dcpl) == 0 &&
             (when == H5D_FILL_TIME_ALLOC || (when == H5D_FILL_TIME_IFSET && set));
    return;
  }
  std::array<hsize_t, kMaxRank> dims{};
  const int rank = H5Pget_chunk(dcpl, kMaxRank, dims.data());
  if (rank <= 0) return;
  chunked_ = true;
  chunk_ = Dims(static_cast<unsigned>(rank));
  for (unsigned d = 0; d < chunk_.rank(); ++d) {
    if (dims[d] == 0) return;
    chunk_[d] = dims[d];
  }
  fills_ = filters || when == H5D_FILL_TIME_ALLOC ||
           (when == H5D_FILL_TIME_IFSET && (set || defined == H5D_FILL_VALUE_DEFAULT));
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
