// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
//
// What the benchmark programs of several ranks share. `rank` and `ranks` are set by the program.
#pragma once

#include <mpi.h>
#include <stdio.h>

static int rank, ranks;

// Ends all ranks if a call has failed.
static void check(long long result, const char* what) {
  if (result >= 0) return;
  fprintf(stderr, "rank %d: %s failed\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// Now, on all ranks: what one of them still has to do for one phase is no part of the next.
static double together(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime();
}
