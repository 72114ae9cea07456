// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Datasets of an HDF5 file whose storage lies where somebody else has written it already: the
/// library takes the place that the view's driver has for it, and writes nothing there.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/container/piece_grid.hpp"
#include "core/container/pieces.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/base/unread_memory.hpp"
#include "hdf5/view/view_file.hpp"

namespace bento::vol {

/// The creation list of datasets for adopt_contiguous(): `dcpl` without its filters, and the
/// library is not to fill them. Errors: kInternal.
Result<PlistHandle> contiguous_list(hid_t dcpl);
/// Creates a dataset, anonymous in `file`, whose data are the `bytes` at `address`; `list` is a
/// contiguous_list(). Errors: kInternal.
Result<DatasetHandle> adopt_contiguous(hid_t file, ViewFile& view, std::uint64_t address,
                                       std::uint64_t bytes, hid_t type, hid_t space, hid_t list);

/// Creates a dataset, anonymous in `file`, with such chunks, none of which is there yet. `dcpl` is
/// its creation list, but for the layout; `filtered`: with its filters. Errors: kInternal.
Result<DatasetHandle> create_chunked(hid_t file, const Dims& chunk, hid_t type, hid_t space,
                                     hid_t dcpl, bool filtered);
/// Gives chunks of a dataset the places where they lie. With many of them it must be linked: what
/// is anonymous is lost when its header leaves the library's cache (docs/hdf5-traps.md).
class ChunkAdopter {
 public:
  /// For `dataset` in `file`, the file of `view`; both must outlive it. Errors: kInternal.
  static Result<ChunkAdopter> of(hid_t file, ViewFile& view, hid_t dataset);
  /// A chunk that is not there yet. Errors: kNoSpace (address space), kInternal, those of the view.
  Status add(const ViewChunk& chunk);

 private:
  ChunkAdopter(ViewFile& view, hid_t dataset) : view_(&view), dataset_(dataset) {}

  ViewFile* view_;
  hid_t dataset_;
  std::unique_ptr<UnreadMemory> nothing_;
};
Status adopt_chunks(hid_t file, ViewFile& view, hid_t dataset,
                    const std::vector<ViewChunk>& chunks);

/// The creation list for adopt_source() of such sources: `dcpl` itself if they are filtered, else a
/// contiguous_list(). Errors: kInternal.
Result<PlistHandle> list_of_source(Encoding encoding, hid_t dcpl);
/// Creates a dataset, anonymous in `file`, whose storage is `source`: one chunk if it is filtered,
/// else contiguous. Errors: kInternal.
Result<DatasetHandle> adopt_source(hid_t file, ViewFile& view, const ViewSource& source, hid_t type,
                                   hid_t space, hid_t list);

}  // namespace bento::vol
