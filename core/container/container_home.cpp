// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Who may change a container: the processes that opened it, and not their forked children.
#include <fmt/format.h>
#include <unistd.h>

#include "core/container/container.hpp"

namespace bento {

Status Container::check_home() const {
  if (!home_.elsewhere()) return {};
  return fail(Code::kPermission,
              fmt::format("'{}' was opened by process {}; process {} is a forked child of it and "
                          "cannot change it, only read what was committed before. Write, flush and "
                          "close it in process {}, or open the file anew in the child",
                          state_.path, home_.id(), ::getpid(), home_.id()));
}

// The process that wrote them may write them anew at any time; only what still gathers in memory is
// the child's own copy, unless ranks share it.
Status Container::check_inherited(DatasetNumber dataset, const Lookup& fresh) const {
  for (const auto& piece : fresh.pieces)
    if (boards_ || !StreamWriter::buffered(state_.index.where(dataset, piece.record)))
      return fail(Code::kPermission,
                  fmt::format("'{}': dataset {} was written since the last H5Fflush by process {}; "
                              "process {}, a forked child of it, can read only what was committed "
                              "before it was forked",
                              state_.path, dataset, home_.id(), ::getpid()));
  return {};
}

}  // namespace bento
