// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Plain parallel HDF5: brings a file from step to step, each ended by H5Fflush. steps_state.py says
// at which step a file is.
//
//   steps_writer FILE LOG new|append STEPS [big=N] [row=N] [pause=MS] [retry=1] [hold=1] [stop=N]
//
// Rank 0 adds to LOG, with one write each: `pid N`, `flushed K` as soon as H5Fflush has returned,
// `closed K`. Each rank adds to LOG.RANK what failed: `K CALL SECONDS: text of the error stack`. A
// failed step is repeated (retry=1) when LOG.freed exists, else the file is closed and the exit
// status is 3. big, row: elements of the large datasets, and of a row of the growing one. pause:
// between steps. hold=1: after the last step, wait for LOG.freed before the close.
// stop: after so many steps, wait for LOG.go.
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kSmall = 100, kBlocks = 32, kRows = 96, kColumns = 480, kTag = 1000003 };

static int rank = 0, ranks = 1, pause_ms = 0, retry = 0, hold = 0, stop = 0;
static hsize_t big = 96000, row = 50;
static const char *log_path, *failed_call;
static char message[4096];

// ---- errors and the log ----

static herr_t one_message(unsigned depth, const H5E_error2_t* error, void* classes) {
  (void)depth;
  if (error->cls_id < 0 || error->desc == NULL) return 0;
  char name[64] = "";
  H5Eget_class_name(error->cls_id, name, sizeof name);
  if (strcmp(name, "HDF5") == 0 && classes == NULL) return 0;  // ours say it
  const size_t used = strlen(message);
  snprintf(message + used, sizeof message - used, "%s%s", used ? " | " : "", error->desc);
  for (char* c = message; *c != '\0'; ++c)
    if (*c == '\n') *c = ' ';
  return 0;
}

static void take_message(void) {
  message[0] = '\0';
  hid_t stack = H5Eget_current_stack();  // the walk below would clear the default one
  H5Ewalk2(stack, H5E_WALK_UPWARD, one_message, NULL);
  int all = 1;
  if (message[0] == '\0') H5Ewalk2(stack, H5E_WALK_UPWARD, one_message, &all);
  H5Eclose_stack(stack);
}

