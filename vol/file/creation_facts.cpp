// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/creation_facts.hpp"

#include <array>

namespace bento::vol {

CreationFacts facts_of_list(hid_t dcpl) {
  CreationFacts facts;
  facts.layout = H5Pget_layout(dcpl);
  facts.filters = H5Pget_nfilters(dcpl);
  if (facts.layout == H5D_CONTIGUOUS) facts.external = H5Pget_external_count(dcpl);
  if (facts.layout == H5D_CHUNKED) {
    std::array<hsize_t, H5S_MAX_RANK> sizes{};
    const int rank = H5Pget_chunk(dcpl, static_cast<int>(sizes.size()), sizes.data());
    if (rank > 0) facts.chunk = Dims(static_cast<unsigned>(rank));
    for (unsigned d = 0; d < facts.chunk.rank(); ++d) facts.chunk[d] = sizes[d];
    if (H5Pget_chunk_opts(dcpl, &facts.options) < 0) facts.options = 0;
  }
  if (H5Pget_alloc_time(dcpl, &facts.allocated) < 0) facts.allocated = H5D_ALLOC_TIME_DEFAULT;
  facts.fill_known =
      H5Pget_fill_time(dcpl, &facts.filled) >= 0 && H5Pfill_value_defined(dcpl, &facts.fill) >= 0;
  return facts;
}

CreationFactsOf::CreationFactsOf(hid_t dcpl) {
  if (dcpl == H5P_LST_DATASET_CREATE_ID_g) {
    static const CreationFacts of_default = facts_of_list(dcpl);
    facts_ = &of_default;
    return;
  }
  own_ = facts_of_list(dcpl);
  facts_ = &own_;
}

}  // namespace bento::vol
