// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Files for which the library has found this connector by itself, in the plugin path, because the
/// native connector could not open them. The state of such a call says "native connector" to the
/// end, so HDF5 1.14 would take what is opened in it for a native file, and hand objects of this
/// connector to native functions (docs/hdf5-traps.md). It is opened in the state of a call by a
/// program that has chosen this connector.
#pragma once

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/library_state.hpp"

namespace bento::vol {

/// The library was told, in its search, that this connector opens a file: it does that next.
void note_found_by_search();
/// Is it a file that was found so that is opened now? The next one is not.
bool is_found_by_search();

/// The access list with which the library opens such a file. It never closes that one, but frees
/// what is in it when it ends: a communicator after MPI has ended, the lists of a driver's members
/// after these are gone. So nothing of that is left in it when this goes.
class SearchList {
 public:
  explicit SearchList(hid_t fapl) : fapl_(fapl) {}
  ~SearchList();
  SearchList(const SearchList&) = delete;
  SearchList& operator=(const SearchList&) = delete;

 private:
  hid_t fapl_;
};

/// Keeps the state of a call in which this connector was chosen. remember_connector() must have
/// been called. Errors: kInternal.
Status keep_chosen_state(KeptLibraryState& state);
/// Is `name` what keep_chosen_state() asks the library to open, to be in such a call? Then the
/// state is kept, and there is no file.
bool is_asked_for_state(const char* name);

}  // namespace bento::vol
