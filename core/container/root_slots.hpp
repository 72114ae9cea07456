// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How a root comes into both slots of physical file 0, so that one that can be read is there at
/// any moment. Only the owner writes roots. Source: docs/format.md, "Root".
#pragma once

#include <cstdint>

#include "core/base/error.hpp"
#include "core/container/container_files.hpp"
#include "core/container/session_failures.hpp"
#include "core/io/file.hpp"
#include "core/layout/plan.hpp"
#include "core/layout/root.hpp"

namespace bento {

class RootSlots {
 public:
  /// All must outlive this.
  RootSlots(const ContainerState& state, ContainerFiles& files, SessionFailures& failures)
      : state_(&state), files_(&files), failures_(&failures) {}

  /// Both slots hold this root, as the open has found it or seen to it.
  void hold(const Root& root);
  /// Brings the newest root into the second slot, if it lies in the first one only. What only the
  /// root there referred to is free after that. Errors: kIo, kNoSpace.
  Status mirror(File& first);
  /// Writes a new root with the session's number and a sequence that no root ever had. Errors: kIo,
  /// kNoSpace; the root before is in force then, or no commit of the session succeeds any more.
  Status write(File& first, Root& next);

  /// Does the second slot hold the newest root, too?
  [[nodiscard]] bool mirrored() const { return mirrored_; }
  /// Is this the newest root in a slot?
  [[nodiscard]] bool newest_is(const Root& root) const { return placed_.sequence == root.sequence; }

 private:
  const ContainerState* state_;
  ContainerFiles* files_;
  SessionFailures* failures_;
  Root placed_;                      ///< the newest one in the first slot
  bool mirrored_ = true;             ///< the second slot holds placed_, too
  std::uint64_t last_sequence_ = 0;  ///< of all roots that it tried to write
};

}  // namespace bento
