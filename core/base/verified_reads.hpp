// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What is read in order to be written again gets a hash of its own, which would be right for wrong
/// bytes, too. So it is verified first, whatever `verify=` says.
#pragma once

namespace bento {

/// While one lives, all that this thread reads of records is held against its hash, if it has one.
class VerifiedReads {
 public:
  VerifiedReads() { ++alive; }
  VerifiedReads(const VerifiedReads&) = delete;
  VerifiedReads& operator=(const VerifiedReads&) = delete;
  ~VerifiedReads() { --alive; }

  [[nodiscard]] static bool wanted() { return alive > 0; }

 private:
  inline static thread_local int alive = 0;
};

}  // namespace bento
