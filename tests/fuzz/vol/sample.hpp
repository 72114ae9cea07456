// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Containers that the connector wrote, taken apart into the blobs of their catalogue, so that any
/// of them can be changed and everything above it be made to agree again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/layout/plan.hpp"
#include "core/layout/root.hpp"
#include "core/records/record.hpp"

namespace bento::fuzz {

using Bytes = std::vector<std::byte>;

/// A run of bytes in the catalogue, found through a reference.
struct SampleBlob {
  enum class Kind { kIndex, kStreams, kViewTable, kSkeletonTable, kSkeletonPage };
  Kind kind = Kind::kIndex;
  CatalogueRef ref;
  Bytes bytes;
};

/// A record as its dbvar and its data lie in file 0.
struct SampleRecord {
  std::uint64_t dbvar = 0;  ///< address
  std::uint64_t data = 0;   ///< address
  std::uint64_t bytes = 0;
};

struct Sample {
  std::string name;
  Root root;
  ContainerPlan plan;
  std::vector<Bytes> files;  ///< physical files, file 0 first
  std::vector<SampleBlob> blobs;
  std::vector<SampleRecord> records;
};

/// A path in a folder of this process, in memory if there is /dev/shm; removed at exit.
std::string in_folder(const std::string& name);

/// The samples, made once per process.
const std::vector<Sample>& samples();

/// Takes a container apart. Throws std::runtime_error.
Sample take_apart(const std::string& name);

/// Writes the physical files of a container.
void put_files(const std::string& name, std::span<const Bytes> files);

}  // namespace bento::fuzz
