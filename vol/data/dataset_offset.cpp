// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/dataset_offset.hpp"

#include "vol/file/file_context.hpp"
#include "vol/file/native_dataset.hpp"

namespace bento::vol {

Result<std::optional<haddr_t>> dataset_offset(const Object* object, DatasetState& state) {
  if (state.variable) return std::optional<haddr_t>();
  BENTO_ASSIGN(const PlistHandle dcpl, native_dcpl(object));
  if (H5Pget_layout(dcpl.get()) != H5D_CONTIGUOUS) return std::optional<haddr_t>();
  BENTO_ASSIGN(const Dims extent, state.extent(object));
  Container& container = state.file->container();
  return read_of_one_step(container,
                          [&] { return container.address_of(state.number, Box::whole(extent)); });
}

}  // namespace bento::vol
