// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which steps may need a container: its record says so in three bytes that FTI leaves undefined.
/// So a later session knows what older steps, and older native views, cannot show. Source:
/// docs/format.md, "Space is used again".
#pragma once

#include <cstdint>
#include <optional>

#include "core/fti/v11.hpp"

namespace bento {

/// Of a container with content: `step` is the newest committed step when it was written, so that
/// only later ones show it. Of one without content: only steps before `step` show it.
void set_step(fti::v11::DbVar& var, std::uint64_t step);
/// The absolute step of set_step(), or a later one up to `newest`: only the remainder of a division
/// by 2^24 - 1 is stored. Nothing if the record does not say, or says a step that was not reached.
std::optional<std::uint64_t> step_of(const fti::v11::DbVar& var, std::uint64_t newest);

/// What of the containers that were dead when a session began may be written over.
struct DeadSpace {
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  /// Those that do not say when they died are nobody's.
  bool undated = false;
  /// The others count as dead from this absolute step on at the earliest.
  std::uint64_t not_before = kNever;
  /// But not those that died up to this one.
  std::uint64_t settled = 0;
  std::uint64_t newest = 0;  ///< absolute step when the session began
  std::uint64_t oldest = 0;  ///< the oldest absolute step that anybody may still read

  /// The absolute step before which a block is needed whose containers all died by `died` (nothing
  /// if one does not say). 0: nobody needs it. kNever: it is to be left alone.
  [[nodiscard]] std::uint64_t needed_before(std::optional<std::uint64_t> died) const;
};

}  // namespace bento
