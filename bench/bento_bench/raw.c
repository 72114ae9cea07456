// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
//
// Plain pwrite and pread: a file for each writer, or one or two in which each writer has a region.

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "methods.h"

typedef struct {
  const Options* options;
  int* descriptors;  // of each file that was opened, else -1
  int flags;
  uint64_t shift;  // of all that is written
} Files;

static Files open_files(const Options* options, int flags) {
  Files files = {options, allocate((uint64_t)options->writers * sizeof(int)), flags, 0};
  for (int f = 0; f < options->writers; ++f) files.descriptors[f] = -1;
  return files;
}

// Writers that follow each other share a file.
static uint64_t writers_per_file(const Options* o) {
  const uint64_t writers = (uint64_t)o->writers;
  if (o->method == kRaw) return 1;
  return o->method == kRawTwo ? (writers + 1) / 2 : writers;
}

static int file_of(Files* files, uint64_t writer) {
  const Options* o = files->options;
  const uint64_t number = writer / writers_per_file(o);
  int* descriptor = &files->descriptors[number];
  if (*descriptor >= 0) return *descriptor;
  char path[4096];
  if (o->method != kRaw && number == 0)
    snprintf(path, sizeof path, "%s", o->path);
  else
    snprintf(path, sizeof path, "%s.%d", o->path, (int)number);
  *descriptor = open(path, files->flags, 0644);
  CHECK_POSIX(*descriptor);
  return *descriptor;
}

static void each_file(Files* files, int (*call)(int), const char* name) {
  for (int f = 0; f < files->options->writers; ++f)
    if (files->descriptors[f] >= 0) check_posix(call(files->descriptors[f]), name, __LINE__);
}

// Bytes at `position` of a variable, counted over all writers.
static void move(Files* files, int variable, uint64_t position, char* data, uint64_t bytes) {
  const Options* o = files->options;
  while (bytes > 0) {
    const uint64_t writer = position / o->variable_bytes, inside = position % o->variable_bytes;
    const uint64_t left = o->variable_bytes - inside, most = bytes < left ? bytes : left;
    const uint64_t before =
        writer % writers_per_file(o) * (uint64_t)o->variables * o->variable_bytes;
    const off_t offset =
        (off_t)(files->shift + before + (uint64_t)variable * o->variable_bytes + inside);
    const int fd = file_of(files, writer);
    const ssize_t done =
        files->flags == O_RDONLY ? pread(fd, data, most, offset) : pwrite(fd, data, most, offset);
    CHECK_POSIX(done);
    if (done == 0) fail("pread: end of file", __LINE__);
    data += done, position += (uint64_t)done, bytes -= (uint64_t)done;
  }
}

static void move_all(Files* files, const Shape* shape, uint64_t** buffers, Clock* clock) {
  const uint64_t request = shape->bytes / shape->requests;
  for (int v = 0; v < files->options->variables; ++v) {
    for (uint64_t i = 0; i < shape->requests; ++i) {
      const double begin = MPI_Wtime();
      move(files, v, shape->first_byte + i * request, (char*)buffers[v] + i * request, request);
      clock->calls += MPI_Wtime() - begin;
    }
  }
}

static void close_files(Files* files, Clock* clock) {
  clock->close_begin = MPI_Wtime();
  each_file(files, close, "close");
  free(files->descriptors);
}

// What the pass before has written stays: a death in the middle loses only this one.
static uint64_t place_of(const Options* o, int pass) {
  return (uint64_t)(pass % 2) * (uint64_t)o->writers * (uint64_t)o->variables * o->variable_bytes;
}

void write_raw(const Options* options, const Shape* shape, uint64_t** buffers, Clock* clock) {
  Files files = open_files(options, O_CREAT | O_WRONLY);
  for (int pass = 0; pass < shape->passes; ++pass) {
    if (pass > 0) set_version(options, shape, buffers, pass);
    if (options->method == kRawKept) files.shift = place_of(options, pass);
    move_all(&files, shape, buffers, clock);
    if (options->sync) each_file(&files, fsync, "fsync");
  }
  close_files(&files, clock);
}

void read_raw(const Options* options, const Shape* shape, uint64_t** buffers, Clock* clock) {
  Files files = open_files(options, O_RDONLY);
  if (options->method == kRawKept) files.shift = place_of(options, shape->passes - 1);
  move_all(&files, shape, buffers, clock);
  close_files(&files, clock);
}
