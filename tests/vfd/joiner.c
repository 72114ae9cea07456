/* SPDX-License-Identifier: BSD-3-Clause */
/* SPDX-FileCopyrightText: The h5bento developers */
/* One process that opens files through the driver `bento`, as told line by line on stdin; each line
 * is answered by one: "ok ...", or "error: " and all that the error stack says. Knows nothing of
 * h5bento but the driver's name.
 *
 *   as CONFIG            configuration of the driver from here on
 *   create|new|rw|ro NAME    H5Fcreate with TRUNC, with EXCL; H5Fopen to write, to read
 *   swmr NAME            H5Fcreate for SWMR
 *   add NAME SEED N      a dataset of N ints: SEED, SEED + 1, ...
 *   sum NAME             datasets, ints and their sum in the open file
 *   handle, flush, close, lock
 *   delete NAME
 *   die                  SIGKILL to itself
 */
#include <hdf5.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hid_t g_fapl, g_file = -1;
static char g_text[8192];

static herr_t collect(unsigned n, const H5E_error2_t* record, void* unused) {
  (void)n;
  (void)unused;
  if (record->desc && strlen(g_text) + strlen(record->desc) + 3 < sizeof g_text) {
    strcat(g_text, " | ");
    strcat(g_text, record->desc);
  }
  return 0;
}

static void answer(int good, const char* text) {
  if (good) {
    printf("ok %s\n", text);
  } else {
    g_text[0] = 0;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, collect, NULL);
    for (char* c = g_text; *c; ++c)
      if (*c == '\n') *c = ' ';
    printf("error:%s\n", g_text);
  }
  fflush(stdout);
}

static int add(const char* name, int seed, hsize_t n) {
  int* values = malloc(n * sizeof *values);
  for (hsize_t i = 0; i < n; ++i) values[i] = seed + (int)i;
  hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(list, 0);
  hid_t space = H5Screate_simple(1, &n, NULL);
  hid_t set = H5Dcreate2(g_file, name, H5T_STD_I32LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
  int good = set >= 0 && H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
  good = set >= 0 && H5Dclose(set) >= 0 && good;
  H5Sclose(space);
  H5Pclose(list);
  free(values);
  return good;
}

typedef struct {
  long sets, ints;
  long long sum;
} totals;

static herr_t count(hid_t group, const char* name, const H5L_info2_t* info, void* out) {
  (void)info;
  totals* all = out;
  hid_t set = H5Dopen2(group, name, H5P_DEFAULT);
  if (set < 0) return -1;
  hid_t space = H5Dget_space(set);
  hssize_t n = H5Sget_simple_extent_npoints(space);
  int* values = malloc((n > 0 ? (size_t)n : 1) * sizeof *values);
  herr_t status = H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  for (hssize_t i = 0; status >= 0 && i < n; ++i) all->sum += values[i];
  all->ints += (long)n;
  all->sets += 1;
  free(values);
  H5Sclose(space);
  H5Dclose(set);
  return status < 0 ? -1 : 0;
}

static void obey(char* line) {
  char name[2048] = "";
  int seed = 0;
  unsigned long long n = 0;
  if (strncmp(line, "as ", 3) == 0) {
    answer(H5Pset_driver_by_name(g_fapl, "bento", line + 3) >= 0, "");
  } else if (sscanf(line, "create %2047s", name) == 1) {
    answer((g_file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, g_fapl)) >= 0, name);
  } else if (sscanf(line, "new %2047s", name) == 1) {
    answer((g_file = H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, g_fapl)) >= 0, name);
  } else if (sscanf(line, "swmr %2047s", name) == 1) {
    H5Pset_libver_bounds(g_fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    answer((g_file = H5Fcreate(name, H5F_ACC_TRUNC | H5F_ACC_SWMR_WRITE, H5P_DEFAULT, g_fapl)) >= 0,
           name);
  } else if (sscanf(line, "rw %2047s", name) == 1) {
    answer((g_file = H5Fopen(name, H5F_ACC_RDWR, g_fapl)) >= 0, name);
  } else if (sscanf(line, "ro %2047s", name) == 1) {
    answer((g_file = H5Fopen(name, H5F_ACC_RDONLY, g_fapl)) >= 0, name);
  } else if (sscanf(line, "add %2047s %d %llu", name, &seed, &n) == 3) {
    answer(add(name, seed, n), name);
  } else if (strcmp(line, "sum") == 0) {
    totals all = {0, 0, 0};
    int good = H5Literate2(g_file, H5_INDEX_NAME, H5_ITER_INC, NULL, count, &all) >= 0;
    snprintf(name, sizeof name, "%ld %ld %lld", all.sets, all.ints, all.sum);
    answer(good, name);
  } else if (strcmp(line, "handle") == 0) {
    void* handle = NULL;
    answer(H5Fget_vfd_handle(g_file, H5P_DEFAULT, &handle) >= 0 && *(int*)handle >= 0, "");
  } else if (strcmp(line, "flush") == 0) {
    answer(H5Fflush(g_file, H5F_SCOPE_GLOBAL) >= 0, "");
  } else if (strcmp(line, "close") == 0) {
    answer(H5Fclose(g_file) >= 0, "");
    g_file = -1;
  } else if (sscanf(line, "delete %2047s", name) == 1) {
    answer(H5Fdelete(name, g_fapl) >= 0, name);
  } else if (strcmp(line, "die") == 0) {
    kill(getpid(), SIGKILL);
  } else {
    printf("error: what is '%s'?\n", line);
    fflush(stdout);
  }
}

int main(void) {
  static char line[4096];
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  g_fapl = H5Pcreate(H5P_FILE_ACCESS);
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    obey(line);
  }
  return 0;
}
