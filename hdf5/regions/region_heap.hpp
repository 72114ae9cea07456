// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The regions to which a program has references in memory, of one open container: a global heap
/// beside the skeleton. So what one rank does with references changes no skeleton.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "hdf5/data/region_values.hpp"
#include "hdf5/regions/region_store.hpp"

namespace bento::vol {

class RegionHeap final : public RegionValues {
 public:
  /// `first`: as for RegionStore; no other heap of this process, or of another rank, may have it.
  explicit RegionHeap(std::uint64_t first);
  ~RegionHeap() override;
  RegionHeap(const RegionHeap&) = delete;
  RegionHeap& operator=(const RegionHeap&) = delete;

  /// The native library's file (H5F_t) for one call that makes a reference, or follows one. It
  /// shows the extents of the datasets of `skeleton`, another such file. `extents`: a number that
  /// grows with any change of these. Errors: kInternal.
  Result<void*> file(void* skeleton, std::uint64_t extents);

  Result<std::vector<std::byte>> get(const std::byte* reference) override;
  Status put(std::span<const std::byte> region, std::byte* reference) override;

 private:
  using Reference = std::array<std::byte, kRegionReferenceBytes>;

  Status open();
  void close() noexcept;
  Status flush();
  Result<SpaceHandle> extent_at(std::uint64_t address) const;

  std::shared_ptr<RegionStore> store_;
  void* root_ = nullptr;  ///< of the file, which closes with the last object in it
  void* file_ = nullptr;
  bool created_ = false;
  bool flushed_ = false;
  void* skeleton_ = nullptr;
  std::uint64_t extents_ = 0;
  std::map<std::vector<std::byte>, Reference> known_;  ///< what put() has made
};

}  // namespace bento::vol
