// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/unwritten_elements.hpp"

#include "core/base/guarded.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "hdf5/data/stored_chunks.hpp"
#include "vol/file/native_dataset.hpp"

namespace bento::vol {

namespace {

/// A gap as long as a chunk may have one in it that nobody has touched. It must not come to be
/// there.
Result<UnwrittenElements> unwritten_elements(const Object* object, DatasetState& state) {
  UnwrittenElements out;
  BENTO_ASSIGN(const PlistHandle dcpl, native_dcpl(object));
  BENTO_ASSIGN(const Dims* const extent, state.look_at_extent(object));
  out.most = Dims(extent->rank(), kMostElements);
  if (H5Pget_layout(dcpl.get()) == H5D_CHUNKED) {
    BENTO_ASSIGN(out.most, chunk_shape(dcpl.get(), extent->rank()));
    for (unsigned d = 0; d < out.most.rank(); ++d) --out.most[d];
  }
  BENTO_ASSIGN(const auto* const value, state.fill_value(object));
  if (state.lacks_fill_value()) return out;
  out.value = *value;
  out.range = state.range_of(out.value);
  return out;
}

}  // namespace

void tell_unwritten(const Object* object, DatasetState& state) {
  Container& container = state.file->container();
  if (!container.asks_unwritten(state.number)) return;
  const QuietErrors quiet;
  (void)guarded([&]() -> Status {
    auto known = unwritten_elements(object, state);
    container.note_unwritten(state.number, known ? std::move(*known) : UnwrittenElements{});
    return {};
  });
}

}  // namespace bento::vol
