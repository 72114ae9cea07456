// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where an exception must not get past a point, because other ranks wait behind it or because what
/// was done so far has to be noted: it becomes an Error there.
#pragma once

#include <cerrno>
#include <exception>
#include <new>
#include <string>

#include "core/base/error.hpp"

namespace bento {

/// Calls `work`, which returns a Status. An exception of it is a kInternal error.
template <class Work>
Status guarded(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return fail(Code::kInternal, "out of memory", ENOMEM);
  } catch (const std::exception& thrown) {
    return fail(Code::kInternal, std::string("unexpected: ") + thrown.what());
  }
}

}  // namespace bento
