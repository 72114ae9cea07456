/* SPDX-License-Identifier: BSD-3-Clause
   SPDX-FileCopyrightText: The h5bento developers

   References of HDF5 1.12 (H5T_STD_REF) to objects, regions and attributes: as elements, in
   compounds, arrays and sequences. WRITERS parts are written by as many ranks as there are, so that
   a serial program without h5bento can make the same file; what is read is printed in words.

     mpirun ... new_references write FILE WRITERS     new_references read FILE WRITERS
     new_references convert FILE WRITERS              as other types in memory; changes some members
     new_references swap FILE WRITERS                 writes what it has read to other elements
     new_references delete FILE WRITERS               deletes what some lead to
     new_references read-deleted FILE WRITERS
     new_references other FILE WRITERS                what is refused: references to another file
     new_references fill FILE WRITERS                 and fill values that are references
     new_references elsewhere FILE WRITERS            serially: what leads to another file
     new_references read-elsewhere FILE WRITERS
*/
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRows = 20, kColumns = 30, kEach = 24, kPairs = 5, kLater = 4 };

#define CHECK(what)                                                      \
  do {                                                                   \
    if (!(what)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
      MPI_Abort(MPI_COMM_WORLD, 1);                                      \
    }                                                                    \
  } while (0)

static int rank, ranks, writers;
static FILE* told;

typedef struct {
  int number;
  H5R_ref_t to;
  char* why;
  H5R_ref_t both[2];
  hvl_t all; /* of references */
} Pair;

/* As the program has it in `convert`: another order, fewer members, one that the file lacks. */
typedef struct {
  H5R_ref_t mine;
  hvl_t all;
  H5R_ref_t both[2];
  double number;
} Held;

typedef struct {
  H5R_ref_t to;
} Only;

static hid_t text_type(void) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  CHECK(H5Tset_size(type, H5T_VARIABLE) >= 0);
  return type;
}

static hid_t two_type(void) {
  const hsize_t two = 2;
  return H5Tarray_create2(H5T_STD_REF, 1, &two);
}

static hid_t pair_type(void) {
  const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(Pair));
  CHECK(H5Tinsert(type, "number", HOFFSET(Pair, number), H5T_NATIVE_INT) >= 0);
  CHECK(H5Tinsert(type, "to", HOFFSET(Pair, to), H5T_STD_REF) >= 0);
  CHECK(H5Tinsert(type, "why", HOFFSET(Pair, why), text_type()) >= 0);
  CHECK(H5Tinsert(type, "both", HOFFSET(Pair, both), two_type()) >= 0);
  CHECK(H5Tinsert(type, "all", HOFFSET(Pair, all), H5Tvlen_create(H5T_STD_REF)) >= 0);
  return type;
}

static hid_t held_type(void) {
  const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(Held));
  CHECK(H5Tinsert(type, "mine", HOFFSET(Held, mine), H5T_STD_REF) >= 0);
  CHECK(H5Tinsert(type, "all", HOFFSET(Held, all), H5Tvlen_create(H5T_STD_REF)) >= 0);
  CHECK(H5Tinsert(type, "both", HOFFSET(Held, both), two_type()) >= 0);
  CHECK(H5Tinsert(type, "number", HOFFSET(Held, number), H5T_NATIVE_DOUBLE) >= 0);
  return type;
}

static hid_t only_type(void) {
  const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(Only));
  CHECK(H5Tinsert(type, "to", HOFFSET(Only, to), H5T_STD_REF) >= 0);
  return type;
}

/* NEW_REFERENCES_SERIAL is set where the program runs as one process without the MPI driver,
   NEW_REFERENCES_NATIVE where it has no connector. */
static hid_t opened(const char* name, int create, unsigned flags) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  if (getenv("NEW_REFERENCES_SERIAL") == NULL)
    CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
  const hid_t file =
      create ? H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access) : H5Fopen(name, flags, access);
  CHECK(file >= 0);
  H5Pclose(access);
  return file;
}

