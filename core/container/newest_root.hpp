// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The newest root of a container that somebody else is writing.
#pragma once

#include "core/base/error.hpp"
#include "core/layout/root.hpp"

namespace bento {

/// Is what was found the container of `known`, as of then or later?
inline bool goes_on_from(const Probe& seen, const Root& known) {
  return seen.kind == FileKind::kContainer && seen.root.file_id == known.file_id &&
         seen.root.sequence >= known.sequence;
}

/// As probe(). A reader that is stopped between the two slots may find both half written, each by
/// another commit, and no root at all: what does not go on from `known` is looked at again.
inline Result<Probe> newest_root(File& first, const Root& known) {
  constexpr int kTries = 16;
  for (int tries = 1;; ++tries) {
    BENTO_ASSIGN(Probe seen, probe(first));
    if (tries == kTries || goes_on_from(seen, known)) return seen;
  }
}

}  // namespace bento
