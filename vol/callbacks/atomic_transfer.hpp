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
  ~AtomicTransfer() { end(); }
  AtomicTransfer() = default;
  AtomicTransfer(const AtomicTransfer&) = delete;
  AtomicTransfer& operator=(const AtomicTransfer&) = delete;

  Status begin(std::span<DatasetState* const> states) {
    for (const auto& [session, file] : atomic_files(states)) {
      BENTO_TRY(file->container().begin_atomic());
      held_.push_back(file);
    }
    return {};
  }
  /// For a call that needs to know what all ranks have written together: it waits for the others
  /// first. Inside it would keep them from coming.
  Status begin_after_write_of_all(std::span<DatasetState* const> states) {
    if (held_.empty())
      for (const auto& [session, file] : atomic_files(states))
        BENTO_TRY(file->container().await_write_of_all());
    return begin(states);
  }
  void end() {
    for (FileContext* const file : held_) file->container().end_atomic();
    held_.clear();
  }

 private:
  static std::map<std::uint64_t, FileContext*> atomic_files(std::span<DatasetState* const> states) {
    std::map<std::uint64_t, FileContext*> files;
    for (const auto* const state : states)
      if (state->home == Home::kDiverted && state->file->container().atomic())
        files[state->file->session()] = state->file.get();
    return files;
  }

  std::vector<FileContext*> held_;
};

}  // namespace bento::vol
