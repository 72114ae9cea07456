// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Plain parallel HDF5: how much space many commits take.
//
//   steps_space FILE overwrite COUNT BYTES       a dataset of BYTES, overwritten and flushed COUNT
//   times, each rank its
//                                                slab; prints `size APPARENT ALLOCATED` at 20
//                                                moments and after the close, and `good` if the
//                                                last values are read back
//   steps_space FILE rotate COUNT BYTES          the same, each rank another slab each time
//   steps_space FILE attributes COUNT DATASETS   COUNT flushes, an attribute of one dataset in turn
//   changed before each;
//                                                prints `flush NUMBER BYTES` for each: what all
//                                                ranks handed to write calls for it; and sizes and
//                                                `good` as above
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { kSamples = 20 };

static int rank = 0, ranks = 1;

static hid_t need(hid_t result, const char* call) {
  if (result < 0) {
    fprintf(stderr, "steps_space: rank %d: failed: %s\n", rank, call);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return result;
}
#define NEED(call) need((hid_t)(call), #call)

// Of all physical files.
static void print_size(const char* path) {
  long long apparent = 0, allocated = 0;
  char name[4096];
  struct stat info;
  snprintf(name, sizeof name, "%s", path);
  for (int i = 1; stat(name, &info) == 0; ++i) {
    apparent += info.st_size;
    allocated += info.st_blocks * 512LL;
    snprintf(name, sizeof name, "%s.%06d", path, i);
  }
  printf("size %lld %lld\n", apparent, allocated);
}

static void sample(const char* path, int number, int count) {
  MPI_Barrier(MPI_COMM_WORLD);
  const int every = count / kSamples > 0 ? count / kSamples : 1;
  if (rank == 0 && (number + 1) % every == 0) print_size(path);
}

static hid_t open_file(const char* path, int create) {
  hid_t fapl = NEED(H5Pcreate(H5P_FILE_ACCESS));
  NEED(H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL));
  hid_t file = create ? NEED(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl))
                      : NEED(H5Fopen(path, H5F_ACC_RDONLY, fapl));
  H5Pclose(fapl);
  return file;
}

static void overwrite(const char* path, int count, hsize_t bytes, int rotate) {
  const hsize_t total = bytes / sizeof(int) / (hsize_t)ranks * (hsize_t)ranks,
                mine = total / (hsize_t)ranks;
  hsize_t first = mine * (hsize_t)rank;
  hid_t file = open_file(path, 1), space = NEED(H5Screate_simple(1, &total, NULL));
  hid_t set =
      NEED(H5Dcreate2(file, "x", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  hid_t memory = NEED(H5Screate_simple(1, &mine, NULL));
  int* data = malloc(mine * sizeof *data);
  for (int step = 0; step < count; ++step) {
    if (rotate) first = mine * (hsize_t)((rank + step) % ranks);
    NEED(H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &mine, NULL));
    for (hsize_t i = 0; i < mine; ++i) data[i] = step + (int)(first + i);
    NEED(H5Dwrite(set, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, data));
    NEED(H5Fflush(file, H5F_SCOPE_GLOBAL));
    sample(path, step, count);
  }
  NEED(H5Dclose(set));
  NEED(H5Fclose(file));
  if (rank == 0) print_size(path);

  file = open_file(path, 0);
  set = NEED(H5Dopen2(file, "x", H5P_DEFAULT));
  NEED(H5Dread(set, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, data));
  int good = 1, all = 0;
  for (hsize_t i = 0; i < mine; ++i) good = good && data[i] == count - 1 + (int)(first + i);
  MPI_Reduce(&good, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
  if (rank == 0 && all) puts("good");
  free(data);
  NEED(H5Dclose(set));
  NEED(H5Fclose(file));
  H5Sclose(memory);
  H5Sclose(space);
}

// Bytes that this process has handed to write calls.
static long long written(void) {
  FILE* file = fopen("/proc/self/io", "r");
  long long bytes = -1;
  char line[128];
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "wchar: %lld", &bytes) == 1) break;
  if (file != NULL) fclose(file);
  if (bytes < 0) NEED(-1);
  return bytes;
}

static void name_of(int number, char name[32]) {
  snprintf(name, 32, "dataset %d", number);
}

static void attributes(const char* path, int count, int datasets) {
  hid_t file = open_file(path, 1), scalar = NEED(H5Screate(H5S_SCALAR));
  const hsize_t length = 16;
  hid_t space = NEED(H5Screate_simple(1, &length, NULL));
  int data[16] = {0};
  char name[32];
  for (int i = 0; i < datasets; ++i) {
    name_of(i, name);
    hid_t set =
        NEED(H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hid_t attribute =
        NEED(H5Acreate2(set, "value", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT));
    const int nothing = -1;
    NEED(H5Awrite(attribute, H5T_NATIVE_INT, &nothing));
    if (i % ranks == rank) NEED(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
    H5Aclose(attribute);
    H5Dclose(set);
  }
  NEED(H5Fflush(file, H5F_SCOPE_GLOBAL));
  for (int step = 0; step < count; ++step) {
    name_of((int)((long long)step * 7919 % datasets), name);
    hid_t set = NEED(H5Dopen2(file, name, H5P_DEFAULT)),
          attribute = NEED(H5Aopen(set, "value", H5P_DEFAULT));
    NEED(H5Awrite(attribute, H5T_NATIVE_INT, &step));
    H5Aclose(attribute);
    H5Dclose(set);
    const long long before = written();
    NEED(H5Fflush(file, H5F_SCOPE_GLOBAL));
    long long mine = written() - before, all = 0;
    MPI_Reduce(&mine, &all, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("flush %d %lld\n", step, all);
    sample(path, step, count);
  }
  NEED(H5Fclose(file));
  if (rank == 0) print_size(path);

  file = open_file(path, 0);
  int good = 1;
  for (int step = count > datasets ? count - datasets : 0; step < count; ++step) {
    int value = -2;
    name_of((int)((long long)step * 7919 % datasets), name);
    hid_t set = NEED(H5Dopen2(file, name, H5P_DEFAULT)),
          attribute = NEED(H5Aopen(set, "value", H5P_DEFAULT));
    NEED(H5Aread(attribute, H5T_NATIVE_INT, &value));
    H5Aclose(attribute);
    H5Dclose(set);
    good = good && value == step;
  }
  if (rank == 0 && good) puts("good");
  NEED(H5Fclose(file));
  H5Sclose(space);
  H5Sclose(scalar);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int status = 0;
  const int rotate = argc == 5 && strcmp(argv[2], "rotate") == 0;
  if (rotate || (argc == 5 && strcmp(argv[2], "overwrite") == 0)) {
    overwrite(argv[1], atoi(argv[3]), (hsize_t)atoll(argv[4]), rotate);
  } else if (argc == 5 && strcmp(argv[2], "attributes") == 0) {
    attributes(argv[1], atoi(argv[3]), atoi(argv[4]));
  } else {
    if (rank == 0)
      fputs("usage: steps_space FILE overwrite|rotate|attributes COUNT SIZE\n", stderr);
    status = 2;
  }
  MPI_Finalize();
  return status;
}
