// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The filters of a dataset. Deflate, with shuffle before it or without, runs directly
/// (hdf5/data/direct_filters.hpp). The library's filter pipeline has no public entry, so for all
/// else a piece goes through a one-chunk dataset in memory with the user's creation properties:
/// every registered filter then works as it does natively. The chunk of that dataset has the
/// piece's own shape, because some filters take their parameters from it when a dataset is created.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/geometry/box.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/data/direct_filters.hpp"

namespace bento::vol {

/// The filters of one chunked dataset. Keeps its memory file and the scratch datasets of the last
/// few shapes; they are objects of the native connector without identifiers, so the application
/// does not find them among its open objects. Task-local.
class FilterScratch {
 public:
  /// `dcpl` must have a chunk shape and is copied; `type`, the file type, must outlive what is
  /// made. Null if the list has no filters.
  static Result<std::unique_ptr<FilterScratch>> make(hid_t dcpl, hid_t type);
  ~FilterScratch();
  FilterScratch(const FilterScratch&) = delete;
  FilterScratch& operator=(const FilterScratch&) = delete;

  /// Shape of the dataset's chunks.
  [[nodiscard]] const Dims& chunk() const { return chunk_; }
  /// Does the creation list ask to leave chunks unfiltered that the extent cuts
  /// (H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS)?
  [[nodiscard]] bool spares_partial_chunks() const { return spares_partial_chunks_; }
  /// Does what was filtered come back as it was? See filters_keep_values().
  [[nodiscard]] bool keeps_values() const { return keeps_values_; }
  /// Has anything gone through the library's filter pipeline yet?
  [[nodiscard]] bool used_library() const { return root_ != nullptr; }

  /// Can the filters be set up for a chunk of this shape? Some refuse shapes that are too small.
  bool accepts(const Dims& shape);
  /// Runs the filters over the elements of one piece, row-major. `stored` is resized to what HDF5
  /// would store; `mask` gets a bit for each filter that was skipped, an optional one that gained
  /// nothing for example. `elements` are all of the shape. Errors: kInvalidArgument (a filter
  /// failed or is not available).
  Status filter(const Dims& shape, std::span<const std::byte> elements,
                std::vector<std::byte>& stored, std::uint32_t& mask);
  /// The reverse: all elements of the piece go to `elements`. Errors: kCorrupt (the bytes do not
  /// pass the filters), kInvalidArgument (a filter is not available).
  Status unfilter(const Dims& shape, std::span<const std::byte> stored, std::uint32_t mask,
                  std::byte* elements);

 private:
  enum class Use { kWrite, kRead };
  struct Slot {
    Dims shape;
    Use use;
    std::uint32_t mask;  ///< filters that its creation list lacks
    void* dataset;
  };

  FilterScratch() = default;
  Status open_file();
  Result<void*> dataset(const Dims& shape, Use use, std::uint32_t mask);
  /// Nothing if the library has all filters that are not skipped.
  [[nodiscard]] std::optional<Error> lacks_filter(std::uint32_t mask) const;

  PlistHandle dcpl_;
  PlistHandle dapl_;
  hid_t type_ = H5I_INVALID_HID;  ///< borrowed
  std::size_t element_bytes_ = 0;
  std::optional<DirectFilters> direct_;
  Dims chunk_;
  bool spares_partial_chunks_ = false;
  bool keeps_values_ = false;
  void* root_ = nullptr;     ///< of the memory file, which closes with the last object in it
  std::vector<Slot> slots_;  ///< last used first
};

}  // namespace bento::vol
