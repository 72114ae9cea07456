// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// An open virtual dataset: its mappings, its sources, and the extent that it is seen with. HDF5's
/// own code for it would open containers as the ordinary files that their native views are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "vol/data/virtual_layout.hpp"
#include "vol/file/dataset_state.hpp"
#include "vol/file/virtual_sources.hpp"

namespace bento::vol {

struct VirtualDataset {
  VirtualDataset(VirtualLayout described, const Object* holder, PlistHandle dapl)
      : layout(std::move(described)),
        sources(holder, std::move(dapl)),
        extent(layout.extent),
        known_blocks(layout.mappings.size()) {}

  VirtualLayout layout;
  VirtualSources sources;
  /// As natively that of the file until somebody asks for the dataspace.
  Dims extent;
  /// Of each series: how many of its sources were found then; none before that.
  std::vector<std::optional<std::uint64_t>> known_blocks;
};

/// That of a dataset whose home is kVirtual; made on first use. Task-local.
Result<VirtualDataset*> virtual_dataset(const Object* object, DatasetState& state);

/// A virtual dataset that leads to itself, by way of others or not, has no elements. Lives as long
/// as its sources are looked at.
class VirtualDescent {
 public:
  /// Errors: kInvalidArgument (the dataset is among those that led here, or they are too many).
  static Result<VirtualDescent> into(const Object* dataset);
  VirtualDescent(VirtualDescent&& other) noexcept : holds_(std::exchange(other.holds_, false)) {}
  VirtualDescent& operator=(VirtualDescent&&) = delete;
  VirtualDescent(const VirtualDescent&) = delete;
  VirtualDescent& operator=(const VirtualDescent&) = delete;
  ~VirtualDescent();

 private:
  VirtualDescent() = default;
  bool holds_ = true;
};

/// The dataspace of a virtual dataset as H5Dget_space gives it: its extent follows from what
/// sources there are now. Errors: those of opening the sources.
Result<SpaceHandle> virtual_space(Object* object, DatasetState& state);

/// The dataspace of any dataset as a program sees it.
Result<SpaceHandle> space_seen(Object* object);

}  // namespace bento::vol
