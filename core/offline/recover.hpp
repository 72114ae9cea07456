// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// After a death: makes SION view, FTI headers and native view of what is committed, and says what
/// is lost. Source: docs/format.md, "Recovery".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/container/container.hpp"
#include "core/offline/stream_repair.hpp"
#include "core/offline/verify_container.hpp"

namespace bento {

struct RecoveryReport {
  std::uint64_t step = 0;   ///< last one committed: what the container holds
  bool was_closed = false;  ///< the last session came to its close
  /// Block headers that were damaged and are as the index says again.
  std::vector<StreamSpot> rebuilt;
  /// Blocks that were written and never committed. They stay where they are; the next session
  /// writes over them.
  std::vector<StreamSpot> lost;
  /// Physical files of a session that ended before its first commit.
  std::vector<std::string> left_over;
  /// Block headers that could not be rebuilt.
  std::vector<StreamSpot> beyond_repair;
  /// All that is in the container now, as of every kept step.
  ContainerVerdict verdict;
  std::vector<std::string> notes;  ///< of the native view

  [[nodiscard]] bool sound() const { return beyond_repair.empty() && verdict.sound(); }
};

/// Opens a container for writing, by this process alone, and closes it so that all its readers can
/// read it; `view` builds the native view (none: an old one is switched off). Reads all data once.
/// Damage is reported, not an error. Errors: those of Container::open for writing (kNotFound:
/// nothing committed; kBusy: somebody is writing it), of its close and of verify_container().
Result<RecoveryReport> recover(const std::string& path, const ContainerOptions& options,
                               const ViewBuilder& view = {});

}  // namespace bento
