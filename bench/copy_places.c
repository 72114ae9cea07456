// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
//
// How fast pread and pwrite copy between memory and the page cache, by the place within a page at
// which the bytes lie on either side. On many processors the kernel's copy is slow where both sides
// lie unlike within a line of the caches, and slowest where the target begins a few bytes behind
// the source within a page.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kPage = 4096, kRounds = 15, kMiB = 64 };
static const size_t kBytes = (size_t)kMiB << 20, kPiece = 256 << 10;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

typedef struct {
  int file, memory, writing;  // places, and the direction
  double seconds[kRounds];
} Case;

static double one(int fd, char* memory, const Case* what) {
  const double begin = now();
  for (size_t at = 0; at < kBytes; at += kPiece) {
    char* const here = memory + what->memory + at;
    const off_t there = what->file + (off_t)at;
    const ssize_t done =
        what->writing ? pwrite(fd, here, kPiece, there) : pread(fd, here, kPiece, there);
    if (done != (ssize_t)kPiece) {
      perror(what->writing ? "pwrite" : "pread");
      exit(1);
    }
  }
  return now() - begin;
}

// MiB in a second.
static double median(Case* what) {
  qsort(what->seconds, kRounds, sizeof *what->seconds, by_size);
  return kMiB / what->seconds[kRounds / 2];
}

int main(int argc, char** argv) {
  if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
    fprintf(
        stderr,
        "usage: copy_places [FOLDER]\n\n"
        "Prints MiB/s of pread and pwrite of %d MiB by the places of file and memory within a "
        "page. FOLDER (default "
        "/dev/shm)\nneeds as much space. exit status: 0 measured, 1 a call failed, 2 wrong usage\n",
        kMiB);
    return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/copy_places.XXXXXX", argc == 2 ? argv[1] : "/dev/shm");
  const int fd = mkstemp(path);
  void* memory = NULL;
  if (fd < 0 || unlink(path) != 0 || posix_memalign(&memory, kPage, kBytes + kPage) != 0) {
    perror(path);
    return 1;
  }
  memset(memory, 1, kBytes + kPage);
  static const int kFile[] = {0, 16, 32, 48, 2048}, kMemory[] = {0, 16, 32};
  static Case cases[sizeof kFile / sizeof *kFile * sizeof kMemory / sizeof *kMemory * 2];
  size_t count = 0;
  for (size_t f = 0; f < sizeof kFile / sizeof *kFile; ++f)
    for (size_t m = 0; m < sizeof kMemory / sizeof *kMemory; ++m)
      for (int writing = 0; writing < 2; ++writing)
        cases[count++] = (Case){kFile[f], kMemory[m], writing, {0}};
  (void)one(fd, memory, &(Case){kPage, 0, 1, {0}});  // the pages
  (void)one(fd, memory, &(Case){0, 0, 1, {0}});
  for (int round = 0; round < kRounds; ++round)
    for (size_t i = 0; i < count; ++i) cases[i].seconds[round] = one(fd, memory, &cases[i]);
  printf("| file | memory | pread | pwrite |\n|---:|---:|---:|---:|\n");
  for (size_t i = 0; i < count; i += 2)
    printf("| %d | %d | %.0f | %.0f |\n", cases[i].file, cases[i].memory, median(&cases[i]),
           median(&cases[i + 1]));
  return 0;
}
