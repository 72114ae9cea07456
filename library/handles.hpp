// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What stands behind the opaque handles of h5bento.h, and how libh5bento.so asks
/// libh5bento_hdf5.so. Both are of one build: the version is compared before anything else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "library/h5bento.h"

// In the global namespace, where h5bento.h declares them.
struct h5bento_steps {
  struct Step {
    std::uint64_t number = 0;
    std::vector<std::string> datasets;
  };
  std::vector<Step> steps;
};

struct h5bento_boxes {
  unsigned rank = 0;
  std::vector<std::vector<std::uint64_t>> starts;
  std::vector<std::vector<std::uint64_t>> counts;
  std::uint64_t skipped = 0;
};

struct h5bento_report {
  struct Damage {
    std::string text;
    std::string file;
    std::uint64_t offset = H5BENTO_UNKNOWN;
    std::uint64_t task = H5BENTO_UNKNOWN;
    std::uint64_t dataset = H5BENTO_UNKNOWN;
    std::uint64_t step = H5BENTO_UNKNOWN;
  };
  bool sound = false;
  std::uint64_t step = 0;
  std::uint64_t count = 0;
  std::vector<Damage> damage;
  std::vector<std::string> notes;
};

/// Filled and used by libh5bento_hdf5.so.
struct h5bento_dataset {
  virtual ~h5bento_dataset() = default;
  h5bento_dataset() = default;
  h5bento_dataset(const h5bento_dataset&) = delete;
  h5bento_dataset& operator=(const h5bento_dataset&) = delete;
  virtual bento::Status read(const std::uint64_t* start, const std::uint64_t* count, void* to,
                             std::size_t bytes) const = 0;
  [[nodiscard]] virtual std::int64_t hid() const = 0;

  std::uint64_t step = 0;
  std::vector<std::uint64_t> extent;
  std::size_t element_bytes = 0;
};

namespace bento::library {

/// What libh5bento_hdf5.so does for libh5bento.so. Nothing of it throws.
struct Hdf5Calls {
  const char* version;
  Status (*steps)(const std::string& path, h5bento_steps& into);
  Status (*dataset_steps)(const std::string& path, const std::string& dataset, std::uint64_t& first,
                          std::vector<std::uint64_t>& absolute);
  Result<std::unique_ptr<h5bento_dataset>> (*open)(const std::string& path,
                                                   const std::string& dataset,
                                                   std::uint64_t relative);
  /// `start` null: everywhere.
  Status (*find)(const std::string& path, const std::string& dataset, h5bento_number low,
                 h5bento_number high, const std::uint64_t* start, const std::uint64_t* count,
                 h5bento_boxes& into);
  Status (*recover)(const std::string& path, h5bento_report& into);
  Status (*view_build)(const std::string& path);
  Status (*view_drop)(const std::string& path);
  Status (*view_take_over)(const std::string& path);
};

/// The one symbol of libh5bento_hdf5.so.
inline constexpr const char* kHdf5CallsName = "h5bento_hdf5_calls";
/// That of the plugin without MPI, which takes an address in the HDF5 library that is meant.
inline constexpr const char* kHdf5CallsForName = "h5bento_hdf5_calls_for";
using GetHdf5Calls = const Hdf5Calls* (*)();

/// Loads it once, or what h5bento_use_module() named. Errors: kUnsupported (it is not there, or
/// cannot be loaded here: says why).
Result<const Hdf5Calls*> hdf5_calls();

}  // namespace bento::library
