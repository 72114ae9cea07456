/* SPDX-License-Identifier: BSD-3-Clause
 * SPDX-FileCopyrightText: The h5bento developers */
/** \file
 * Preloaded into a program: a device that fails, and a death at a chosen moment. Of files whose
 * name contains FAULT_NAME: writes and syncs fail with EIO while the file FAULT_WHILE is there;
 * before call number FAULT_KILL that changes one, the process kills itself. The file FAULT_COUNT
 * holds how many such calls and how many written bytes there were. What the file FAULT_KEPT
 * holds when it is synced is copied into the folder FAULT_KEEP, under the time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define REAL(type, name, ...)                                                       \
  typedef type (*name##_call)(__VA_ARGS__);                                         \
  static name##_call real_##name(void) {                                            \
    static _Atomic(void*) found;                                                    \
    if (atomic_load(&found) == NULL) atomic_store(&found, dlsym(RTLD_NEXT, #name)); \
    return (name##_call)atomic_load(&found);                                        \
  }

static int is_meant(const char* name) {
  const char* wanted = getenv("FAULT_NAME");
  return wanted != NULL && strstr(name, wanted) != NULL;
}

static int name_of(int fd, char name[PATH_MAX]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t bytes = readlink(link, name, PATH_MAX - 1);
  name[bytes < 0 ? 0 : bytes] = '\0';
  return bytes >= 0;
}

static int is_meant_fd(int fd) {
  char name[PATH_MAX];
  return name_of(fd, name) && is_meant(name);
}

/* Before a call that changes such a file. */
static void count_bytes(size_t bytes) {
  static atomic_long calls;
  static atomic_long written;
  const char* last = getenv("FAULT_KILL");
  const char* told = getenv("FAULT_COUNT");
  const long number = atomic_fetch_add(&calls, 1) + 1;
  if (last != NULL && number == atol(last)) kill(getpid(), SIGKILL);
  const long all = atomic_fetch_add(&written, (long)bytes) + (long)bytes;
  if (told == NULL) return;
  char text[64];
  const int length = snprintf(text, sizeof text, "%20ld %20ld\n", number, all);
  const int fd = open(told, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, text, (size_t)length) != length) abort();
  close(fd);
}
static void count(void) {
  count_bytes(0);
}

static int fails_at(int fd, size_t bytes) {
  const char* until = getenv("FAULT_WHILE");
  if (!is_meant_fd(fd)) return 0;
  count_bytes(bytes);
  if (until == NULL || access(until, F_OK) != 0) return 0;
  errno = EIO;
  return 1;
}
static int fails(int fd) {
  return fails_at(fd, 0);
}

REAL(ssize_t, pwrite, int, const void*, size_t, off_t)
REAL(ssize_t, pwrite64, int, const void*, size_t, off_t)
REAL(ssize_t, copy_file_range, int, off_t*, int, off_t*, size_t, unsigned)
REAL(int, fsync, int)
REAL(int, ftruncate, int, off_t)
REAL(int, ftruncate64, int, off_t)
REAL(int, unlink, const char*)
REAL(int, rename, const char*, const char*)
REAL(int, renameat, int, const char*, int, const char*)
REAL(int, renameat2, int, const char*, int, const char*, unsigned)
REAL(int, linkat, int, const char*, int, const char*, int)

ssize_t pwrite(int fd, const void* from, size_t bytes, off_t offset) {
  return fails_at(fd, bytes) ? -1 : real_pwrite()(fd, from, bytes, offset);
}
ssize_t pwrite64(int fd, const void* from, size_t bytes, off_t offset) {
  return fails_at(fd, bytes) ? -1 : real_pwrite64()(fd, from, bytes, offset);
}
ssize_t copy_file_range(int in, off_t* from, int out, off_t* to, size_t bytes, unsigned flags) {
  return fails_at(out, bytes) ? -1 : real_copy_file_range()(in, from, out, to, bytes, flags);
}
static void keep(int fd) {
  const char* folder = getenv("FAULT_KEEP");
  const char* kept = getenv("FAULT_KEPT");
  char name[PATH_MAX];
  char bytes[65536];
  struct timespec now;
  if (folder == NULL || kept == NULL || !name_of(fd, name) || strcmp(name, kept) != 0) return;
  clock_gettime(CLOCK_MONOTONIC, &now);
  snprintf(name, sizeof name, "%s/%010lld.%09ld", folder, (long long)now.tv_sec, now.tv_nsec);
  const ssize_t length = pread(fd, bytes, sizeof bytes, 0);
  const int copy = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (length < 0 || copy < 0 || write(copy, bytes, (size_t)length) != length) abort();
  close(copy);
}
int fsync(int fd) {
  if (fails(fd)) return -1;
  keep(fd);
  return real_fsync()(fd);
}
int ftruncate(int fd, off_t bytes) {
  if (is_meant_fd(fd)) count();
  return real_ftruncate()(fd, bytes);
}
int ftruncate64(int fd, off_t bytes) {
  if (is_meant_fd(fd)) count();
  return real_ftruncate64()(fd, bytes);
}
int unlink(const char* name) {
  if (is_meant(name)) count();
  return real_unlink()(name);
}
/* A name, or the folder that it is looked up in. */
static int is_meant_at(int folder, const char* name) {
  return is_meant(name) || (folder >= 0 && is_meant_fd(folder));
}
int rename(const char* name, const char* other) {
  if (is_meant(name) || is_meant(other)) count();
  return real_rename()(name, other);
}
int renameat(int from, const char* name, int to, const char* other) {
  if (is_meant_at(from, name) || is_meant_at(to, other)) count();
  return real_renameat()(from, name, to, other);
}
int renameat2(int from, const char* name, int to, const char* other, unsigned flags) {
  if (is_meant_at(from, name) || is_meant_at(to, other)) count();
  return real_renameat2()(from, name, to, other, flags);
}
int linkat(int from, const char* name, int to, const char* other, int flags) {
  if (is_meant_at(to, other)) count();
  return real_linkat()(from, name, to, other, flags);
}
