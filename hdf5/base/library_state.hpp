// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The state that the library keeps for a call. Calls through a connector (H5VL...) find it only
/// inside one of the library's own calls, and follow a null pointer elsewhere.
#pragma once

#include <hdf5.h>

#include <H5VLconnector_passthru.h>

namespace bento::vol {

/// While it lives, H5VL calls may be made, inside a call of the library or not.
class LibraryState {
 public:
  LibraryState() : begun_(H5VLstart_lib_state() >= 0) {}
  ~LibraryState() {
    if (begun_) H5VLfinish_lib_state();
  }
  LibraryState(const LibraryState&) = delete;
  LibraryState& operator=(const LibraryState&) = delete;

 private:
  bool begun_;
};

}  // namespace bento::vol
