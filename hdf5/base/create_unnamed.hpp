// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A dataset as another one is, whatever way that has come to be so.
#pragma once

#include <array>

#include <hdf5.h>

#include "hdf5/base/handle.hpp"

namespace bento::vol {

/// H5Dcreate_anon(). The library holds chunks against dimensions that cannot grow only where a
/// dataset is created with elements in it. What a program made empty and then made larger is made
/// in this way here, too. Invalid: it is refused.
inline DatasetHandle create_unnamed(hid_t to, hid_t type, hid_t space, hid_t list) {
  DatasetHandle made(H5Dcreate_anon(to, type, space, list, H5P_DEFAULT));
  if (made.valid() || H5Pget_layout(list) != H5D_CHUNKED) return made;
  std::array<hsize_t, H5S_MAX_RANK> dims{};
  std::array<hsize_t, H5S_MAX_RANK> most{};
  const std::array<hsize_t, H5S_MAX_RANK> none{};
  const int rank = H5Sget_simple_extent_dims(space, dims.data(), most.data());
  if (rank <= 0) return made;
  const SpaceHandle empty(H5Screate_simple(rank, none.data(), most.data()));
  made = DatasetHandle(H5Dcreate_anon(to, type, empty.get(), list, H5P_DEFAULT));
  if (made.valid() && H5Dset_extent(made.get(), dims.data()) < 0) made.reset();
  return made;
}

}  // namespace bento::vol
