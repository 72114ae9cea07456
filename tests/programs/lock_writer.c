// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Writers of one file that die, fork, or come too early; driven line by line by lock_survivors.py
// and forked.py. The file holds dataset "x", a row of doubles per rank.
//
//   lock_writer create FILE ROWS   makes the file and closes it; one process
//   lock_writer work FILE          under mpirun: opens it for writing, flushes, then writes its own
//                                  row whenever the file FILE.RANK holds a larger number
//   lock_writer try FILE           one process: for each line "FILE" read, opens it for writing,
//   closes it lock_writer child FILE         one process: opens it for writing, writes, forks a
//   child that
//                                  sleeps, and sleeps itself
//   lock_writer leave FILE         under mpirun: as work, but each rank forks a child that tries
//   what
//                                  it must not, and ends in the ordinary way; then all go on and
//                                  close
#define _GNU_SOURCE /* usleep */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kColumns = 20000 };

static int in_child = 0;

// In one piece: launchers mix the pieces of several ranks.
static void say(const char* text) {
  char line[1200];
  const int length = snprintf(line, sizeof line, "%s\n", text);
  if (write(1, line, (size_t)length) != length) _exit(98);
}

// What a forked child must not call. The program's own symbols come before MPI's.
static void not_in_child(const char* name) {
  if (!in_child) return;
  fprintf(stderr, "MPI call in a forked child: %s\n", name);
  _exit(99);
}
int MPI_Comm_free(MPI_Comm* comm) {
  not_in_child("MPI_Comm_free");
  return PMPI_Comm_free(comm);
}
int MPI_Info_free(MPI_Info* info) {
  not_in_child("MPI_Info_free");
  return PMPI_Info_free(info);
}
int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  not_in_child("MPI_Isend");
  return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}
int MPI_Improbe(int from, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                MPI_Status* status) {
  not_in_child("MPI_Improbe");
  return PMPI_Improbe(from, tag, comm, flag, message, status);
}
int MPI_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  not_in_child("MPI_Testall");
  return PMPI_Testall(count, requests, flag, statuses);
}

static herr_t first_line(unsigned n, const H5E_error2_t* error, void* data) {
  char* text = data;
  (void)n;
  if (text[0] == '\0' || strstr(error->desc, "open for writing") != NULL ||
      strstr(error->desc, "forked child") != NULL)
    snprintf(text, 1000, "%s", error->desc);
  return 0;
}

static void say_error(const char* what) {
  char text[1000] = "";
  char line[1100];
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, first_line, text);
  snprintf(line, sizeof line, "%s error: %s", what, text);
  say(line);
}

static hid_t open_file(const char* path, int parallel) {
  hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  hid_t file;
  if (parallel) H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL);
  file = H5Fopen(path, H5F_ACC_RDWR, list);
  if (file >= 0) H5Pclose(list);  // any call forgets the errors of the last one
  return file;
}

static herr_t write_row(hid_t dataset, hsize_t row, double value) {
  static double values[kColumns];
  hsize_t start[2] = {row, 0}, count[2] = {1, kColumns}, flat[1] = {kColumns};
  hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(1, flat, NULL);
  herr_t done;
  for (int i = 0; i < kColumns; ++i) values[i] = value + i;
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
  done = H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values);
  H5Sclose(memory);
  H5Sclose(space);
  return done;
}

static int row_is(hid_t dataset, hsize_t row, double value) {
  static double values[kColumns];
  hsize_t start[2] = {row, 0}, count[2] = {1, kColumns}, flat[1] = {kColumns};
  hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(1, flat, NULL);
  herr_t done;
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
  done = H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values);
  H5Sclose(memory);
  H5Sclose(space);
  return done >= 0 && values[0] == value && values[kColumns - 1] == value + kColumns - 1;
}

