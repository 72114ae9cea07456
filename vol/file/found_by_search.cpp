// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/found_by_search.hpp"

#include <string_view>
#include <utility>

#include "hdf5/base/handle.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "vol/file/own_connector.hpp"

namespace bento::vol {

namespace {

constexpr const char* kNoFile = "h5bento: the state of this call";

bool found = false;
KeptLibraryState* asked_for = nullptr;  ///< until it is kept

}  // namespace

void note_found_by_search() {
  found = true;
}

bool is_found_by_search() {
  return std::exchange(found, false);
}

SearchList::~SearchList() {
  const ErrorStackKeeper errors;
  (void)H5Pset_fapl_sec2(fapl_);
  for (const char* const name : {"mpi_params_comm", "mpi_params_info"})
    if (H5Pexist(fapl_, name) > 0) (void)H5Premove(fapl_, name);
}

// Only the library's own calls say in their state which connector was chosen.
Status keep_chosen_state(KeptLibraryState& state) {
  const ErrorStackKeeper errors;
  const QuietErrors quiet;
  const ConnectorHandle self = own_connector();
  const PlistHandle list(H5Pcreate(H5P_FILE_ACCESS));
  if (!self.valid() || !list.valid() || H5Pset_vol(list.get(), self.get(), nullptr) < 0)
    return fail(Code::kInternal, "the library does not take this connector");
  asked_for = &state;
  (void)H5Fopen(kNoFile, H5F_ACC_RDONLY, list.get());
  if (std::exchange(asked_for, nullptr) == nullptr) return {};
  return fail(Code::kInternal, "the library opens no file with this connector");
}

bool is_asked_for_state(const char* name) {
  if (asked_for == nullptr || std::string_view(name) != kNoFile) return false;
  std::exchange(asked_for, nullptr)->keep();
  return true;
}

}  // namespace bento::vol
