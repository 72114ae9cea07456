/* SPDX-License-Identifier: BSD-3-Clause */
/* SPDX-FileCopyrightText: The h5bento developers */
/*
 *   fuse_passthrough FILE DIR
 *
 * Shows FILE, and nothing else, as DIR/file: the least that a file system of libfuse can do. It
 * stays in the foreground. bench/tools reads through it to see what FUSE itself costs on this
 * machine.
 */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int source = -1;

static void* on_init(struct fuse_conn_info* connection, struct fuse_config* config) {
  connection->max_readahead = 1u << 20;
  connection->max_write = 1u << 20; /* libfuse takes the pages of a read from it, too */
  config->kernel_cache = 1;
  return NULL;
}

static int on_getattr(const char* path, struct stat* about, struct fuse_file_info* info) {
  (void)info;
  memset(about, 0, sizeof *about);
  if (strcmp(path, "/") == 0) {
    about->st_mode = S_IFDIR | 0555;
    about->st_nlink = 2;
    return 0;
  }
  if (strcmp(path, "/file") != 0) return -ENOENT;
  if (fstat(source, about) != 0) return -errno;
  about->st_mode = S_IFREG | 0444;
  return 0;
}

static int on_open(const char* path, struct fuse_file_info* info) {
  (void)info;
  return strcmp(path, "/file") == 0 ? 0 : -ENOENT;
}

static int on_read(const char* path, char* into, size_t size, off_t offset,
                   struct fuse_file_info* info) {
  (void)path;
  (void)info;
  size_t done = 0;
  while (done < size) {
    const ssize_t got = pread(source, into + done, size - done, offset + (off_t)done);
    if (got < 0) return -errno;
    if (got == 0) break;
    done += (size_t)got;
  }
  return (int)done;
}

int main(int argc, char** argv) {
  static const struct fuse_operations operations = {
      .init = on_init, .getattr = on_getattr, .open = on_open, .read = on_read};
  if (argc != 3) {
    fprintf(stderr, "usage: fuse_passthrough FILE DIR\n");
    return 2;
  }
  source = open(argv[1], O_RDONLY | O_CLOEXEC);
  if (source < 0) {
    perror(argv[1]);
    return 2;
  }
  char foreground[] = "-f", option[] = "-o", list[] = "ro,fsname=fuse_passthrough";
  char* arguments[] = {argv[0], foreground, option, list, argv[2], NULL};
  return fuse_main(5, arguments, &operations, NULL);
}