/* Nothing but the file may be open: references hold on to it. */
static void closed(hid_t file) {
  CHECK(H5Fget_obj_count(file, H5F_OBJ_ALL) == 1);
  CHECK(H5Iget_ref(file) == 1);
  CHECK(H5Fclose(file) >= 0);
  CHECK(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL & ~(unsigned)H5F_OBJ_DATATYPE) == 0);
}

static void make_table(hid_t file, const char* name, int first) {
  static int values[kRows][kColumns];
  const hsize_t size[2] = {kRows, kColumns};
  const hsize_t chunk[2] = {5, kColumns};
  const hid_t space = H5Screate_simple(2, size, NULL);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_chunk(creation, 2, chunk) >= 0);
  const hid_t set =
      H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  for (int i = 0; i < kRows * kColumns; ++i) values[i / kColumns][i % kColumns] = first + i;
  if (rank == 0) CHECK(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  const hid_t one = H5Screate(H5S_SCALAR);
  const hid_t mark = H5Acreate2(set, "mark", H5T_NATIVE_INT, one, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(H5Awrite(mark, H5T_NATIVE_INT, &first) >= 0);
  H5Aclose(mark);
  H5Sclose(one);
  H5Dclose(set);
  H5Pclose(creation);
  H5Sclose(space);
}

static hid_t selected(int index) {
  const hsize_t size[2] = {kRows, kColumns};
  const hid_t space = H5Screate_simple(2, size, NULL);
  const hsize_t at = (hsize_t)(index % 9);
  const hsize_t start[2] = {at, 2}, count[2] = {3, 4};
  const hsize_t more[2] = {at + 4, 9};
  const hsize_t apart[2] = {6, 9}, three[2] = {3, 2}, block[2] = {2, 3}, begin[2] = {0, 1};
  const hsize_t points[6] = {at, 1, 3, at, 2, 29};
  switch (index / 6 % 6) {
    case 0:
      H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
      break;
    case 1:
      H5Sselect_hyperslab(space, H5S_SELECT_SET, begin, apart, three, block);
      break;
    case 2:
      H5Sselect_elements(space, H5S_SELECT_SET, 3, points);
      break;
    case 3:
      H5Sselect_all(space);
      break;
    case 4:
      H5Sselect_none(space);
      break;
    default:
      H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
      H5Sselect_hyperslab(space, H5S_SELECT_OR, more, NULL, count, NULL);
      break;
  }
  return space;
}

static H5R_ref_t reference(hid_t file, int index) {
  H5R_ref_t made;
  char name[32];
  memset(&made, 0, sizeof made);
  snprintf(name, sizeof name, index % 2 ? "/table" : "/later/%d", index / 6 % kLater);
  switch (index % 6) {
    case 0:
      CHECK(H5Rcreate_object(file, name, H5P_DEFAULT, &made) >= 0);
      break;
    case 1:
      CHECK(H5Rcreate_object(file, index % 4 == 1 ? "/later" : "/type", H5P_DEFAULT, &made) >= 0);
      break;
    case 2:
    case 3: {
      const hid_t space = selected(index);
      CHECK(H5Rcreate_region(file, name, space, H5P_DEFAULT, &made) >= 0);
      H5Sclose(space);
      break;
    }
    case 4:
      CHECK(H5Rcreate_attr(file, name, "mark", H5P_DEFAULT, &made) >= 0);
      break;
    default:
      break; /* null */
  }
  return made;
}

static int is_null(const H5R_ref_t* one) {
  const H5R_ref_t null = {{{0}}};
  return memcmp(one, &null, sizeof null) == 0;
}

static void destroy(H5R_ref_t* one) {
  if (!is_null(one)) CHECK(H5Rdestroy(one) >= 0);
  memset(one, 0, sizeof *one);
}

/* In words. */
static void tell(H5R_ref_t* one, const char* expected_file) {
  char name[256];
  if (is_null(one)) {
    fprintf(told, " null");
    return;
  }
  CHECK(H5Rget_file_name(one, name, sizeof name) >= 0);
  if (strcmp(name, expected_file) != 0) fprintf(told, " [in %s]", name);
  const H5R_type_t kind = H5Rget_type(one);
  H5O_type_t type = H5O_TYPE_UNKNOWN;
  CHECK(H5Rget_obj_type3(one, H5P_DEFAULT, &type) >= 0);
  CHECK(H5Rget_obj_name(one, H5P_DEFAULT, name, sizeof name) > 0);
  const hid_t object = H5Ropen_object(one, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(object >= 0 && H5Oclose(object) >= 0);
  fprintf(told, " %d:%d:%s", (int)kind, (int)type, name);
  if (kind == H5R_ATTR) {
    int value = 0;
    CHECK(H5Rget_attr_name(one, name, sizeof name) > 0);
    const hid_t mark = H5Ropen_attr(one, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(mark >= 0 && H5Aread(mark, H5T_NATIVE_INT, &value) >= 0 && H5Aclose(mark) >= 0);
    fprintf(told, "@%s=%d", name, value);
  }
  if (kind == H5R_DATASET_REGION2) {
    static int values[kRows * kColumns];
    const hid_t space = H5Ropen_region(one, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t set = H5Ropen_object(one, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(space >= 0 && set >= 0);
    const hssize_t count = H5Sget_select_npoints(space);
    const hsize_t size = (hsize_t)count;
    hsize_t now[2];
    CHECK(H5Sget_simple_extent_dims(space, now, NULL) == 2);
    const hid_t memory = H5Screate_simple(1, &size, NULL);
    long sum = 0;
    if (count > 0) CHECK(H5Dread(set, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, values) >= 0);
    for (hssize_t i = 0; i < count; ++i) sum += values[i] * (i + 1);
    fprintf(told, "(%d of %dx%d, form %d: %ld)", (int)count, (int)now[0], (int)now[1],
            (int)H5Sget_select_type(space), sum);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(set);
  }
}

static hid_t part(hid_t set, hsize_t start, hsize_t count, hid_t* memory) {
  const hid_t space = H5Dget_space(set);
  *memory = H5Screate_simple(1, &count, NULL);
  if (count == 0)
    CHECK(H5Sselect_none(space) >= 0);
  else
    CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL) >= 0);
  return space;
}

static hid_t make_list(hid_t file, const char* name, hid_t type, hsize_t count, hsize_t chunk) {
  const hid_t space = H5Screate_simple(1, &count, NULL);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  if (chunk > 0) CHECK(H5Pset_chunk(creation, 1, &chunk) >= 0);
  const hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  CHECK(set >= 0);
  H5Pclose(creation);
  H5Sclose(space);
  return set;
}

static void write_part(hid_t set, hid_t type, hsize_t start, hsize_t count, hid_t dxpl,
                       const void* from) {
  hid_t memory;
  const hid_t space = part(set, start, count, &memory);
  CHECK(H5Dwrite(set, type, memory, space, dxpl, from) >= 0);
  H5Sclose(space);
  H5Sclose(memory);
}

static void read_part(hid_t set, hid_t type, hsize_t start, hsize_t count, void* to) {
  hid_t memory;
  const hid_t space = part(set, start, count, &memory);
  CHECK(H5Dread(set, type, memory, space, H5P_DEFAULT, to) >= 0);
  H5Sclose(space);
  H5Sclose(memory);
}

static void reclaim(hid_t type, hsize_t count, void* from) {
  const hid_t space = H5Screate_simple(1, &count, NULL);
  CHECK(H5Treclaim(type, space, H5P_DEFAULT, from) >= 0);
  H5Sclose(space);
}

static Pair pair(hid_t file, int index) {
  Pair made;
  memset(&made, 0, sizeof made);
  made.number = index;
  made.to = reference(file, index);
  made.why = malloc(32);
  snprintf(made.why, 32, "pair %d", index);
  made.both[0] = reference(file, index + 1);
  made.both[1] = reference(file, index + 8);
  made.all.len = (size_t)(index % 4);
  H5R_ref_t* const all = malloc((made.all.len + 1) * sizeof *all);
  for (size_t i = 0; i < made.all.len; ++i) all[i] = reference(file, index * 3 + (int)i);
  made.all.p = all;
  return made;
}

static void make(const char* name) {
  const hid_t file = opened(name, 1, 0);
  make_table(file, "table", 1000);
  const hid_t refs = make_list(file, "refs", H5T_STD_REF, (hsize_t)(writers * kEach + 3), 7);
  const hid_t flat = make_list(file, "flat", H5T_STD_REF, (hsize_t)(writers * kEach), 0);
  const hid_t type = pair_type();
  const hid_t pairs = make_list(file, "pairs", type, (hsize_t)(writers * kPairs + 2), 3);
  const hid_t list = H5Tvlen_create(H5T_STD_REF);
  const hid_t lists = make_list(file, "lists", list, (hsize_t)(writers * kPairs), 0);
  if (rank == ranks - 1) { /* alone, before others create objects; all of it is overwritten */
    H5R_ref_t early;
    CHECK(H5Rcreate_attr(file, "table", "mark", H5P_DEFAULT, &early) >= 0);
    for (int i = 0; i < writers * kEach; i += 5)
      write_part(refs, H5T_STD_REF, (hsize_t)i, 1, H5P_DEFAULT, &early);
    destroy(&early);
  }
  const hid_t later = H5Gcreate2(file, "later", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Gclose(later);
  for (int i = 0; i < kLater; ++i) {
    char at[32];
    snprintf(at, sizeof at, "later/%d", i);
    make_table(file, at, 10000 * (i + 1));
  }
  const hid_t named = H5Tcopy(H5T_NATIVE_INT);
  CHECK(H5Tcommit2(file, "type", named, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0);
  H5Tclose(named);
  const hid_t objects = make_list(file, "old objects", H5T_STD_REF_OBJ, kLater + 1, 0);
  const hid_t regions = make_list(file, "old regions", H5T_STD_REF_DSETREG, kLater + 1, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  const hid_t together = H5Pcreate(H5P_DATASET_XFER);
  if (getenv("NEW_REFERENCES_SERIAL") == NULL)
    CHECK(H5Pset_dxpl_mpio(together, H5FD_MPIO_COLLECTIVE) >= 0);
  const int turns = (writers + ranks - 1) / ranks;
  for (int w = rank; w < turns * ranks; w += ranks) {
    H5R_ref_t mine[kEach];
    if (w >= writers) { /* the others' write is a collective one */
      write_part(refs, H5T_STD_REF, 0, 0, together, mine);
      continue;
    }
    for (int i = 0; i < kEach; ++i) mine[i] = reference(file, w * kEach + i);
    write_part(refs, H5T_STD_REF, (hsize_t)(w * kEach), kEach, together, mine);
    for (int i = 0; i < kEach; i += 4)
      write_part(flat, H5T_STD_REF, (hsize_t)(w * kEach + i), 4, H5P_DEFAULT, mine + i);
    for (int i = 0; i < kEach; ++i) destroy(&mine[i]);
    Pair some[kPairs];
    for (int i = 0; i < kPairs; ++i) some[i] = pair(file, w * kPairs + i);
    write_part(pairs, type, (hsize_t)(w * kPairs), kPairs, H5P_DEFAULT, some);
    for (int i = 0; i < kPairs; ++i) {
      CHECK(some[i].number == w * kPairs + i && strncmp(some[i].why, "pair", 4) == 0);
      write_part(lists, list, (hsize_t)(w * kPairs + i), 1, H5P_DEFAULT, &some[i].all);
    }
    reclaim(type, kPairs, some);
  }
  H5Pclose(together);
  if (rank == 0) {
    for (int i = 0; i < kLater; ++i) {
      hobj_ref_t object;
      hdset_reg_ref_t region;
      const hid_t space = selected(i * 6);
      char at[32];
      snprintf(at, sizeof at, "later/%d", i);
      CHECK(H5Rcreate(&object, file, at, H5R_OBJECT, H5I_INVALID_HID) >= 0);
      CHECK(H5Rcreate(&region, file, at, H5R_DATASET_REGION, space) >= 0);
      write_part(objects, H5T_STD_REF_OBJ, (hsize_t)i, 1, H5P_DEFAULT, &object);
      write_part(regions, H5T_STD_REF_DSETREG, (hsize_t)i, 1, H5P_DEFAULT, &region);
      H5Sclose(space);
    }
  }
  /* An attribute is written by all, with the same value. */
  const hid_t one = H5Screate(H5S_SCALAR);
  H5R_ref_t value = reference(file, 4);
  const hid_t at = H5Acreate2(refs, "one", H5T_STD_REF, one, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(H5Awrite(at, H5T_STD_REF, &value) >= 0);
  destroy(&value);
  H5Aclose(at);
  H5Sclose(one);
  CHECK(H5Tclose(list) >= 0 && H5Tclose(type) >= 0);
  CHECK(H5Dclose(refs) >= 0 && H5Dclose(flat) >= 0 && H5Dclose(pairs) >= 0);
  CHECK(H5Dclose(lists) >= 0 && H5Dclose(objects) >= 0 && H5Dclose(regions) >= 0);
  CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
  closed(file);
}

static void tell_list(hid_t file, const char* from, const char* path) {
  const hid_t set = H5Dopen2(file, from, H5P_DEFAULT);
  CHECK(set >= 0);
  const hid_t space = H5Dget_space(set);
  const size_t count = (size_t)H5Sget_simple_extent_npoints(space);
  H5Sclose(space);
  H5R_ref_t* const all = calloc(count, sizeof *all);
  read_part(set, H5T_STD_REF, 0, count, all);
  for (size_t i = 0; i < count; ++i) {
    fprintf(told, "%s %d:", from, (int)i);
    tell(&all[i], path);
    fprintf(told, "\n");
    if (i % 5 == 0) { /* and alone */
      H5R_ref_t again;
      read_part(set, H5T_STD_REF, i, 1, &again);
      CHECK(is_null(&again) == is_null(&all[i]));
      /* Natively no region that was read equals another. */
      if (!is_null(&again) && H5Rget_type(&again) != H5R_DATASET_REGION2)
        CHECK(H5Requal(&again, &all[i]) > 0);
      destroy(&again);
    }
    destroy(&all[i]);
  }
  free(all);
  CHECK(H5Dclose(set) >= 0);
}

static void tell_pairs(hid_t file, const char* path) {
  const hid_t set = H5Dopen2(file, "pairs", H5P_DEFAULT);
  const hid_t type = pair_type();
  const int count = writers * kPairs + 2;
  Pair* const all = calloc((size_t)count, sizeof *all);
  read_part(set, type, 0, (hsize_t)count, all);
  for (int i = 0; i < count; ++i) {
    fprintf(told, "pairs %d: %d %s", i, all[i].number, all[i].why != NULL ? all[i].why : "-");
    tell(&all[i].to, path);
    tell(&all[i].both[0], path);
    tell(&all[i].both[1], path);
    for (size_t k = 0; k < all[i].all.len; ++k) tell((H5R_ref_t*)all[i].all.p + k, path);
    fprintf(told, "\n");
  }
  reclaim(type, (hsize_t)count, all);
  free(all);
  H5Dclose(set);
  const hid_t lists = H5Dopen2(file, "lists", H5P_DEFAULT);
  const hid_t list = H5Tvlen_create(H5T_STD_REF);
  hvl_t values[kPairs];
  hsize_t want = 0;
  for (int w = 0; w < writers; ++w) {
    read_part(lists, list, (hsize_t)(w * kPairs), kPairs, values);
    for (int i = 0; i < kPairs; ++i) {
      fprintf(told, "lists %d:", w * kPairs + i);
      want += values[i].len;
      for (size_t k = 0; k < values[i].len; ++k) tell((H5R_ref_t*)values[i].p + k, path);
      fprintf(told, "\n");
    }
    reclaim(list, kPairs, values);
  }
  if (getenv("NEW_REFERENCES_NATIVE") ==
      NULL) { /* HDF5 leaves references behind, and the file open */
    const hid_t space = H5Dget_space(lists);
    hsize_t bytes = 0;
    CHECK(H5Dvlen_get_buf_size(lists, list, space, &bytes) >= 0);
    CHECK(bytes == want * sizeof(H5R_ref_t));
    CHECK(H5Sclose(space) >= 0);
  }
  CHECK(H5Dclose(lists) >= 0);
  CHECK(H5Tclose(list) >= 0 && H5Tclose(type) >= 0);
}

/* Prints what rank 0 has told; all must have told the same. */
static void compare_told(char* text, size_t bytes) {
  unsigned long first = bytes;
  MPI_Bcast(&first, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
  CHECK(first == bytes);
  char* const other = malloc(bytes + 1);
  memcpy(other, text, bytes);
  MPI_Bcast(other, (int)bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
  CHECK(memcmp(other, text, bytes) == 0);
  if (rank == 0) fwrite(text, 1, bytes, stdout);
  free(other);
  free(text);
}

static void tell_all(const char* name) {
  char* text = NULL;
  size_t bytes = 0;
  told = open_memstream(&text, &bytes);
  const hid_t file = opened(name, 0, H5F_ACC_RDONLY);
  tell_list(file, "refs", name);
  tell_list(file, "flat", name);
  if (H5Lexists(file, "copy", H5P_DEFAULT) > 0) tell_list(file, "copy", name);
  tell_list(file, "old objects", name);
  tell_list(file, "old regions", name);
  tell_pairs(file, name);
  H5R_ref_t value;
  const hid_t at = H5Aopen_by_name(file, "refs", "one", H5P_DEFAULT, H5P_DEFAULT);
  CHECK(H5Aread(at, H5T_STD_REF, &value) >= 0 && H5Aclose(at) >= 0);
  fprintf(told, "attribute:");
  tell(&value, name);
  fprintf(told, "\n");
  destroy(&value);
  closed(file);
  fclose(told);
  compare_told(text, bytes);
}

static void convert(const char* name) {
  const hid_t file = opened(name, 0, H5F_ACC_RDWR);
  const hid_t set = H5Dopen2(file, "pairs", H5P_DEFAULT);
  const hid_t held = held_type();
  const hid_t only = only_type();
  for (int w = rank; w < writers; w += ranks) {
    Held some[kPairs];
    memset(some, 0, sizeof some);
    CHECK(H5Rcreate_object(file, "/table", H5P_DEFAULT, &some[1].mine) >= 0);
    memset(&some[2].mine, 0x5a, sizeof some[2].mine); /* nobody looks at what the file lacks */
    read_part(set, held, (hsize_t)(w * kPairs), kPairs, some);
    for (int i = 0; i < kPairs; ++i) {
      H5R_ref_t want = reference(file, w * kPairs + i + 8);
      CHECK(some[i].number == w * kPairs + i && some[i].all.len == (size_t)((w * kPairs + i) % 4));
      CHECK(is_null(&want) == is_null(&some[i].both[1]));
      if (!is_null(&want)) CHECK(H5Rget_type(&want) == H5Rget_type(&some[i].both[1]));
      destroy(&want);
    }
    /* Written back, with two of them swapped. */
    const H5R_ref_t first = some[0].both[0];
    some[0].both[0] = some[0].both[1];
    some[0].both[1] = first;
    write_part(set, held, (hsize_t)(w * kPairs), 1, H5P_DEFAULT, some);
    memset(&some[2].mine, 0, sizeof some[2].mine);
    reclaim(held, kPairs, some);
    Only one = {reference(file, w * kPairs + 9)};
    write_part(set, only, (hsize_t)(w * kPairs + 3), 1, H5P_DEFAULT, &one);
    reclaim(only, 1, &one);
  }
  CHECK(H5Dclose(set) >= 0 && H5Tclose(held) >= 0 && H5Tclose(only) >= 0);
  closed(file);
}

static void swap(const char* name) {
  const hid_t file = opened(name, 0, H5F_ACC_RDWR);
  const hid_t set = H5Dopen2(file, "flat", H5P_DEFAULT);
  const hid_t lists = H5Dopen2(file, "lists", H5P_DEFAULT);
  const hid_t list = H5Tvlen_create(H5T_STD_REF);
  for (int w = rank; w < writers; w += ranks) {
    H5R_ref_t all[kEach];
    hvl_t values[2];
    read_part(set, H5T_STD_REF, (hsize_t)(w * kEach), kEach, all);
    for (int i = 0; i < kEach; ++i)
      write_part(set, H5T_STD_REF, (hsize_t)(w * kEach + kEach - 1 - i), 1, H5P_DEFAULT, &all[i]);
    for (int i = 0; i < kEach; ++i) destroy(&all[i]);
    read_part(lists, list, (hsize_t)(w * kPairs + 2), 2, values);
    write_part(lists, list, (hsize_t)(w * kPairs), 2, H5P_DEFAULT, values);
    reclaim(list, 2, values);
  }
  CHECK(H5Dclose(set) >= 0 && H5Dclose(lists) >= 0 && H5Tclose(list) >= 0);
  if (getenv("NEW_REFERENCES_SERIAL") == NULL) /* HDF5 copies no chunked one */
    CHECK(H5Ocopy(file, "refs", file, "copy", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  closed(file);
}

static void delete_some(const char* name) {
  const hid_t file = opened(name, 0, H5F_ACC_RDWR);
  CHECK(H5Ldelete(file, "later/0", H5P_DEFAULT) >= 0);
  closed(file);
}

/* References to what is gone come back, and lead nowhere; without h5bento, in the view, they are
   null. */
static void tell_deleted(const char* name) {
  const hid_t file = opened(name, 0, H5F_ACC_RDONLY);
  const hid_t set = H5Dopen2(file, "flat", H5P_DEFAULT);
  int gone = 0, null = 0, there = 0;
  for (int i = 0; i < writers * kEach; ++i) {
    H5R_ref_t one;
    read_part(set, H5T_STD_REF, (hsize_t)i, 1, &one);
    if (is_null(&one)) {
      ++null;
      continue;
    }
    hid_t object = H5I_INVALID_HID;
    H5E_BEGIN_TRY {
      object = H5Ropen_object(&one, H5P_DEFAULT, H5P_DEFAULT);
    }
    H5E_END_TRY
    if (object >= 0) {
      ++there;
      H5Oclose(object);
    } else {
      ++gone;
    }
    destroy(&one);
  }
  H5Dclose(set);
  printf("there %d, gone %d, null %d\n", there, gone, null);
  closed(file);
}

static herr_t look(unsigned at, const H5E_error2_t* one, void* words) {
  (void)at;
  const char** const wanted = words;
  if (one->desc != NULL && *wanted != NULL && strstr(one->desc, *wanted) != NULL) *wanted = NULL;
  return 0;
}

/* Does the last error say that? */
static int refused(const char* words) {
  CHECK(H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, look, (void*)&words) >= 0);
  return words == NULL;
}

static void other(const char* name) {
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  const hid_t file = opened(name, 0, H5F_ACC_RDWR);
  const hid_t second = opened("second.h5", 1, 0);
  make_table(second, "table", 5);
  const hid_t plain = H5Fcreate(rank == 0   ? "plain0.h5"
                                : rank == 1 ? "plain1.h5"
                                            : "plain2.h5",
                                H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t set = H5Dopen2(file, "flat", H5P_DEFAULT);
  hid_t memory;
  const hid_t space = part(set, 0, 1, &memory);
  const hid_t files[2] = {second, plain};
  for (int i = 0; i < 2; ++i) {
    H5R_ref_t one;
    CHECK(H5Rcreate_object(files[i], "/", H5P_DEFAULT, &one) >= 0);
    CHECK(H5Dwrite(set, H5T_STD_REF, memory, space, H5P_DEFAULT, &one) < 0);
    CHECK(refused("a reference to an object of another file"));
    destroy(&one);
  }
  /* The library makes a region of a group, too. */
  H5R_ref_t group;
  CHECK(H5Rcreate_region(file, "/", space, H5P_DEFAULT, &group) >= 0);
  CHECK(H5Dwrite(set, H5T_STD_REF, memory, space, H5P_DEFAULT, &group) < 0);
  CHECK(refused("a reference to a region of an object that is no dataset"));
  destroy(&group);
  H5Sclose(space);
  H5Sclose(memory);
  H5Dclose(set);
  CHECK(H5Fclose(plain) >= 0 && H5Fclose(second) >= 0);
  closed(file);
}

static void fill(const char* name) {
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  const hid_t file = opened(name, 0, H5F_ACC_RDWR);
  H5R_ref_t one;
  CHECK(H5Rcreate_object(file, "/table", H5P_DEFAULT, &one) >= 0);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  if (H5Pset_fill_value(creation, H5T_STD_REF, &one) >= 0) {
    const hsize_t count = 3;
    const hid_t space = H5Screate_simple(1, &count, NULL);
    CHECK(H5Dcreate2(file, "filled", H5T_STD_REF, space, H5P_DEFAULT, creation, H5P_DEFAULT) < 0);
    CHECK(refused("a fill value that is a reference"));
    H5Sclose(space);
  }
  destroy(&one);
  CHECK(H5Fclose(file) >= 0);
}

/* To the object and a region of another file, which lies there where the dataset of the references
   lies in this one, and to the file itself. A serial program. */
static void lead_elsewhere(const char* name) {
  const hsize_t count = 3;
  const hsize_t rows = 20;
  const hsize_t one = 1;
  const hid_t space = H5Screate_simple(1, &rows, NULL);
  const hid_t row = H5Screate_simple(1, &count, NULL);
  const hid_t second = H5Fcreate("second.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Dclose(H5Dcreate2(second, "far", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  const hid_t file = opened(name, 1, 0);
  const hid_t set =
      H5Dcreate2(file, "lead", H5T_STD_REF, row, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5R_ref_t to[3];
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &one, NULL, &count, NULL) >= 0);
  CHECK(H5Rcreate_object(second, "far", H5P_DEFAULT, &to[0]) >= 0);
  CHECK(H5Rcreate_region(second, "far", space, H5P_DEFAULT, &to[1]) >= 0);
  CHECK(H5Rcreate_object(file, "lead", H5P_DEFAULT, &to[2]) >= 0);
  CHECK(H5Dwrite(set, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) >= 0);
  for (int i = 0; i < 3; ++i) destroy(&to[i]);
  CHECK(H5Dclose(set) >= 0 && H5Sclose(space) >= 0 && H5Sclose(row) >= 0);
  CHECK(H5Fclose(second) >= 0 && H5Fclose(file) >= 0);
}

static void tell_elsewhere(const char* name) {
  const hid_t file = opened(name, 0, H5F_ACC_RDONLY);
  const hid_t set = H5Dopen2(file, "lead", H5P_DEFAULT);
  H5R_ref_t to[3];
  CHECK(H5Dread(set, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) >= 0);
  for (int i = 0; i < 3; ++i) {
    char where[256] = "nowhere";
    char object[256] = "";
    if (!is_null(&to[i])) {
      CHECK(H5Rget_file_name(&to[i], where, sizeof where) >= 0);
      CHECK(H5Rget_obj_name(&to[i], H5P_DEFAULT, object, sizeof object) > 0);
    }
    printf("%s %s\n", strcmp(where, name) == 0 ? "here" : where, object);
    destroy(&to[i]);
  }
  CHECK(H5Dclose(set) >= 0 && H5Fclose(file) >= 0);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(const char* file);
  } modes[] = {{"write", make},
               {"read", tell_all},
               {"convert", convert},
               {"swap", swap},
               {"delete", delete_some},
               {"read-deleted", tell_deleted},
               {"other", other},
               {"fill", fill},
               {"elsewhere", lead_elsewhere},
               {"read-elsewhere", tell_elsewhere}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  writers = argc == 4 ? atoi(argv[3]) : 0;
  size_t i = 0;
  while (argc == 4 && i < sizeof modes / sizeof *modes && strcmp(argv[1], modes[i].name) != 0) ++i;
  if (argc != 4 || i == sizeof modes / sizeof *modes) {
    fprintf(stderr, "usage: new_references MODE FILE WRITERS\n");
    return 2;
  }
  modes[i].run(argv[2]);
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
