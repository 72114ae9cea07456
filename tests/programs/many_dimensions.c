/* SPDX-License-Identifier: BSD-3-Clause
   SPDX-FileCopyrightText: The h5bento developers

   Texts of variable length in a dataset and an attribute of 32 dimensions, as many as HDF5 has. Its
   own H5Treclaim(), H5Diterate() and H5Dvlen_get_buf_size() do not survive such a dataspace, so
   h5py cannot do this.

     many_dimensions write FILE     many_dimensions read FILE [GROUP]
*/
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kTexts = 4 };

#define CHECK(what)                                                      \
  do {                                                                   \
    if (!(what)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
      exit(1);                                                           \
    }                                                                    \
  } while (0)

static const char* const texts[kTexts] = {"a", "bb", "", "of variable length"};

static void check(char** got) {
  for (int i = 0; i < kTexts; ++i) {
    CHECK(got[i] != NULL ? strcmp(got[i], texts[i]) == 0 : *texts[i] == '\0');
    H5free_memory(got[i]);
  }
}

static void write_file(const char* path, hid_t type, hid_t space) {
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t data = H5Dcreate2(file, "texts", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts) >= 0);
  const hid_t attribute = H5Acreate2(data, "texts", type, space, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(H5Awrite(attribute, type, texts) >= 0);
  CHECK(H5Aclose(attribute) >= 0 && H5Dclose(data) >= 0 && H5Fclose(file) >= 0);
}

static void read_file(const char* path, const char* group, hid_t type) {
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(file >= 0);
  const hid_t where = H5Gopen2(file, group, H5P_DEFAULT);
  const hid_t data = H5Dopen2(where, "texts", H5P_DEFAULT);
  CHECK(H5Sget_simple_extent_ndims(H5Dget_space(data)) == H5S_MAX_RANK);
  char* got[kTexts] = {NULL};
  CHECK(H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0);
  check(got);
  const hid_t attribute = H5Aopen(data, "texts", H5P_DEFAULT);
  CHECK(H5Aread(attribute, type, got) >= 0);
  check(got);
  CHECK(H5Aclose(attribute) >= 0 && H5Dclose(data) >= 0 && H5Gclose(where) >= 0);
  CHECK(H5Fclose(file) >= 0);
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: many_dimensions write FILE | many_dimensions read FILE [GROUP]\n");
    return 2;
  }
  hsize_t extent[H5S_MAX_RANK];
  for (int d = 0; d < H5S_MAX_RANK; ++d) extent[d] = 1;
  extent[3] = 2;
  extent[H5S_MAX_RANK - 1] = 2;
  const hid_t space = H5Screate_simple(H5S_MAX_RANK, extent, NULL);
  const hid_t type = H5Tcopy(H5T_C_S1);
  CHECK(H5Tset_size(type, H5T_VARIABLE) >= 0);
  if (strcmp(argv[1], "write") == 0)
    write_file(argv[2], type, space);
  else
    read_file(argv[2], argc > 3 ? argv[3] : "/", type);
  printf("right\n");
  return 0;
}
