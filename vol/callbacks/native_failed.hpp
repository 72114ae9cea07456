// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The error of a call that the native connector refused.
#pragma once

#include <string>

#include "core/base/error.hpp"

namespace bento::vol {

/// A failed native call has put its own records on the error stack; ours only says where it passed.
inline Error native_failed(const char* call) {
  return Error{Code::kInternal, std::string(call) + " failed in the native connector", 0};
}

}  // namespace bento::vol
