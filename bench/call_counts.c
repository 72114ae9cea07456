// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
//
// One case whose calls are counted: prepares it, calls counted(), ends it. An ordinary serial HDF5
// program: the environment decides whether a connector is in use. bench/counts runs it under
// callgrind, which counts inside counted() only, and under strace, which looks for the two marks.
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  kPiece = 512,    // elements of a piece of 4 KiB
  kSmall = 64,     // of one of 512 B
  kPairs = 4096,   // of one of a compound of two
  kElements = 128  // of a small dataset
};

static hid_t file, sets[2], memory, list;
static hid_t* all;  // small datasets
static hid_t file_type, memory_type;
static int calls;
static double data[kPairs];

static hid_t check(hid_t result, const char* what) {
  if (result >= 0) return result;
  fprintf(stderr, "call_counts: failed: %s\n", what);
  exit(1);
}
#define CHECK(call) check((hid_t)(call), #call)

// strace shows it; it fails, and counts for nobody.
static void mark(const char* what) {
  if (write(-1, what, strlen(what)) >= 0) exit(1);
}

// ---- one or two large datasets, piece by piece

static int writes, piece = kPiece, step = 1, turns = 1;

static void pieces(void) {
  const hsize_t count = (hsize_t)piece;
  for (int i = 0; i < calls; ++i) {
    const hid_t set = sets[i % turns];
    const hsize_t start = (hsize_t)(i / turns) * count * (hsize_t)step;
    const hid_t space = CHECK(H5Dget_space(set));
    CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL));
    if (writes)
      CHECK(H5Dwrite(set, memory_type, memory, space, H5P_DEFAULT, data));
    else
      CHECK(H5Dread(set, memory_type, memory, space, H5P_DEFAULT, data));
    H5Sclose(space);
  }
}

