// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Verifies the data that only older kept steps show. Their containers in the streams are called
/// dead; what their headers keep is the hash. Source: docs/format.md, "A rank's stream".
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/error.hpp"
#include "core/offline/survey.hpp"
#include "core/offline/verify_container.hpp"

namespace bento {

struct OlderVerdict {
  bool complete = true;       ///< false: so many steps are kept that nothing was looked at
  std::uint64_t records = 0;  ///< that were looked at; those without a hash are not counted
  std::uint64_t count = 0;    ///< of findings
  std::vector<ContainerFinding> findings;  ///< the first ones
};

/// Reads all of it once, with as many threads as `options` says. Errors: kCorrupt (the index), kIo.
Result<OlderVerdict> verify_older_records(Survey& survey, const VerifyOptions& options);

}  // namespace bento
