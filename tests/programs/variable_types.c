/* SPDX-License-Identifier: BSD-3-Clause
   SPDX-FileCopyrightText: The h5bento developers

   Variable-length elements whose types in memory are others than in the file, which h5py never has:
   other members, another order, other numbers; some members only; memory managers; strided memory.
   Each rank has its own elements.

     mpirun ... variable_types write FILE     variable_types read FILE
*/
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kEach = 50 };

#define CHECK(what)                                                      \
  do {                                                                   \
    if (!(what)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                      \
    }                                                                    \
  } while (0)

/* As in the file. */
typedef struct {
  int number;
  char* name;
  hvl_t values; /* of int */
} Stored;

/* As the program has it: another order, larger numbers, one member that the file lacks. */
typedef struct {
  double unknown;
  hvl_t values; /* of double */
  long number;
  char* name;
} Held;

typedef struct {
  char* name;
} Named;

static hid_t text_type(void) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  CHECK(H5Tset_size(type, H5T_VARIABLE) >= 0);
  return type;
}

static hid_t stored_type(void) {
  const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(Stored));
  H5Tinsert(type, "number", HOFFSET(Stored, number), H5T_NATIVE_INT);
  H5Tinsert(type, "name", HOFFSET(Stored, name), text_type());
  H5Tinsert(type, "values", HOFFSET(Stored, values), H5Tvlen_create(H5T_NATIVE_INT));
  return type;
}

static hid_t held_type(void) {
  const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(Held));
  H5Tinsert(type, "unknown", HOFFSET(Held, unknown), H5T_NATIVE_DOUBLE);
  H5Tinsert(type, "values", HOFFSET(Held, values), H5Tvlen_create(H5T_NATIVE_DOUBLE));
  H5Tinsert(type, "number", HOFFSET(Held, number), H5T_NATIVE_LONG);
  H5Tinsert(type, "name", HOFFSET(Held, name), text_type());
  return type;
}

static hid_t named_type(void) {
  const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(Named));
  H5Tinsert(type, "name", HOFFSET(Named, name), text_type());
  return type;
}

static size_t length_of(size_t index) {
  return index * 7 % 30;
}

static void name_of(size_t index, const char* what, char* name) {
  sprintf(name, "%s %zu", what, index);
}

static void write_file(const char* path, int rank, int ranks) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  CHECK(file >= 0);
  const hsize_t all = (hsize_t)(ranks * kEach);
  const hsize_t first = (hsize_t)(rank * kEach);
  const hsize_t each = kEach;
  const hid_t space = H5Screate_simple(1, &all, NULL);
  const hid_t stored = stored_type();
  const hid_t data =
      H5Dcreate2(file, "items", stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(data >= 0);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &each, NULL);

  /* Every other element of memory. */
  Held* held = calloc(2 * kEach, sizeof *held);
  for (size_t i = 0; i < kEach; ++i) {
    const size_t index = first + i;
    Held* one = &held[2 * i];
    one->number = (long)index;
    one->name = malloc(64);
    name_of(index, "first", one->name);
    one->values.len = length_of(index);
    double* values = malloc(one->values.len * sizeof *values + 1);
    for (size_t k = 0; k < one->values.len; ++k) values[k] = (double)(index + k) + 0.25;
    one->values.p = values;
  }
  const hsize_t room = 2 * kEach;
  const hsize_t zero = 0;
  const hsize_t two = 2;
  const hid_t memory = H5Screate_simple(1, &room, NULL);
  H5Sselect_hyperslab(memory, H5S_SELECT_SET, &zero, &two, &each, NULL);
  const hid_t list = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(list, H5FD_MPIO_COLLECTIVE);
  CHECK(H5Dwrite(data, held_type(), memory, space, list, held) >= 0);

  /* The names once more, of the odd elements of this rank: all else stays. */
  const hsize_t odd = first + 1;
  const hsize_t half = kEach / 2;
  H5Sselect_hyperslab(space, H5S_SELECT_SET, &odd, &two, &half, NULL);
  Named names[kEach / 2];
  for (size_t i = 0; i < half; ++i) {
    names[i].name = malloc(64);
    name_of(odd + 2 * i, "second", names[i].name);
  }
  const hid_t packed = H5Screate_simple(1, &half, NULL);
  CHECK(H5Dwrite(data, named_type(), packed, space, H5P_DEFAULT, names) >= 0);
  CHECK(H5Dclose(data) >= 0);
  CHECK(H5Fclose(file) >= 0);
}

