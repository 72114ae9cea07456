// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
//
// One measurement: ranks write rows of several datasets, one of each after the other, or of one
// dataset in some order; then read them. Prints one JSON object. An ordinary HDF5 program: the
// environment decides whether a connector is in use. bench/pieces calls it, repeats, and compares.
//
//     pieces_in_turn FILE ROWS WIDTH DATASETS ORDER EXTEND FLUSH
//
// WIDTH: float64 of each rank in a row. ORDER: turns, random, or gaps (every second row, in turns).
// EXTEND 1, with turns: each row makes its dataset longer. FLUSH: after so many rows of all
// datasets; 0: never.
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum { kMostDatasets = 64 };

static double value_of(int dataset, int row, int of_rank) {
  return dataset * 1e6 + row + of_rank * 1e-3;
}

static hid_t rows_in(hid_t file_space, hsize_t row, hsize_t rows, hsize_t width, int of_rank) {
  const hsize_t start[2] = {row, (hsize_t)of_rank * width};
  const hsize_t count[2] = {rows, width};
  check(H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, count, NULL), "selection");
  return H5Screate_simple(2, count, NULL);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 8) check(-1, "usage");
  const char* const path = argv[1];
  const int rows = atoi(argv[2]);
  const int width = atoi(argv[3]);
  const int datasets = atoi(argv[4]);
  const int extend = atoi(argv[6]);
  const int flush = atoi(argv[7]);
  if (datasets > kMostDatasets) check(-1, "usage");

  int* const order = malloc(sizeof(int) * (size_t)rows);
  int count = 0;
  const int gaps = strcmp(argv[5], "gaps") == 0;
  for (int row = 0; row < rows; row += gaps ? 2 : 1) order[count++] = row;
  srand(3);
  for (int i = count - 1; i > 0 && strcmp(argv[5], "random") == 0; --i) {
    const int other = rand() % (i + 1);
    const int row = order[i];
    order[i] = order[other];
    order[other] = row;
  }

  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  if (ranks > 1) check(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), "access list");
  hsize_t extent[2] = {(hsize_t)(extend ? 0 : rows), (hsize_t)(width * ranks)};
  const hsize_t most[2] = {H5S_UNLIMITED, extent[1]};
  const hsize_t chunk[2] = {1024, extent[1]};
  const hid_t space = H5Screate_simple(2, extent, most);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  check(H5Pset_chunk(creation, 2, chunk), "chunk");
  double* const row_values = calloc((size_t)width, sizeof(double));
  double* const all = calloc((size_t)rows * (size_t)width, sizeof(double));

  const double begin = together();
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  check(file, "create");
  hid_t dataset[kMostDatasets];
  char name[16];
  for (int i = 0; i < datasets; ++i) {
    snprintf(name, sizeof name, "x%d", i);
    dataset[i] =
        H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    check(dataset[i], "create of a dataset");
  }
  const double created = together();
  for (int n = 0; n < count; ++n) {
    for (int i = 0; i < datasets; ++i) {
      const int row = order[n];
      if (extend && (hsize_t)row >= extent[0]) {
        const hsize_t longer[2] = {(hsize_t)row + 1, extent[1]};
        check(H5Dset_extent(dataset[i], longer), "extent");
      }
      for (int k = 0; k < width; ++k) row_values[k] = value_of(i, row, rank);
      const hid_t in_file = H5Dget_space(dataset[i]);
      const hid_t in_memory = rows_in(in_file, (hsize_t)row, 1, (hsize_t)width, rank);
      check(H5Dwrite(dataset[i], H5T_NATIVE_DOUBLE, in_memory, in_file, H5P_DEFAULT, row_values),
            "write");
      H5Sclose(in_memory);
      H5Sclose(in_file);
    }
    if (flush != 0 && n % flush == flush - 1) check(H5Fflush(file, H5F_SCOPE_GLOBAL), "flush");
  }
  const double written = together();
  for (int i = 0; i < datasets; ++i) check(H5Dclose(dataset[i]), "close of a dataset");
  check(H5Fclose(file), "close");
  const double closed = together();

  file = H5Fopen(path, H5F_ACC_RDONLY, access);
  check(file, "open");
  const double opened = together();
  const int of_rank = (rank + 1) % ranks;  // what another one has written
  for (int i = 0; i < datasets; ++i) {
    snprintf(name, sizeof name, "x%d", i);
    const hid_t from = H5Dopen2(file, name, H5P_DEFAULT);
    const hid_t in_file = H5Dget_space(from);
    const hid_t in_memory =
        rows_in(in_file, 0, (hsize_t)(order[0] == 0 && gaps ? order[count - 1] + 1 : rows),
                (hsize_t)width, of_rank);
    check(H5Dread(from, H5T_NATIVE_DOUBLE, in_memory, in_file, H5P_DEFAULT, all), "read");
    for (int n = 0; n < count; ++n)
      for (int k = 0; k < width; ++k)
        if (all[order[n] * width + k] != value_of(i, order[n], of_rank)) check(-1, "comparison");
    H5Sclose(in_memory);
    H5Sclose(in_file);
    H5Dclose(from);
  }
  const double read = together();
  check(H5Fclose(file), "close");

  if (rank == 0)
    printf(
        "{\"create_ms\": %.3f, \"write_ms\": %.3f, \"close_ms\": %.3f, \"open_ms\": %.3f, "
        "\"read_ms\": %.3f}\n",
        1e3 * (created - begin), 1e3 * (written - created), 1e3 * (closed - written),
        1e3 * (opened - closed), 1e3 * (read - opened));
  MPI_Finalize();
  return 0;
}
