// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Plain parallel HDF5: sessions that bring a file from one known state to the next.
//
//   view_sessions FILE FIRST LAST     session 1 creates the file, later ones open it; any number of
//   ranks
//
// Prints `closed K` after the close of session K. native_view_state.py says which state a file is
// in. A session can be repeated when it was interrupted.
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define BIG 90000   // elements of each large dataset
#define BLOCK 3000  // unit of the partly overwritten one
#define SMALL 100

static int rank, size = 1;

static void need(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "view_sessions: rank %d: %s failed\n", rank, what);
  exit(1);
}

// A dataset that is there already after an interrupted session, or a new one.
static hid_t dataset(hid_t parent, const char* name, hsize_t length) {
  if (H5Lexists(parent, name, H5P_DEFAULT) > 0) return H5Dopen2(parent, name, H5P_DEFAULT);
  hid_t space = H5Screate_simple(1, &length, NULL);
  hid_t set = H5Dcreate2(parent, name, H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Sclose(space);
  return set;
}

// Elements [first, first + count) with the values session * 1000003 + index.
static void put(hid_t set, hsize_t first, hsize_t count, int session) {
  if (count == 0) return;
  int* data = malloc(count * sizeof *data);
  for (hsize_t i = 0; i < count; ++i) data[i] = session * 1000003 + (int)(first + i);
  hid_t memory = H5Screate_simple(1, &count, NULL), file = H5Dget_space(set);
  H5Sselect_hyperslab(file, H5S_SELECT_SET, &first, NULL, &count, NULL);
  need(H5Dwrite(set, H5T_NATIVE_INT, memory, file, H5P_DEFAULT, data) >= 0, "H5Dwrite");
  H5Sclose(memory);
  H5Sclose(file);
  free(data);
}

static void session(const char* name, int k) {
  hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
  if (size > 1) H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL);
  hid_t file = k == 1 ? H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl)
                      : H5Fopen(name, H5F_ACC_RDWR, fapl);
  need(file >= 0, "opening");
  hsize_t low = (hsize_t)BIG * rank / size, high = (hsize_t)BIG * (rank + 1) / size;

  hid_t set = dataset(file, "big", BIG);
  need(set >= 0, "big");
  // Three pieces, the last one first.
  hsize_t third = (high - low) / 3;
  put(set, low + 2 * third, high - low - 2 * third, k);
  put(set, low, third, k);
  put(set, low + third, third, k);
  H5Dclose(set);
  need(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0, "H5Fflush");

  // Every fourth block, or all of them at first.
  set = dataset(file, "part", BIG);
  for (hsize_t block = 0; block < BIG / BLOCK; ++block) {
    if ((int)block % size == rank && (k == 1 || (int)(block % 4) == k % 4))
      put(set, block * BLOCK, BLOCK, k);
  }
  H5Dclose(set);

  set = dataset(file, "small", SMALL);
  if (rank == size - 1) put(set, 0, SMALL, k);
  H5Dclose(set);

  char group_name[32];
  snprintf(group_name, sizeof group_name, "group %d", k);
  hid_t group = H5Lexists(file, group_name, H5P_DEFAULT) > 0
                    ? H5Gopen2(file, group_name, H5P_DEFAULT)
                    : H5Gcreate2(file, group_name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  set = dataset(group, "data", BIG);
  put(set, low, high - low, k);
  H5Dclose(set);
  H5Gclose(group);
  snprintf(group_name, sizeof group_name, "group %d", k - 1);
  if (H5Lexists(file, group_name, H5P_DEFAULT) > 0) H5Ldelete(file, group_name, H5P_DEFAULT);

  if (H5Aexists(file, "session") > 0) H5Adelete(file, "session");
  hid_t scalar = H5Screate(H5S_SCALAR);
  hid_t attribute = H5Acreate2(file, "session", H5T_STD_I32LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
  need(H5Awrite(attribute, H5T_NATIVE_INT, &k) >= 0, "H5Awrite");
  H5Aclose(attribute);
  H5Sclose(scalar);
  need(H5Fclose(file) >= 0, "H5Fclose");
  H5Pclose(fapl);
}

int main(int argc, char** argv) {
  // A serial program does without MPI.
  const int parallel = getenv("OMPI_COMM_WORLD_SIZE") != NULL;
  if (parallel) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
  if (argc != 4) {
    fprintf(stderr, "usage: view_sessions FILE FIRST LAST\n");
    return 2;
  }
  for (int k = atoi(argv[2]); k <= atoi(argv[3]); ++k) {
    session(argv[1], k);
    if (rank == 0) printf("closed %d\n", k);
    fflush(stdout);
  }
  if (parallel) MPI_Finalize();
  return 0;
}
