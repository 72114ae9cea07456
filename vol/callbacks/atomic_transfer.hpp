// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Transfers in MPI's atomic mode (H5Fset_mpi_atomicity), one rank at a time.
#pragma once

#include <algorithm>
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

  /// What the call looks up begins with a wait for ranks that are late for a meeting. Inside it
  /// would keep them from coming.
  Status begin(std::span<DatasetState* const> states) {
    if (std::ranges::none_of(states, is_atomic)) return {};
    const auto files = atomic_files(states);
    if (held_.empty())
      for (const auto& [session, file] : files) BENTO_TRY(file->container().await_meeting());
    for (const auto& [session, file] : files) {
      BENTO_TRY(file->container().begin_atomic());
      held_.push_back(file);
    }
    return {};
  }
  void end() {
    for (FileContext* const file : held_) file->container().end_atomic();
    held_.clear();
  }

 private:
  static bool is_atomic(const DatasetState* state) {
    return state->home == Home::kDiverted && state->file->container().atomic();
  }
  static std::map<std::uint64_t, FileContext*> atomic_files(std::span<DatasetState* const> states) {
    std::map<std::uint64_t, FileContext*> files;
    for (const auto* const state : states)
      if (is_atomic(state)) files[state->file->session()] = state->file.get();
    return files;
  }

  std::vector<FileContext*> held_;
};

}  // namespace bento::vol
