// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a dataset creation list says that decides how the dataset is stored. One creation asks for
/// it in many places, and each question to the library costs as much as a small write.
#pragma once

#include <hdf5.h>

#include "core/geometry/box.hpp"

namespace bento::vol {

struct CreationFacts {
  H5D_layout_t layout = H5D_LAYOUT_ERROR;
  int filters = 0;       ///< their number; negative: unknown
  int external = 0;      ///< number of external files
  Dims chunk;            ///< H5D_CHUNKED; no dimensions if it cannot be read
  unsigned options = 0;  ///< H5D_CHUNKED: as H5Pset_chunk_opts
  H5D_alloc_time_t allocated = H5D_ALLOC_TIME_DEFAULT;
  H5D_fill_time_t filled = H5D_FILL_TIME_IFSET;
  H5D_fill_value_t fill = H5D_FILL_VALUE_UNDEFINED;
  bool fill_known = false;  ///< could `filled` and `fill` be read?

  [[nodiscard]] bool user_fill() const { return fill_known && fill == H5D_FILL_VALUE_USER_DEFINED; }
};

/// Of any list. What cannot be read stays as it is above; errors of the library are not reported.
CreationFacts facts_of_list(hid_t dcpl);

/// The same; the library's default list, which nobody changes, is asked once.
class CreationFactsOf {
 public:
  explicit CreationFactsOf(hid_t dcpl);
  const CreationFacts& operator*() const { return *facts_; }
  const CreationFacts* operator->() const { return facts_; }
  CreationFactsOf(const CreationFactsOf&) = delete;
  CreationFactsOf& operator=(const CreationFactsOf&) = delete;

 private:
  CreationFacts own_;
  const CreationFacts* facts_;
};

}  // namespace bento::vol
