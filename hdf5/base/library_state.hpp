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

/// The state of one call of the library, for later ones that belong to it. A native file that goes
/// where there is no state of a call through the connector leaves the connector's own handle of it
/// behind, which leads nowhere then (H5F__dest() in H5Fint.c).
class KeptLibraryState {
 public:
  KeptLibraryState() = default;
  ~KeptLibraryState() {
    if (state_ != nullptr) H5VLfree_lib_state(state_);
  }
  KeptLibraryState(const KeptLibraryState&) = delete;
  KeptLibraryState& operator=(const KeptLibraryState&) = delete;

  /// That of the call in which this is called first.
  void keep() {
    if (state_ == nullptr && H5VLretrieve_lib_state(&state_) < 0) state_ = nullptr;
  }

  /// While it lives, H5VL calls are made as in that call.
  class Use {
   public:
    explicit Use(const KeptLibraryState& kept) {
      if (kept.state_ != nullptr) (void)H5VLrestore_lib_state(kept.state_);
    }

   private:
    LibraryState inner_;  // begun before, and over when this goes
  };

 private:
  void* state_ = nullptr;
};

}  // namespace bento::vol
