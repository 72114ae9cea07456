// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where the work on a dataset stops now and then: to keep the limits, to hear what the transfer
/// file says, and to end when it is told to.
#pragma once

#include <cstdint>

#include "core/base/error.hpp"

namespace bento::transfer {

class Gate {
 public:
  virtual ~Gate() = default;
  /// Waits until the limits let go on. False: stop, and leave everything so that it can be taken
  /// up again. Errors: those of the transfer file.
  virtual Result<bool> pass() = 0;
  /// `bytes` were copied.
  virtual void copied(std::uint64_t bytes) = 0;
  /// Largest piece to copy between two calls of pass().
  [[nodiscard]] virtual std::uint64_t piece() const = 0;
  /// After so many copied bytes they are made durable and reported.
  [[nodiscard]] virtual std::uint64_t burst() const = 0;
};

}  // namespace bento::transfer
