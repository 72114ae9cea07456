// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Has a write of some members put old values over members that another rank had written, because
/// its rank had not seen them yet?
#pragma once

#include <optional>

#include "core/records/member_writes.hpp"

namespace bento {

struct LostMembers {
  Box where;                 ///< some of the elements
  std::uint32_t writer = 0;  ///< the rank whose members are lost
  std::uint32_t by = 0;      ///< the rank that had not seen them
};

/// `writes`: those of all ranks of one dataset since the last commit. A rank sees its own writes,
/// and of other ranks those before an exchange that came before its write, and those of which it
/// was told. Exact: it finds something if and only if the latest record of some element has another
/// value of a member than the latest write of that member brought; of writes at the same time, one
/// of which may have seen the other, if that can be so. Cost O(n log n) where boxes are equal or
/// apart; else it grows with the pieces into which they cut each other, as far as a write there did
/// not see another one.
std::optional<LostMembers> find_lost_members(const MemberWriteTable& writes);

}  // namespace bento
