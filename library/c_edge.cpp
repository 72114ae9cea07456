// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "library/c_edge.hpp"

namespace bento::library {

namespace {
thread_local std::string last_error;
}

h5bento_status keep(const Error& error) noexcept {
  try {
    last_error = error.text.empty() ? std::string(to_string(error.code)) : error.text;
  } catch (...) {
    last_error.clear();
  }
  switch (error.code) {
    case Code::kNotFound:
      return H5BENTO_NOT_FOUND;
    case Code::kExists:
      return H5BENTO_EXISTS;
    case Code::kCorrupt:
      return H5BENTO_CORRUPT;
    case Code::kUnsupported:
      return H5BENTO_UNSUPPORTED;
    case Code::kInvalidArgument:
      return H5BENTO_INVALID;
    case Code::kIo:
      return H5BENTO_IO;
    case Code::kNoSpace:
      return H5BENTO_NO_SPACE;
    case Code::kPermission:
      return H5BENTO_PERMISSION;
    case Code::kBusy:
      return H5BENTO_BUSY;
    case Code::kPeer:
      return H5BENTO_PEER;
    case Code::kInternal:
      break;
  }
  return H5BENTO_INTERNAL;
}

}  // namespace bento::library

extern "C" {

const char* h5bento_version(void) {
  return H5BENTO_VERSION;
}

const char* h5bento_last_error(void) {
  return bento::library::last_error.c_str();
}
}