static size_t given;        /* bytes that the memory manager gave */
static long not_taken_back; /* values that it has not got back */

static void* give(size_t bytes, void* info) {
  CHECK(info == &given);
  given += bytes;
  ++not_taken_back;
  return malloc(bytes);
}

static void take_back(void* value, void* info) {
  CHECK(info == &not_taken_back);
  --not_taken_back;
  free(value);
}

static void check_name(const char* name, size_t index) {
  char wanted[64];
  name_of(index, index % 2 ? "second" : "first", wanted);
  CHECK(name != NULL && strcmp(name, wanted) == 0);
}

static void read_file(const char* path) {
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(file >= 0);
  const hid_t data = H5Dopen2(file, "items", H5P_DEFAULT);
  const hid_t space = H5Dget_space(data);
  const size_t count = (size_t)H5Sget_simple_extent_npoints(space);
  const hid_t list = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_vlen_mem_manager(list, give, &given, take_back, &not_taken_back);

  /* The types of the file. */
  const hid_t stored = stored_type();
  Stored* plain = calloc(count, sizeof *plain);
  CHECK(H5Dread(data, stored, H5S_ALL, H5S_ALL, list, plain) >= 0);
  for (size_t i = 0; i < count; ++i) {
    CHECK(plain[i].number == (int)i);
    check_name(plain[i].name, i);
    CHECK(plain[i].values.len == length_of(i));
    for (size_t k = 0; k < plain[i].values.len; ++k)
      CHECK(((int*)plain[i].values.p)[k] == (int)(i + k));
  }
  hsize_t bytes = 0;
  CHECK(H5Dvlen_get_buf_size(data, stored, space, &bytes) >= 0);
  CHECK(bytes == given);
  CHECK(not_taken_back > 0);
  CHECK(H5Treclaim(stored, space, list, plain) >= 0);
  CHECK(not_taken_back == 0);

  /* Others: a member that the file lacks keeps its value. */
  const hid_t held = held_type();
  Held* other = calloc(count, sizeof *other);
  for (size_t i = 0; i < count; ++i) other[i].unknown = (double)i / 8;
  CHECK(H5Dread(data, held, H5S_ALL, H5S_ALL, list, other) >= 0);
  for (size_t i = 0; i < count; ++i) {
    CHECK(other[i].unknown == (double)i / 8);
    CHECK(other[i].number == (long)i);
    check_name(other[i].name, i);
    CHECK(other[i].values.len == length_of(i));
    for (size_t k = 0; k < other[i].values.len; ++k)
      CHECK(((double*)other[i].values.p)[k] == (double)(i + k));
  }
  CHECK(H5Treclaim(held, space, list, other) >= 0);
  CHECK(not_taken_back == 0);

  /* Points, in no order; one member. */
  const hsize_t points[4] = {(hsize_t)count - 1, 0, 17, 3};
  H5Sselect_elements(space, H5S_SELECT_SET, 4, points);
  const hsize_t four = 4;
  const hid_t packed = H5Screate_simple(1, &four, NULL);
  Named names[4];
  memset(names, 0, sizeof names);
  CHECK(H5Dread(data, named_type(), packed, space, list, names) >= 0);
  for (size_t i = 0; i < 4; ++i) check_name(names[i].name, points[i]);
  CHECK(H5Treclaim(named_type(), packed, list, names) >= 0);
  CHECK(not_taken_back == 0);
  CHECK(H5Dclose(data) >= 0);
  CHECK(H5Fclose(file) >= 0);
}

int main(int argc, char** argv) {
  int rank = 0;
  int ranks = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 3) {
    fprintf(stderr, "usage: variable_types write|read FILE\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (strcmp(argv[1], "write") == 0)
    write_file(argv[2], rank, ranks);
  else
    read_file(argv[2]);
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
