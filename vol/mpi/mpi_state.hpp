// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Whether MPI can be called at all.
#pragma once

#include <mpi.h>

namespace bento::vol {

inline bool mpi_alive() {
  int begun = 0;
  int gone = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&gone);
  return begun != 0 && gone == 0;
}

}  // namespace bento::vol
