// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a container holds, as a list: groups, datasets, types and links of the newest step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/records/record.hpp"

namespace bento::vol {

enum class ObjectKind { kGroup, kDataset, kType, kSoftLink, kExternalLink, kOther };

struct ListedObject {
  std::string path;
  ObjectKind kind = ObjectKind::kOther;
  std::string target;  ///< of a soft or external link; the first path of an object listed already
  std::uint64_t attributes = 0;
  // Of a dataset.
  std::string type;                  ///< "float64", "int32 big-endian", "compound of 24 bytes", ...
  bool null_space = false;           ///< H5S_NULL: no extent
  std::vector<std::uint64_t> dims;   ///< empty for a scalar
  std::vector<std::uint64_t> limit;  ///< largest extent; UINT64_MAX: unlimited
  std::vector<std::uint64_t> chunk;  ///< empty: not chunked
  std::vector<std::string> filters;
  /// Data that lies in ranks' streams; absent: in the embedded HDF5 image.
  std::optional<DatasetNumber> number;
  std::uint64_t pieces = 0;  ///< records that can be seen
  std::uint64_t stored = 0;  ///< their bytes
};

struct ListOptions {
  std::string path = "/";  ///< a group, whose members are listed, or another object
  bool recursive = false;
  bool details = false;  ///< attributes, pieces and stored bytes, which have to be looked for
};

/// In the order of names; a group comes before its members. An object that several links lead to is
/// listed with the first, and as a link to that with the others. Not collective, takes no lock.
/// Errors: kNotFound (no such path), those of opening a container.
Result<std::vector<ListedObject>> list_objects(const std::string& file, const ListOptions& options);

}  // namespace bento::vol
