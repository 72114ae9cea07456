// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A private HDF5 file in memory, in whose global heap HDF5 puts the regions of references, instead
/// of in the skeleton, and the driver through which it gets there.
///
/// Everything in it lies at addresses that no skeleton has. Below them it has one object header for
/// each dataset of the skeleton, at the dataset's own address, made up when it is read: it holds
/// the dataset's extent and nothing else, which is what H5Rget_region looks for in the file that
/// has the heap.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"

namespace bento::vol {

/// Addresses from there on are those of private files: no skeleton is as long.
inline constexpr std::uint64_t kPrivateAddresses = std::uint64_t{1} << 60;

/// Task-local.
class RegionStore {
 public:
  /// The extent of the dataset at an address of the skeleton. Errors: kNotFound.
  using ExtentAt = std::function<Result<SpaceHandle>(std::uint64_t address)>;

  /// `first`: the file's addresses begin there; a multiple of 8 from kPrivateAddresses on.
  RegionStore(std::uint64_t first, ExtentAt extent_at)
      : first_(first), end_(first), extent_at_(std::move(extent_at)) {}

  /// Is there an address of what was allocated?
  [[nodiscard]] bool has(std::uint64_t address) const {
    return address >= first_ && address < end_;
  }
  /// Were any extents read since the file was opened? The library keeps them.
  [[nodiscard]] bool showed_extents() const { return !headers_.empty(); }
  void forget_extents() { headers_.clear(); }

  // What the driver does.
  [[nodiscard]] std::uint64_t end() const { return begun_ ? end_ : 0; }
  void set_end(std::uint64_t address);
  std::uint64_t allocate(H5FD_mem_t type, std::uint64_t bytes);
  Status read(H5FD_mem_t type, std::uint64_t address, std::span<std::byte> into);
  Status write(std::uint64_t address, std::span<const std::byte> from);

 private:
  Status read_header(std::uint64_t address, std::span<std::byte> into);

  std::uint64_t first_;
  std::uint64_t end_;
  ExtentAt extent_at_;
  bool begun_ = false;  ///< before, the file must look new
  std::vector<std::byte> superblock_;
  std::vector<std::byte> bytes_;                             ///< from `first_` on
  std::map<std::uint64_t, std::vector<std::byte>> headers_;  ///< that were made up, by address
};

/// Makes `fapl` create or open the file of `store`, with the native connector.
herr_t set_fapl_regions(hid_t fapl, const std::shared_ptr<RegionStore>& store);
/// Forgets the driver's id; called when the connector terminates.
void region_driver_forget();

}  // namespace bento::vol
