// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
//
// One measurement: all ranks create many small datasets with an attribute each, write their part of
// every one, flush, write ten of them again with a flush after each, close; then open and read
// everything. Prints one JSON object. An ordinary HDF5 program: the environment decides whether a
// connector is in use. bench/small calls it, repeats, and compares.
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "ranks.h"

enum {
  kElements = 128,  // of each rank in each dataset
  kAgain = 10       // datasets that are written a second time, each with a flush
};

typedef struct {
  double create, write, flush, one, close;  // seconds, on the slowest rank
  double reopen, open, read;
} Times;

static double value_of(int dataset, int element) {
  return dataset + 1000.0 * rank + element;
}

static void write_all(const char* path, hid_t fapl, hid_t memory, hid_t space, int count,
                      Times* t) {
  double data[kElements];
  char name[32];
  const hid_t scalar = H5Screate(H5S_SCALAR);
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
  check(file, "H5Fcreate");
  for (int i = 0; i < count; ++i) {
    snprintf(name, sizeof name, "d%d", i);
    const double begun = MPI_Wtime();
    const hid_t set =
        H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    check(set, "H5Dcreate2");
    const hid_t attribute =
        H5Acreate2(set, "number", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT);
    check(H5Awrite(attribute, H5T_NATIVE_INT, &i), "H5Awrite");
    H5Aclose(attribute);
    const double created = MPI_Wtime();
    for (int k = 0; k < kElements; ++k) data[k] = value_of(i, k);
    check(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data), "H5Dwrite");
    t->write += MPI_Wtime() - created;
    H5Dclose(set);
    t->create += created - begun;
  }
  double begun = together();
  check(H5Fflush(file, H5F_SCOPE_GLOBAL), "H5Fflush");
  t->flush = MPI_Wtime() - begun;
  begun = together();
  for (int i = 0; i < kAgain; ++i) {
    snprintf(name, sizeof name, "d%d", i % count);
    const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    for (int k = 0; k < kElements; ++k) data[k] = value_of(i % count, k);
    check(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data), "H5Dwrite");
    H5Dclose(set);
    check(H5Fflush(file, H5F_SCOPE_GLOBAL), "H5Fflush");
  }
  t->one = (MPI_Wtime() - begun) / kAgain;
  begun = together();
  check(H5Fclose(file), "H5Fclose");
  t->close = MPI_Wtime() - begun;
  H5Sclose(scalar);
}

static long read_all(const char* path, hid_t fapl, hid_t memory, hid_t space, int count, Times* t) {
  double data[kElements];
  char name[32];
  long wrong = 0;
  const double begun = MPI_Wtime();
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, fapl);
  check(file, "H5Fopen");
  t->reopen = MPI_Wtime() - begun;
  for (int i = 0; i < count; ++i) {
    snprintf(name, sizeof name, "d%d", i);
    const double before = MPI_Wtime();
    const hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    check(set, "H5Dopen2");
    const double opened = MPI_Wtime();
    check(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data), "H5Dread");
    t->read += MPI_Wtime() - opened;
    t->open += opened - before;
    H5Dclose(set);
    for (int k = 0; k < kElements; ++k) wrong += data[k] != value_of(i, k);
  }
  check(H5Fclose(file), "H5Fclose");
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int count = argc == 3 ? atoi(argv[1]) : 0;
  if (count < 1) {
    if (rank == 0) fprintf(stderr, "usage: small_datasets DATASETS PATH\n");
    MPI_Finalize();
    return 2;
  }
  const hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
  check(H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL), "H5Pset_fapl_mpio");
  const hsize_t all = (hsize_t)kElements * (hsize_t)ranks,
                mine = (hsize_t)kElements * (hsize_t)rank, some = kElements;
  const hid_t space = H5Screate_simple(1, &all, NULL), memory = H5Screate_simple(1, &some, NULL);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, &mine, NULL, &some, NULL);

  Times t = {0}, slowest;
  write_all(argv[2], fapl, memory, space, count, &t);
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);  // its peak, in KiB
  long mine_now[2] = {used.ru_maxrss, 0}, most[2];
  mine_now[1] = read_all(argv[2], fapl, memory, space, count, &t);
  MPI_Reduce(&t, &slowest, sizeof t / sizeof(double), MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(mine_now, most, 2, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf(
        "{\"create\": %.9f, \"write\": %.9f, \"flush\": %.9f, \"one\": %.9f, \"close\": %.9f, "
        "\"reopen\": %.9f, \"open\": %.9f, \"read\": %.9f, \"peak_kib\": %ld, \"wrong\": %ld}\n",
        slowest.create, slowest.write, slowest.flush, slowest.one, slowest.close, slowest.reopen,
        slowest.open, slowest.read, most[0], most[1]);
  H5Sclose(space);
  H5Sclose(memory);
  H5Pclose(fapl);
  MPI_Finalize();
  return 0;
}
