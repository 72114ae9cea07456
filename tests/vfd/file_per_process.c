/* SPDX-License-Identifier: BSD-3-Clause */
/* SPDX-FileCopyrightText: The h5bento developers */
/* file_per_process FOLDER: each rank writes FOLDER/ckpt.%04d.h5 with contiguous, chunked,
 * compressed and variable-length data, closes it, opens it again and appends. Knows nothing of
 * h5bento. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                \
  if ((call) < 0) {                                \
    fprintf(stderr, "rank %d: %s\n", rank, #call); \
    MPI_Abort(MPI_COMM_WORLD, 1);                  \
  }

static int rank;

static void write_doubles(hid_t file, const char* name, hsize_t n, hsize_t chunk, int deflate) {
  hsize_t most = chunk ? H5S_UNLIMITED : n;
  double* values = malloc(n * sizeof *values);
  for (hsize_t i = 0; i < n; ++i) values[i] = rank * 1e6 + (double)(i / 3);
  hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_obj_track_times(list, 0));
  if (chunk) CHECK(H5Pset_chunk(list, 1, &chunk));
  if (deflate) CHECK(H5Pset_deflate(list, 4));
  hid_t space = H5Screate_simple(1, &n, &most);
  hid_t set = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT);
  CHECK(set);
  CHECK(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
  CHECK(H5Dclose(set));
  H5Sclose(space);
  H5Pclose(list);
  free(values);
}

static void write_texts(hid_t file) {
  const char* texts[3] = {"one", "a longer text", ""};
  hsize_t n = 3;
  hid_t type = H5Tcopy(H5T_C_S1);
  CHECK(H5Tset_size(type, H5T_VARIABLE));
  hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_obj_track_times(list, 0));
  hid_t space = H5Screate_simple(1, &n, NULL);
  hid_t set = H5Dcreate2(file, "texts", type, space, H5P_DEFAULT, list, H5P_DEFAULT);
  CHECK(set);
  CHECK(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts));
  CHECK(H5Dclose(set));
  H5Sclose(space);
  H5Tclose(type);
  H5Pclose(list);
}

int main(int argc, char** argv) {
  char name[1024];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(name, sizeof name, "%s/ckpt.%04d.h5", argc > 1 ? argv[1] : ".", rank);
  hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(file);
  write_doubles(file, "plain", 100000 + 1000 * (hsize_t)rank, 0, 0);
  write_doubles(file, "chunked", 10000, 500, 0);
  CHECK(H5Fflush(file, H5F_SCOPE_LOCAL));
  write_doubles(file, "compressed", 20000, 1000, 1);
  write_texts(file);
  CHECK(H5Fclose(file));

  file = H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT);
  CHECK(file);
  CHECK(H5Ldelete(file, "chunked", H5P_DEFAULT));
  write_doubles(file, "appended", 30000, 0, 0);
  CHECK(H5Fclose(file));
  MPI_Finalize();
  return 0;
}
