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

// Whoever wrote them may write them anew at any time. Those that still gather in memory are no
// other case: it is not for a size to decide.
Status Container::check_inherited(DatasetNumber dataset, const Lookup& fresh) const {
  if (fresh.pieces.empty() || !inherited()) return {};
  return fail(Code::kPermission,
              fmt::format("'{}': dataset {} was written since the last H5Fflush by process {} or "
                          "another rank; process {}, a forked child of it, can read only what was "
                          "committed before it was forked",
                          state_.path, dataset, home_.id(), ::getpid()));
}

// Of what is committed that is what a child is promised. Where nothing is, others may have written.
Status Container::check_unwritten(DatasetNumber dataset, const RecordLookup& found) const {
  if (boards_ == nullptr || found.uncovered.empty() || !inherited() ||
      boards_->others().caught_up())
    return {};
  return fail(Code::kPermission,
              fmt::format("'{}': nothing is committed of some elements of dataset {}, and process "
                          "{}, a forked child of process {}, cannot see whether other ranks have "
                          "written them since the last H5Fflush. It can read only what was "
                          "committed before it was forked",
                          state_.path, dataset, ::getpid(), home_.id()));
}

}  // namespace bento
