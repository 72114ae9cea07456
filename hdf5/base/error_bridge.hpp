// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The C edge: every callback runs inside guard(), which turns a bento Error (or bad_alloc) into a
/// record on HDF5's error stack and the callback's failure value. Nothing is thrown into the C
/// library.
#pragma once

#include <exception>
#include <string>
#include <type_traits>
#include <utility>

#include <hdf5.h>

#include "core/base/error.hpp"

namespace bento::vol {

/// Pushes an error with our class. Its text contains "errno = N" when there is one: h5py reads it
/// there.
void push_error(const char* callback, const Error& error) noexcept;
/// What the library's last failed call said deepest inside, empty if the stack is.
std::string innermost_error() noexcept;
/// Registers and unregisters our error class; called by initialize and terminate.
void error_class_open() noexcept;
void error_class_forget() noexcept;

namespace detail {
template <class T>
T failure_value() {
  if constexpr (std::is_pointer_v<T>)
    return nullptr;
  else
    return static_cast<T>(-1);
}
}  // namespace detail

/// Runs `body`, which returns Result<T> (or Status for herr_t).
template <class T, class Body>
T guard(const char* callback, Body&& body) noexcept {
  try {
    auto result = std::forward<Body>(body)();
    if (result) {
      if constexpr (std::is_void_v<typename decltype(result)::value_type>)
        return static_cast<T>(0);
      else
        return *result;
    }
    push_error(callback, result.error());
  } catch (const std::exception& e) {
    push_error(callback, Error{Code::kInternal, e.what(), 0});
  } catch (...) {
    push_error(callback, Error{Code::kInternal, "unknown exception", 0});
  }
  return detail::failure_value<T>();
}

}  // namespace bento::vol
