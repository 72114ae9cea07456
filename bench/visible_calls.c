// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
//
// One measurement: the last rank writes pieces of 4 KiB, and reads them back, while the others
// sleep or do the same. Prints one JSON object: microseconds of an H5Dwrite and of an H5Dread, and
// of create and open. An ordinary HDF5 program: the environment decides whether a connector is in
// use. bench/visible calls it, repeats, and compares.
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kElements = 512 };  // doubles of a call

static void check(long long result, const char* what) {
  if (result >= 0) return;
  fprintf(stderr, "%s failed\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// A barrier for ranks that take no processor time while they wait.
static void meet(void) {
  const struct timespec nap = {0, 2000000};
  MPI_Request request;
  int done = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return;
    nanosleep(&nap, NULL);
  }
}

static double pass(hid_t set, hid_t space, hid_t memory, hsize_t first, int calls, int writes) {
  double data[kElements];
  const hsize_t some = kElements;
  const double begun = MPI_Wtime();
  for (int i = 0; i < calls; ++i) {
    const hsize_t at = first + (hsize_t)i * kElements;
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &some, NULL);
    for (int k = 0; writes && k < kElements; ++k) data[k] = (double)(at + (hsize_t)k);
    check(writes ? H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data)
                 : H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data),
          writes ? "H5Dwrite" : "H5Dread");
    for (int k = 0; !writes && k < kElements; ++k)
      check(data[k] == (double)(at + (hsize_t)k) ? 0 : -1, "the right value");
  }
  return (MPI_Wtime() - begun) / calls * 1e6;
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int calls = argc == 4 ? atoi(argv[1]) : 0;
  if (calls < 1) {
    if (rank == 0) fprintf(stderr, "usage: visible_calls CALLS asleep|busy PATH\n");
    MPI_Finalize();
    return 2;
  }
  const int works = rank == ranks - 1 || strcmp(argv[2], "busy") == 0;
  const hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
  check(H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL), "H5Pset_fapl_mpio");
  const hsize_t mine = (hsize_t)calls * kElements, all = mine * (hsize_t)ranks, some = kElements;
  const hid_t space = H5Screate_simple(1, &all, NULL), memory = H5Screate_simple(1, &some, NULL);

  double begun = MPI_Wtime();
  hid_t file = H5Fcreate(argv[3], H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  check(file, "H5Fcreate");
  const double create = (MPI_Wtime() - begun) * 1e6;
  const hid_t set =
      H5Dcreate2(file, "data", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  check(set, "H5Dcreate2");
  meet();
  double write = 0, read = 0;
  const hsize_t first = (hsize_t)rank * mine;
  if (works) {
    write = pass(set, space, memory, first, calls, 1);
    read = pass(set, space, memory, first, calls, 0);
  }
  meet();
  H5Dclose(set);
  check(H5Fclose(file), "H5Fclose");
  begun = MPI_Wtime();
  file = H5Fopen(argv[3], H5F_ACC_RDWR, fapl);
  check(file, "H5Fopen");
  const double open = (MPI_Wtime() - begun) * 1e6;
  check(H5Fclose(file), "H5Fclose");
  if (rank == ranks - 1)
    printf("{\"write\": %.3f, \"read\": %.3f, \"create\": %.0f, \"open\": %.0f}\n", write, read,
           create, open);
  H5Sclose(space), H5Sclose(memory), H5Pclose(fapl);
  MPI_Finalize();
  return 0;
}
