// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Verifies everything in a container: every checksum, and every statement that is there twice.
/// Source: docs/format.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "core/records/record.hpp"

namespace bento {

/// Where damage lies.
enum class DamagedPart {
  kRoot,      ///< one of the two copies of the root
  kFiles,     ///< a physical file that is missing, or of another state
  kSion,      ///< META1 or META2
  kIndex,     ///< stream table or step index
  kSkeleton,  ///< HDF5's metadata
  kView,      ///< native view
  kStream,    ///< a rank's stream: headers, or records
};
std::string_view to_string(DamagedPart part);

struct ContainerFinding {
  DamagedPart part = DamagedPart::kRoot;
  std::string file;                      ///< physical file
  std::optional<std::uint64_t> address;  ///< in that file, of the first byte that may be wrong
  std::optional<std::uint32_t> writer;
  std::optional<DatasetNumber> dataset;
  std::optional<std::uint64_t> step;  ///< absolute step that wrote the record
  std::string text;
};

struct ContainerVerdict {
  std::uint64_t step = 0;           ///< the newest step, as of which it was verified
  bool closed = false;              ///< else what only a close writes was not judged
  std::uint64_t streams = 0;        ///< that were read
  std::uint64_t records = 0;        ///< compared with their containers in the streams
  std::uint64_t older_records = 0;  ///< that only older kept steps show
  bool older_verified = true;  ///< false: so many steps are kept that only the newest's data was
  std::uint64_t unhashed = 0;  ///< containers without a hash (checksum=none)
  std::uint64_t steps = 0;     ///< kept steps whose metadata was verified
  std::uint64_t count = 0;     ///< of all findings
  std::vector<ContainerFinding> findings;  ///< the first ones of each part and stream

  [[nodiscard]] bool sound() const { return count == 0; }
};

struct VerifyOptions {
  unsigned jobs = 1;  ///< threads
  /// Told once how many bytes the streams have, then of those that were read, by any thread.
  std::function<void(std::uint64_t bytes)> total;
  std::function<void(std::uint64_t bytes)> progress;
  FileOpener opener = &open_posix_file;
};

/// Reads the whole container once. Takes no lock: of a container that is being written it verifies
/// the step that is the newest when it begins, again from the start if the writer went over it.
/// Damage gives findings. Errors: as check_is_container(); kBusy (its writer commits too fast),
/// kIo.
Result<ContainerVerdict> verify_container(const std::string& path, const VerifyOptions& options);

}  // namespace bento