static void add_line(const char* path, const char* line) {
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (file < 0 || write(file, line, strlen(line)) != (ssize_t)strlen(line)) {
    perror(path);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  close(file);
}

static void note(const char* what, int number) {
  char line[64];
  snprintf(line, sizeof line, "%s %d\n", what, number);
  if (rank == 0) add_line(log_path, line);
}

static void note_failure(int step, const char* call, double seconds) {
  char path[4096], line[5000];
  take_message();
  snprintf(path, sizeof path, "%s.%d", log_path, rank);
  snprintf(line, sizeof line, "%d %s %.2f: %s\n", step, call, seconds, message);
  add_line(path, line);
}

static hid_t need(hid_t result, const char* call) {
  if (result < 0) {
    take_message();
    fprintf(stderr, "steps_writer: rank %d: failed: %s: %s\n", rank, call, message);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return result;
}
#define NEED(call) need((hid_t)(call), #call)

// ---- data ----

// Opened if there already, after an append or in a repeated step.
static hid_t dataset(hid_t parent, const char* name, int dims, const hsize_t* size,
                     const hsize_t* most, const hsize_t* chunk) {
  if (H5Lexists(parent, name, H5P_DEFAULT) > 0) return NEED(H5Dopen2(parent, name, H5P_DEFAULT));
  hid_t space = NEED(H5Screate_simple(dims, size, most)),
        list = NEED(H5Pcreate(H5P_DATASET_CREATE));
  const int fill = -1;
  NEED(H5Pset_fill_value(list, H5T_NATIVE_INT, &fill));
  if (chunk != NULL) NEED(H5Pset_chunk(list, dims, chunk));
  hid_t set = NEED(H5Dcreate2(parent, name, H5T_STD_I32LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
  H5Pclose(list);
  H5Sclose(space);
  return set;
}

// A box of a dataset of `columns` columns; element (i, j) gets step * kTag + i * columns + j.
static void put(hid_t set, int step, int dims, const hsize_t* start, const hsize_t* count,
                hsize_t columns) {
  const hsize_t total = count[0] * (dims == 2 ? count[1] : 1);
  if (total == 0) return;
  int* data = malloc(total * sizeof *data);
  for (hsize_t i = 0; i < total; ++i) {
    const hsize_t index =
        dims == 2 ? (start[0] + i / count[1]) * columns + start[1] + i % count[1] : start[0] + i;
    data[i] = (int)((unsigned)step * kTag + (unsigned)index);
  }
  hid_t memory = NEED(H5Screate_simple(1, &total, NULL)), file = NEED(H5Dget_space(set));
  NEED(H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL));
  const double begin = MPI_Wtime();
  if (H5Dwrite(set, H5T_NATIVE_INT, memory, file, H5P_DEFAULT, data) < 0 && failed_call == NULL) {
    failed_call = "H5Dwrite";
    note_failure(step, failed_call, MPI_Wtime() - begin);
  }
  H5Sclose(memory);
  H5Sclose(file);
  free(data);
}

static void put_share(hid_t set, int step, int who, hsize_t first, hsize_t length) {
  const hsize_t low = length * (hsize_t)who / (hsize_t)ranks,
                high = length * (hsize_t)(who + 1) / (hsize_t)ranks;
  const hsize_t start = first + low, count = high - low;
  put(set, step, 1, &start, &count, 0);
}

// Both shrinks and grows, by whole chunks: of parts of chunks that went away, native parallel HDF5
// 1.14.5 brings old values back.
static hsize_t breath(int step) {
  return 5 * (4 + (hsize_t)(step * 2 % 5));
}

static void set_attribute(hid_t file, int step) {
  hid_t space = NEED(H5Screate(H5S_SCALAR));
  hid_t attribute =
      H5Aexists(file, "step") > 0
          ? NEED(H5Aopen(file, "step", H5P_DEFAULT))
          : NEED(H5Acreate2(file, "step", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT));
  NEED(H5Awrite(attribute, H5T_NATIVE_INT, &step));
  H5Aclose(attribute);
  H5Sclose(space);
}

static void new_name(hid_t file, int step) {
  char name[32];
  snprintf(name, sizeof name, "at %d", step - 1);
  if (H5Lexists(file, name, H5P_DEFAULT) > 0) NEED(H5Ldelete(file, name, H5P_DEFAULT));
  snprintf(name, sizeof name, "at %d", step);
  const hsize_t length = big / 2;
  hid_t set = dataset(file, name, 1, &length, NULL, NULL);
  put_share(set, step, rank, 0, length);
  H5Dclose(set);
}

static void change(hid_t file, int step) {
  hid_t set = dataset(file, "big", 1, &big, NULL, NULL);
  put_share(set, step, (rank + step) % ranks, 0, big);
  H5Dclose(set);

  // A quarter of the blocks at each step.
  const hsize_t parts = kBlocks * (big / kBlocks), block = big / kBlocks;
  set = dataset(file, "part", 1, &parts, NULL, NULL);
  for (int i = 0; i < kBlocks; ++i) {
    const hsize_t start = (hsize_t)i * block;
    if ((step == 1 || i % 4 == step % 4) && i % ranks == rank) put(set, step, 1, &start, &block, 0);
  }
  H5Dclose(set);

  const hsize_t shape[2] = {kRows, kColumns};
  set = dataset(file, "grid", 2, shape, NULL, NULL);
  hsize_t start[2] = {0, 0}, count[2] = {kRows, kColumns};
  const int dim = step % 2;  // by columns, by rows
  start[1 - dim] = shape[1 - dim] * (hsize_t)rank / (hsize_t)ranks;
  count[1 - dim] = shape[1 - dim] * (hsize_t)(rank + 1) / (hsize_t)ranks - start[1 - dim];
  put(set, step, 2, start, count, kColumns);
  H5Dclose(set);

  const hsize_t one[2] = {1, row}, most[2] = {H5S_UNLIMITED, row}, chunk[2] = {4, row};
  set = dataset(file, "growing", 2, one, most, chunk);
  const hsize_t grown[2] = {(hsize_t)step, row};
  NEED(H5Dset_extent(set, grown));
  const hsize_t low = row * (hsize_t)rank / (hsize_t)ranks,
                high = row * (hsize_t)(rank + 1) / (hsize_t)ranks;
  const hsize_t place[2] = {(hsize_t)step - 1, low}, piece[2] = {1, high - low};
  put(set, step, 2, place, piece, row);
  H5Dclose(set);

  const hsize_t lungs = breath(step), any = H5S_UNLIMITED, chunked = 5;
  set = dataset(file, "breathing", 1, &lungs, &any, &chunked);
  NEED(H5Dset_extent(set, &lungs));
  if (step % 2 == 0 || step == 1) put_share(set, step, rank, 0, lungs);
  H5Dclose(set);

  const hsize_t small = kSmall, zero = 0;
  set = dataset(file, "small", 1, &small, NULL, NULL);
  if (rank == ranks - 1) put(set, step, 1, &zero, &small, 0);
  H5Dclose(set);
  new_name(file, step);
  set_attribute(file, step);
}

static int wait_for(const char* sign) {
  char path[4096];
  snprintf(path, sizeof path, "%s.%s", log_path, sign);
  int there = 0;
  for (int i = 0; rank == 0 && i < 600 && !there; ++i) {
    there = access(path, F_OK) == 0;
    if (!there) usleep(50000);
  }
  MPI_Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return there;
}

// One step. 0: it is committed, or every rank has noted why not.
static int step_once(hid_t file, int step) {
  failed_call = NULL;
  change(file, step);
  const double begin = MPI_Wtime();
  if (H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0) {
    note("flushed", step);
    return 1;
  }
  note_failure(step, "H5Fflush", MPI_Wtime() - begin);
  return 0;
}

static int last_step(hid_t file) {
  int step = 0;
  hid_t attribute = NEED(H5Aopen(file, "step", H5P_DEFAULT));
  NEED(H5Aread(attribute, H5T_NATIVE_INT, &step));
  H5Aclose(attribute);
  return step;
}

static int set_option(const char* text) {
  const char* value = strchr(text, '=');
  if (value == NULL) return 0;
  const long number = strtol(value + 1, NULL, 10);
  if (strncmp(text, "big=", 4) == 0)
    big = (hsize_t)number;
  else if (strncmp(text, "row=", 4) == 0)
    row = (hsize_t)number;
  else if (strncmp(text, "pause=", 6) == 0)
    pause_ms = (int)number;
  else if (strncmp(text, "retry=", 6) == 0)
    retry = (int)number;
  else if (strncmp(text, "hold=", 5) == 0)
    hold = (int)number;
  else if (strncmp(text, "stop=", 5) == 0)
    stop = (int)number;
  else
    return 0;
  return 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int good = argc >= 5;
  for (int i = 5; i < argc; ++i) good = good && set_option(argv[i]);
  if (!good) {
    if (rank == 0) fputs("usage: steps_writer FILE LOG new|append STEPS [name=value...]\n", stderr);
    MPI_Finalize();
    return 2;
  }
  log_path = argv[2];
  const int creates = strcmp(argv[3], "new") == 0, steps = atoi(argv[4]);
  NEED(H5Eset_auto2(H5E_DEFAULT, NULL, NULL));
  hid_t fapl = NEED(H5Pcreate(H5P_FILE_ACCESS));
  NEED(H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, MPI_INFO_NULL));
  hid_t file = creates ? NEED(H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, fapl))
                       : NEED(H5Fopen(argv[1], H5F_ACC_RDWR, fapl));
  note("pid", (int)getpid());
  int step = creates ? 0 : last_step(file), failed = 0;
  for (const int last = step + steps; step < last && !failed;) {
    failed = !step_once(file, step + 1);
    if (failed && retry && wait_for("freed")) failed = !step_once(file, step + 1);
    if (!failed) ++step;
    if (stop > 0 && --stop == 0) wait_for("go");
    if (pause_ms > 0) usleep((useconds_t)pause_ms * 1000);
  }
  if (hold) wait_for("freed");
  const double begin = MPI_Wtime();
  if (H5Fclose(file) < 0) {
    note_failure(step, "H5Fclose", MPI_Wtime() - begin);
    failed = 1;
  } else {
    note("closed", step);
  }
  H5Pclose(fapl);
  MPI_Finalize();
  return failed ? 3 : 0;
}
