// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which hash is computed of the data of records.
#pragma once

#include <cstdint>

namespace bento {

/// Value of the connector's `checksum=` key.
enum class HashKind : std::uint8_t {
  kNone,  ///< all hash fields are zero
  kMd5,   ///< as FTI computes them
  /// XXH3-128 of granules (core/fti/granules.hpp); only in FTI's 1.1 layout, announced in its pad
  /// bytes; FTI cannot verify it.
  kXxh3,
};

}  // namespace bento