static void make_large(const char* path) {
  const hsize_t extent = (hsize_t)calls * (hsize_t)piece * (hsize_t)step;
  file = CHECK(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  const hid_t space = CHECK(H5Screate_simple(1, &extent, NULL));
  for (int i = 0; i < turns; ++i)
    sets[i] = CHECK(
        H5Dcreate2(file, i ? "b" : "a", file_type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL));
  if (writes) return;
  char* const whole = calloc((size_t)extent, H5Tget_size(file_type));
  for (int i = 0; i < turns; ++i) {
    CHECK(H5Dwrite(sets[i], file_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, whole));
    CHECK(H5Dclose(sets[i]));
  }
  free(whole);
  CHECK(H5Fclose(file));
  file = CHECK(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
  for (int i = 0; i < turns; ++i) sets[i] = CHECK(H5Dopen2(file, i ? "b" : "a", H5P_DEFAULT));
}

// A compound of two members, of which the program has one in memory, in its own type.
static void use_pairs(void) {
  file_type = CHECK(H5Tcreate(H5T_COMPOUND, 2 * sizeof(double)));
  CHECK(H5Tinsert(file_type, "a", 0, H5T_NATIVE_DOUBLE));
  CHECK(H5Tinsert(file_type, "b", sizeof(double), H5T_NATIVE_DOUBLE));
  memory_type = CHECK(H5Tcreate(H5T_COMPOUND, sizeof(double)));
  CHECK(H5Tinsert(memory_type, "b", 0, H5T_NATIVE_DOUBLE));
  piece = kPairs;
}

// ---- rows appended one by one

static void append(void) {
  hsize_t rows = 0, start[2] = {0, 0}, count[2] = {1, kSmall};
  for (int i = 0; i < calls; ++i) {
    const hsize_t extent[2] = {rows + 1, kSmall};
    CHECK(H5Dset_extent(sets[0], extent));
    const hid_t space = CHECK(H5Dget_space(sets[0]));
    start[0] = rows++;
    CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
    CHECK(H5Dwrite(sets[0], H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data));
    H5Sclose(space);
  }
}

static void make_appendable(const char* path) {
  const hsize_t extent[2] = {0, kSmall}, most[2] = {H5S_UNLIMITED, kSmall}, chunk[2] = {64, kSmall};
  file = CHECK(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  const hid_t space = CHECK(H5Screate_simple(2, extent, most));
  list = CHECK(H5Pcreate(H5P_DATASET_CREATE));
  CHECK(H5Pset_chunk(list, 2, chunk));
  sets[0] = CHECK(H5Dcreate2(file, "a", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT));
}

// ---- many small datasets, each with an attribute

static void create_small(void) {
  const hsize_t extent = kElements;
  const hid_t space = CHECK(H5Screate_simple(1, &extent, NULL));
  const hid_t scalar = CHECK(H5Screate(H5S_SCALAR));
  char name[32];
  for (int i = 0; i < calls; ++i) {
    snprintf(name, sizeof name, "d%d", i);
    all[i] = CHECK(
        H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const hid_t attribute =
        CHECK(H5Acreate2(all[i], "number", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT));
    CHECK(H5Awrite(attribute, H5T_NATIVE_INT, &i));
    H5Aclose(attribute);
  }
}

static void write_small(void) {
  for (int i = 0; i < calls; ++i)
    CHECK(H5Dwrite(all[i], H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
}

static void open_small(void) {
  char name[32];
  for (int i = 0; i < calls; ++i) {
    snprintf(name, sizeof name, "d%d", i);
    all[i] = CHECK(H5Dopen2(file, name, H5P_DEFAULT));
  }
}

static void read_small(void) {
  for (int i = 0; i < calls; ++i)
    CHECK(H5Dread(all[i], H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
}

static void close_sets(void) {
  for (int i = 0; i < calls; ++i) CHECK(H5Dclose(all[i]));
}

static void flush(void) {
  CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL));
}

static void close_file(void) {
  CHECK(H5Fclose(file));
  file = H5I_INVALID_HID;
}

enum { kTimes = 10 };  // of what "one" counts

static void one_and_flush(void) {
  for (int i = 0; i < kTimes; ++i) {
    CHECK(H5Dwrite(all[i % calls], H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
    flush();
  }
}

// ---- cases

static void (*work)(void);

__attribute__((noinline)) void counted(void) {
  work();
  __asm__ volatile("");  // no jump in the place of the call
}

static void count(void (*what)(void)) {
  work = what;
  mark("counted: begin\n");
  counted();
  mark("counted: end\n");
}

static void nothing(void) {}

// Goes through the phases of small datasets, and counts the one that is named.
static void small(const char* phase, const char* path) {
  const struct {
    const char* name;
    void (*call)(void);
  } phases[] = {{"create", create_small}, {"write", write_small}, {"sets", close_sets},
                {"flush", flush},         {"reopen", open_small}, {"one", one_and_flush},
                {"sets", close_sets},     {"close", close_file},  {"", nothing},
                {"open", open_small},     {"read", read_small},   {"sets", close_sets}};
  all = calloc((size_t)calls, sizeof *all);
  file = CHECK(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  for (size_t i = 0; i < sizeof phases / sizeof *phases; ++i) {
    if (file < 0) file = CHECK(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT));
    if (strcmp(phase, phases[i].name) != 0) {
      phases[i].call();
      continue;
    }
    count(phases[i].call);
  }
  free(all);
}

int main(int argc, char** argv) {
  calls = argc == 4 ? atoi(argv[2]) : 0;
  if (calls < 1) {
    fprintf(stderr, "usage: call_counts CASE CALLS PATH\n");
    return 2;
  }
  const char* const name = argv[1];
  for (int i = 0; i < kPairs; ++i) data[i] = i;
  file_type = memory_type = H5T_NATIVE_DOUBLE;
  if (strncmp(name, "small-", 6) == 0) {
    small(name + 6, argv[3]);
  } else {
    writes = strncmp(name, "write", 5) == 0;
    if (strstr(name, "512") || strcmp(name, "append") == 0) piece = kSmall;
    if (strstr(name, "member")) use_pairs();
    if (strstr(name, "apart")) step = 2;
    if (strstr(name, "turns")) turns = 2;
    const hsize_t elements = (hsize_t)piece;
    memory = CHECK(H5Screate_simple(1, &elements, NULL));
    if (strcmp(name, "append") == 0) {
      make_appendable(argv[3]);
      count(append);
    } else {
      make_large(argv[3]);
      count(pieces);
    }
    for (int i = 0; i < turns; ++i) H5Dclose(sets[i]);
  }
  if (file >= 0) CHECK(H5Fclose(file));
  return 0;
}
