// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
//
// judge_fti CONFIG VARIABLES OUT CHECKPOINT: an application of FTI, each rank with the variables of
// the file VARIABLES.rank (lines `id bytes`). It recovers if FTI says so, writes the variables to
// OUT.rank, adds 1 to each byte, takes checkpoint CHECKPOINT at level 1 and dies. Built by
// judges.py for each FTI that is there.
#include <fti.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 64 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (FTI_Init(argv[1], MPI_COMM_WORLD) != 0) MPI_Abort(MPI_COMM_WORLD, 2);
  int rank = 0;
  MPI_Comm_rank(FTI_COMM_WORLD, &rank);
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", argv[2], rank);
  FILE* file = fopen(path, "r");
  int ids[kMost];
  long sizes[kMost];
  char* data[kMost];
  int count = 0;
  while (count < kMost && fscanf(file, "%d %ld", &ids[count], &sizes[count]) == 2) {
    data[count] = calloc(1, (size_t)sizes[count] + 1);
    FTI_Protect(ids[count], data[count], sizes[count], FTI_CHAR);
    ++count;
  }
  fclose(file);
  int recovered = -99;
  if (FTI_Status() != 0) recovered = FTI_Recover();
  snprintf(path, sizeof path, "%s.%d", argv[3], rank);
  file = fopen(path, "wb");
  fprintf(file, "recover %d\n", recovered);
  for (int i = 0; i < count; ++i) {
    fwrite(data[i], 1, (size_t)sizes[i], file);
    for (long k = 0; k < sizes[i]; ++k) ++data[i][k];
  }
  fclose(file);
  MPI_Barrier(FTI_COMM_WORLD);
  if (FTI_Checkpoint(atoi(argv[4]), 1) < 0) MPI_Abort(MPI_COMM_WORLD, 4);
  MPI_Barrier(FTI_COMM_WORLD);
  MPI_Abort(MPI_COMM_WORLD, 7);
  return 0;
}
