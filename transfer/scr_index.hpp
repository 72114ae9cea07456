// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The files in which SCR's programs look for datasets that were flushed, in the layout of SCR 2.0:
/// `.scr/index.scr` and `.scr/scr.dataset.ID/summary.scr` below the folder of the dataset. Source:
/// docs/formats/scr-transfer.md.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.hpp"

namespace bento::transfer {

/// A dataset that has arrived: a container with all its physical files.
struct ArrivedDataset {
  std::string name;         ///< of the container, without folder
  std::uint64_t files = 0;  ///< physical files
  std::uint64_t bytes = 0;  ///< of all of them
  std::string created;      ///< microseconds since 1970, no other dataset's
};

/// Writes both below the open folder, the summary first. `ID` is the highest of the index + 1; a
/// dataset that the index has already, by name and `created`, keeps its number, so this may be
/// called again after a crash. `shown` is the folder's name for errors. Errors: kCorrupt (an index
/// that is none), kPermission, kNoSpace, kIo, kBusy.
Status record_arrival(int folder, const std::string& shown, const ArrivedDataset& dataset);

}  // namespace bento::transfer
