/* SPDX-License-Identifier: BSD-3-Clause
 * SPDX-FileCopyrightText: The h5bento developers */
/** \file
 * Preloaded into a program: a device that takes SLOW_WRITES bytes in a second. Holds for pwrite and
 * copy_file_range to files whose name contains SLOW_NAME, of one thread at a time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static int is_meant(int fd) {
  const char* wanted = getenv("SLOW_NAME");
  char link[64];
  char name[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t bytes = readlink(link, name, sizeof name - 1);
  if (wanted == NULL || bytes < 0) return 0;
  name[bytes] = '\0';
  return strstr(name, wanted) != NULL;
}

/* The device is busy until then; what was asked for since is done before that. */
static void take(int fd, ssize_t bytes) {
  static double free_at;
  const char* rate = getenv("SLOW_WRITES");
  if (bytes <= 0 || rate == NULL || !is_meant(fd)) return;
  pthread_mutex_lock(&one_at_a_time);
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double at = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
  free_at = (free_at > at ? free_at : at) + (double)bytes / atof(rate);
  const double wait = free_at - at;
  const struct timespec time = {(time_t)wait, (long)((wait - (double)(time_t)wait) * 1e9)};
  nanosleep(&time, NULL);
  pthread_mutex_unlock(&one_at_a_time);
}

ssize_t pwrite(int fd, const void* from, size_t bytes, off_t offset) {
  typedef ssize_t (*Call)(int, const void*, size_t, off_t);
  const Call real = (Call)dlsym(RTLD_NEXT, "pwrite");
  const ssize_t done = real(fd, from, bytes, offset);
  take(fd, done);
  return done;
}

ssize_t pwrite64(int fd, const void* from, size_t bytes, off_t offset) {
  typedef ssize_t (*Call)(int, const void*, size_t, off_t);
  const Call real = (Call)dlsym(RTLD_NEXT, "pwrite64");
  const ssize_t done = real(fd, from, bytes, offset);
  take(fd, done);
  return done;
}

ssize_t copy_file_range(int in, off_t* from, int out, off_t* to, size_t bytes, unsigned flags) {
  typedef ssize_t (*Call)(int, off_t*, int, off_t*, size_t, unsigned);
  const Call real = (Call)dlsym(RTLD_NEXT, "copy_file_range");
  const ssize_t done = real(in, from, out, to, bytes, flags);
  take(out, done);
  return done;
}