static int create(const char* path, int rows) {
  hsize_t dims[2] = {(hsize_t)rows, kColumns};
  hid_t space = H5Screate_simple(2, dims, NULL);
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t dataset =
      H5Dcreate2(file, "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  for (int row = 0; row < rows; ++row)
    if (write_row(dataset, (hsize_t)row, 1) < 0) return 1;
  H5Dclose(dataset);
  H5Sclose(space);
  if (H5Fclose(file) < 0) return 1;
  // A fork after the plugin was unloaded runs no handler of it.
  H5close();
  pid_t child = fork();
  int status = 0;
  if (child == 0) _exit(0);
  return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

static int work(const char* path) {
  int rank = 0, size = 0, done = 0;
  char name[4096], line[200];
  hid_t file, dataset;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  file = open_file(path, 1);
  if (file < 0) return 1;
  dataset = H5Dopen2(file, "x", H5P_DEFAULT);
  if (write_row(dataset, (hsize_t)rank, 2) < 0 || H5Fflush(file, H5F_SCOPE_GLOBAL) < 0) return 1;
  snprintf(line, sizeof line, "rank %d pid %d", rank, (int)getpid());
  say(line);
  snprintf(name, sizeof name, "%s.%d", path, rank);
  for (;;) {
    int wanted = 0;
    FILE* command = fopen(name, "r");
    if (command != NULL) {
      if (fscanf(command, "%d", &wanted) != 1) wanted = 0;
      fclose(command);
    }
    if (wanted > done) {
      done = wanted;
      if (write_row(dataset, (hsize_t)rank, 2 + done) < 0) return 1;
      snprintf(line, sizeof line, "rank %d wrote %d", rank, done);
      say(line);
    }
    usleep(2000);
  }
}

static int try_to_open(void) {
  char path[4096];
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  while (fgets(path, sizeof path, stdin) != NULL) {
    hid_t file;
    path[strcspn(path, "\n")] = '\0';
    file = open_file(path, 0);
    if (file < 0) {
      say_error("open");
    } else {
      say("opens");
      H5Fclose(file);
    }
  }
  return 0;
}

static int keep_child(const char* path) {
  char line[200];
  hid_t file = open_file(path, 0);
  hid_t dataset = H5Dopen2(file, "x", H5P_DEFAULT);
  pid_t child;
  if (file < 0 || write_row(dataset, 0, 5) < 0 || H5Fflush(file, H5F_SCOPE_GLOBAL) < 0) return 1;
  child = fork();
  if (child == 0)
    for (;;) pause();
  snprintf(line, sizeof line, "rank 0 pid %d child %d", (int)getpid(), (int)child);
  say(line);
  for (;;) pause();
}

static void be_child(hid_t file, hid_t dataset, hsize_t rank) {
  in_child = 1;
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  if (!row_is(dataset, rank, 2)) say("child reads wrong");
  if (write_row(dataset, rank, 99) >= 0)
    say("child wrote");
  else
    say_error("child write");
  if (H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0)
    say("child flushed");
  else
    say_error("child flush");
  if (rank % 2 == 0) {
    H5Dclose(dataset);
    if (H5Fclose(file) >= 0)
      say("child closed");
    else
      say_error("child close");
  }
  exit(0);
}

static int leave(const char* path) {
  int rank = 0, status = 0;
  hid_t file, dataset;
  pid_t child;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  file = open_file(path, 1);
  if (file < 0) return 1;
  dataset = H5Dopen2(file, "x", H5P_DEFAULT);
  if (write_row(dataset, (hsize_t)rank, 2) < 0 || H5Fflush(file, H5F_SCOPE_GLOBAL) < 0) return 1;
  child = fork();
  if (child == 0) be_child(file, dataset, (hsize_t)rank);
  waitpid(child, &status, 0);
  printf("rank %d child ended %d\n", rank, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  fflush(stdout);
  if (write_row(dataset, (hsize_t)rank, 7) < 0) return 1;
  H5Dclose(dataset);
  return H5Fclose(file) < 0;
}

int main(int argc, char** argv) {
  int done = 2;
  if (argc < 3) return done;
  const int parallel = strcmp(argv[1], "work") == 0 || strcmp(argv[1], "leave") == 0;
  if (parallel) MPI_Init(&argc, &argv);
  if (strcmp(argv[1], "create") == 0 && argc == 4) done = create(argv[2], atoi(argv[3]));
  if (strcmp(argv[1], "work") == 0) done = work(argv[2]);
  if (strcmp(argv[1], "try") == 0) done = try_to_open();
  if (strcmp(argv[1], "child") == 0) done = keep_child(argv[2]);
  if (strcmp(argv[1], "leave") == 0) done = leave(argv[2]);
  if (parallel) MPI_Finalize();
  return done;
}
