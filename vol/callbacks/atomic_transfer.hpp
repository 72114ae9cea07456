// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Transfers in MPI's atomic mode (H5Fset_mpi_atomicity), one rank at a time.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "vol/file/dataset_state.hpp"
#include "vol/file/file_context.hpp"

namespace bento::vol {

/// In MPI's atomic mode no other rank transfers while this object lives. Several files are taken in
/// the order in which all ranks have opened them.
class AtomicTransfer {
 public:
  ~AtomicTransfer() {
    for (FileContext* const file : held_) file->container().end_atomic();
  }
  AtomicTransfer() = default;
  AtomicTransfer(const AtomicTransfer&) = delete;
  AtomicTransfer& operator=(const AtomicTransfer&) = delete;

  Status begin(std::span<DatasetState* const> states) {
    std::map<std::uint64_t, FileContext*> wanted;
    for (const auto* const state : states)
      if (state->home == Home::kDiverted && state->file->container().atomic())
        wanted[state->file->session()] = state->file.get();
    for (const auto& [session, file] : wanted) {
      BENTO_TRY(file->container().begin_atomic());
      held_.push_back(file);
    }
    return {};
  }

 private:
  std::vector<FileContext*> held_;
};

}  // namespace bento::vol
