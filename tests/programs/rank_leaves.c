// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
//
// One rank of a parallel HDF5 program never reaches H5Fclose: it sleeps a minute and exits, or
// stops. Each of the others writes into the file RESULT.<rank> how long its H5Fclose took, what it
// returned, and the error stack. It ends when all the others have done so, or after LIMIT seconds.
//
//   rank_leaves FILE RESULT sleep|stop LEAVER LIMIT

#include <hdf5.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kElements = 4096 };

static int rank = 0, ranks = 1;

static hid_t check(hid_t result, const char* call) {
  if (result < 0) {
    fprintf(stderr, "rank_leaves: rank %d: failed: %s\n", rank, call);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return result;
}
#define CHECK(call) check((hid_t)(call), #call)

static void leave(const char* how) {
  if (strcmp(how, "stop") == 0) {
    raise(SIGSTOP);
  } else {
    sleep(60);
  }
  _exit(0);
}

static void result_path(const char* result, int of_rank, char path[4096]) {
  snprintf(path, 4096, "%s.%d", result, of_rank);
}

// Complete or absent: the test reads it as soon as it is there.
static void report(const char* result, double seconds, herr_t status) {
  char path[4096], temporary[4200];
  result_path(result, rank, path);
  snprintf(temporary, sizeof temporary, "%s.part", path);
  FILE* out = fopen(temporary, "w");
  if (!out) {
    perror(temporary);
    MPI_Abort(MPI_COMM_WORLD, 1);
    return;
  }
  fprintf(out, "H5Fclose returned %d after %.3f s\n", (int)status, seconds);
  H5Eprint2(H5E_DEFAULT, out);
  if (fclose(out) != 0 || rename(temporary, path) != 0) {
    perror(path);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 6) {
    if (rank == 0) fputs("usage: rank_leaves FILE RESULT sleep|stop LEAVER LIMIT\n", stderr);
    MPI_Finalize();
    return 2;
  }
  const int leaver = atoi(argv[4]), limit = atoi(argv[5]);

  hid_t fapl = CHECK(H5Pcreate(H5P_FILE_ACCESS));
  CHECK(H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL));
  hid_t file = CHECK(H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, fapl));
  const hsize_t total = (hsize_t)ranks * kElements, first = (hsize_t)rank * kElements,
                count = kElements;
  hid_t space = CHECK(H5Screate_simple(1, &total, NULL));
  hid_t memory = CHECK(H5Screate_simple(1, &count, NULL));
  hid_t dataset =
      CHECK(H5Dcreate2(file, "x", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &count, NULL));
  static int values[kElements];
  for (int i = 0; i < kElements; ++i) values[i] = (int)first + i;
  CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, values));
  // One complete step first: it must survive.
  CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL));
  CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, values));
  CHECK(H5Dclose(dataset));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == leaver) leave(argv[3]);

  const double begin = MPI_Wtime();
  CHECK(H5Eset_auto2(H5E_DEFAULT, NULL, NULL));
  const herr_t status = H5Fclose(file);
  report(argv[2], MPI_Wtime() - begin, status);

  // No rank may end before the others have reported: mpirun would end them.
  for (int waited = 0; waited < limit * 10; ++waited) {
    int missing = 0;
    for (int other = 0; other < ranks; ++other) {
      char path[4096];
      result_path(argv[2], other, path);
      missing += other != leaver && access(path, F_OK) != 0;
    }
    if (!missing) break;
    usleep(100000);
  }
  MPI_Abort(MPI_COMM_WORLD, 3);
}
