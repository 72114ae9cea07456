// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Between C and Result: no exception leaves, and what went wrong is kept for h5bento_last_error().
#pragma once

#include <new>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "library/h5bento.h"

namespace bento::library {

/// Keeps the text, and gives the code as C has it.
h5bento_status keep(const Error& error) noexcept;

/// Runs `body`, which returns a Status.
template <class Body>
h5bento_status guarded_call(Body&& body) noexcept {
  try {
    const Status done = std::forward<Body>(body)();
    return done ? H5BENTO_OK : keep(done.error());
  } catch (const std::bad_alloc&) {
    return keep(Error{Code::kNoSpace, {}, 0});
  } catch (const std::exception& thrown) {
    return keep(Error{Code::kInternal, thrown.what(), 0});
  } catch (...) {
    return keep(Error{Code::kInternal, {}, 0});
  }
}

/// kInvalidArgument if one of the pointers is null.
template <class... Pointers>
Status check_given(Pointers... pointers) {
  if (((pointers != nullptr) && ...)) return {};
  return fail(Code::kInvalidArgument, "an argument is NULL that must not be");
}

}  // namespace bento::library
