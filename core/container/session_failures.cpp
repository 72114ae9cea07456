// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/session_failures.hpp"

#include <fmt/format.h>

#include "core/base/guarded.hpp"

namespace bento {

void SessionFailures::give_up(const Status& why) {
  if (!broken_) return;
  // First what needs no memory.
  broken_ = fail(Error{why.error().code, {}, why.error().os_errno});
  (void)guarded([&]() -> Status {
    Error error = why.error();
    broken_ = fail(std::move(error).with_context(
        fmt::format("'{}': nothing more can be committed in this session, what was committed "
                    "before stays; open the file again",
                    path_)));
    return {};
  });
}

}  // namespace bento
