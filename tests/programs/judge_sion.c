// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
//
// judge_sion CONTAINER PREFIX: rank r writes what SIONlib's MPI reader gives it to PREFIX.r. Built
// by judges.py, which knows where SIONlib is.
#include <mpi.h>
#include <sion.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int files = 0;
  sion_int64 chunk = 0;
  sion_int32 block = -1;
  int global = rank;
  FILE* unused = NULL;
  MPI_Comm local = MPI_COMM_NULL;
  const int sid = sion_paropen_mpi(argv[1], "br", &files, MPI_COMM_WORLD, &local, &chunk, &block,
                                   &global, &unused, NULL);
  if (sid < 0) MPI_Abort(MPI_COMM_WORLD, 1);
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", argv[2], rank);
  FILE* out = fopen(path, "wb");
  char* buffer = malloc(1 << 20);
  while (!sion_feof(sid)) {
    const sion_int64 left = sion_bytes_avail_in_block(sid);
    const size_t want = left < (1 << 20) ? (size_t)left : (size_t)1 << 20;
    const size_t got = sion_fread(buffer, 1, want, sid);
    if (got != want || fwrite(buffer, 1, got, out) != got) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  free(buffer);
  if (fclose(out) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  sion_parclose_mpi(sid);
  MPI_Finalize();
  return 0;
}
