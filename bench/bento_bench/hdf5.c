// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause

#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "methods.h"

static hid_t check(hid_t result, const char* call, int line) {
  if (result < 0) fail(call, line);
  return result;
}
#define CHECK(call) check((hid_t)(call), #call, __LINE__)

enum { kAlignment = 1 << 20, kAlignFrom = 64 << 10 };  // of `--tuned`

static struct {
  hid_t access, transfer, create, file_type, member_types[kMemberCount], file_space, memory_space;
} ids;

// ---- ids

bool has_subfiling(void) {
#ifdef H5_HAVE_SUBFILING_VFD
  return true;
#else
  return false;
#endif
}

static void make_access(const Options* options) {
  ids.access = CHECK(H5Pcreate(H5P_FILE_ACCESS));
  ids.transfer = CHECK(H5Pcreate(H5P_DATASET_XFER));
  if (options->method == kHdf5Own || options->serial) return;
  if (options->method == kSubfiling) {
#ifdef H5_HAVE_SUBFILING_VFD
    CHECK(H5Pset_mpi_params(ids.access, MPI_COMM_WORLD, MPI_INFO_NULL));
    CHECK(H5Pset_fapl_subfiling(ids.access, NULL));
#endif
    return;
  }
  CHECK(H5Pset_fapl_mpio(ids.access, MPI_COMM_WORLD, MPI_INFO_NULL));
  CHECK(H5Pset_dxpl_mpio(ids.transfer,
                         options->collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT));
  if (options->tuned) {
    CHECK(H5Pset_alignment(ids.access, kAlignFrom, kAlignment));
    CHECK(H5Pset_all_coll_metadata_ops(ids.access, true));
    CHECK(H5Pset_coll_metadata_write(ids.access, true));
  }
}

static void make_types(const Shape* shape) {
  ids.file_type =
      CHECK(H5Tcopy(shape->pattern == kConversion ? H5T_NATIVE_FLOAT : H5T_NATIVE_UINT64));
  ids.member_types[0] =
      CHECK(H5Tcopy(shape->pattern == kConversion ? H5T_NATIVE_DOUBLE : H5T_NATIVE_UINT64));
  if (shape->pattern != kMembers) return;
  CHECK(H5Tclose(ids.member_types[0]));
  CHECK(H5Tclose(ids.file_type));
  ids.file_type = CHECK(H5Tcreate(H5T_COMPOUND, kMemberCount * sizeof(uint64_t)));
  for (int m = 0; m < kMemberCount; ++m) {
    const char name[2] = {(char)('a' + m), 0};
    CHECK(H5Tinsert(ids.file_type, name, (size_t)m * sizeof(uint64_t), H5T_NATIVE_UINT64));
    ids.member_types[m] = CHECK(H5Tcreate(H5T_COMPOUND, sizeof(uint64_t)));
    CHECK(H5Tinsert(ids.member_types[m], name, 0, H5T_NATIVE_UINT64));
  }
}

static hid_t select_box(int dimensions, const uint64_t* extent, const uint64_t* first,
                        const uint64_t* count, uint64_t step) {
  hsize_t e[3], f[3], c[3], s[3];
  const int skip = 3 - dimensions;
  for (int d = 0; d < dimensions; ++d) {
    e[d] = extent[d + skip], f[d] = first[d + skip], c[d] = count[d + skip];
    s[d] = d == dimensions - 1 ? step : 1;
  }
  const hid_t space = CHECK(H5Screate_simple(dimensions, e, NULL));
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, f, s, c, NULL));
  return space;
}

static void make_spaces(const Options* options, const Shape* s) {
  if (options->method == kHdf5Own) {  // the variable is the rank's part alone
    const uint64_t nothing[3] = {0, 0, 0};
    ids.file_space = select_box(s->dimensions, s->count, nothing, s->count, 1);
    ids.memory_space = CHECK(H5Scopy(ids.file_space));
    return;
  }
  ids.file_space = select_box(s->dimensions, s->extent, s->first, s->count, s->file_step);
  if (s->requests > 1) {
    const hsize_t elements = s->bytes / s->requests / s->element_bytes;
    ids.memory_space = CHECK(H5Screate_simple(1, &elements, NULL));
  } else {
    ids.memory_space = select_box(s->dimensions, s->memory, s->offset, s->count, s->memory_step);
  }
}

static void make_create(const Options* options, const Shape* shape) {
  ids.create = CHECK(H5Pcreate(H5P_DATASET_CREATE));
  if (shape->pattern == kAppend) {
    const hsize_t chunk[2] = {1, shape->count[2]};
    CHECK(H5Pset_chunk(ids.create, 2, chunk));
  } else if (shape->pattern == kDeflate) {
    const hsize_t chunk = chunk_bytes(shape) / sizeof(uint64_t);
    CHECK(H5Pset_chunk(ids.create, 1, &chunk));
    CHECK(H5Pset_deflate(ids.create, (unsigned)options->level));
  }
}

void open_hdf5(const Options* options, const Shape* shape) {
  make_access(options);
  make_types(shape);
  make_spaces(options, shape);
  make_create(options, shape);
}

void close_hdf5(void) {
  CHECK(H5Sclose(ids.memory_space));
  CHECK(H5Sclose(ids.file_space));
  for (int m = 0; m < kMemberCount && ids.member_types[m] > 0; ++m)
    CHECK(H5Tclose(ids.member_types[m]));
  CHECK(H5Tclose(ids.file_type));
  CHECK(H5Pclose(ids.create));
  CHECK(H5Pclose(ids.transfer));
  CHECK(H5Pclose(ids.access));
}

// ---- calls

// A dataset that grows has `rows` rows by now.
static void select_request(const Shape* shape, uint64_t request, uint64_t rows) {
  if (shape->requests == 1) return;
  if (shape->pattern == kAppend) {
    const hsize_t extent[2] = {rows, shape->extent[2]}, first[2] = {request, shape->first[2]};
    const hsize_t count[2] = {1, shape->count[2]};
    CHECK(H5Sset_extent_simple(ids.file_space, 2, extent, NULL));
    CHECK(H5Sselect_hyperslab(ids.file_space, H5S_SELECT_SET, first, NULL, count, NULL));
    return;
  }
  const hsize_t count = shape->count[2] / shape->requests,
                first = shape->first[2] + request * count;
  CHECK(H5Sselect_hyperslab(ids.file_space, H5S_SELECT_SET, &first, NULL, &count, NULL));
}

static hid_t create_dataset(hid_t file, const Shape* shape, const char* name) {
  hid_t space = ids.file_space;
  if (shape->pattern == kAppend) {
    const hsize_t none[2] = {0, shape->extent[2]}, most[2] = {H5S_UNLIMITED, shape->extent[2]};
    space = CHECK(H5Screate_simple(2, none, most));
  }
  const hid_t dataset =
      CHECK(H5Dcreate2(file, name, ids.file_type, space, H5P_DEFAULT, ids.create, H5P_DEFAULT));
  if (space != ids.file_space) CHECK(H5Sclose(space));
  return dataset;
}

static void one_call(const Options* options, hid_t dataset, int member, uint64_t* data, int writing,
                     Clock* clock) {
  const hid_t type = ids.member_types[member];
  mark(options, writing ? "write {" : "read {");
  const double begin = MPI_Wtime();
  if (writing)
    CHECK(H5Dwrite(dataset, type, ids.memory_space, ids.file_space, ids.transfer, data));
  else
    CHECK(H5Dread(dataset, type, ids.memory_space, ids.file_space, ids.transfer, data));
  clock->calls += MPI_Wtime() - begin;
  mark(options, "}");
}

static void all_calls(const Options* options, const Shape* shape, hid_t dataset, uint64_t* data,
                      int writing, Clock* clock) {
  const uint64_t request_elements = shape->bytes / shape->requests / sizeof(uint64_t);
  for (uint64_t i = 0; i < shape->requests; ++i) {
    if (writing && shape->pattern == kAppend) {
      const hsize_t extent[2] = {i + 1, shape->extent[2]};
      CHECK(H5Dset_extent(dataset, extent));
    }
    select_request(shape, i, writing ? i + 1 : shape->requests);
    for (int m = 0; m < shape->members; ++m)
      one_call(options, dataset, m, data + i * request_elements + (uint64_t)m * shape->count[2],
               writing, clock);
  }
}

static void each_dataset(const Options* options, const Shape* shape, hid_t file, int create,
                         uint64_t** buffers, int writing, Clock* clock) {
  for (int v = 0; v < options->variables; ++v) {
    char name[16];
    snprintf(name, sizeof name, "v%d", v);
    const hid_t dataset =
        create ? create_dataset(file, shape, name) : CHECK(H5Dopen2(file, name, H5P_DEFAULT));
    all_calls(options, shape, dataset, buffers[v] + v % shape->shared_buffer, writing, clock);
    CHECK(H5Dclose(dataset));
  }
}

// The datasets of which `gaps` writes a part are there before the clock runs.
static void write_whole(const Options* options, const Shape* shape, hid_t file, Clock* clock) {
  uint64_t* zeros = allocate(options->variable_bytes);
  memset(zeros, 0, options->variable_bytes);
  const uint64_t count[3] = {1, 1, options->variable_bytes / sizeof(uint64_t)},
                 first[3] = {0, 0, 0};
  const hid_t memory = select_box(1, count, first, count, 1);
  const hid_t space = select_box(1, shape->extent, shape->first, count, 1);
  for (int v = 0; v < options->variables; ++v) {
    char name[16];
    snprintf(name, sizeof name, "v%d", v);
    const hid_t dataset = create_dataset(file, shape, name);
    CHECK(H5Dwrite(dataset, ids.member_types[0], memory, space, ids.transfer, zeros));
    CHECK(H5Dclose(dataset));
  }
  CHECK(H5Sclose(memory));
  CHECK(H5Sclose(space));
  CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL));
  free(zeros);
  MPI_Barrier(MPI_COMM_WORLD);
  clock->begin = MPI_Wtime();
}

static void file_name(const Options* options, char name[4096]) {
  if (options->method == kHdf5Own)
    snprintf(name, 4096, "%s.%d.h5", options->path, rank);
  else
    snprintf(name, 4096, "%s", options->path);
}

// What HDF5 does not do: one rank syncs the file that all have written.
static void sync_file(const Options* options, const char* path) {
  if (!options->sync) return;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0 || options->method == kHdf5Own) {
    const int fd = open(path, O_RDONLY);
    CHECK_POSIX(fd);
    CHECK_POSIX(fsync(fd));
    CHECK_POSIX(close(fd));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void write_hdf5(const Options* options, const Shape* shape, uint64_t** buffers, Clock* clock) {
  char path[4096];
  file_name(options, path);
  const hid_t file = CHECK(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, ids.access));
  if (shape->pattern == kGaps) write_whole(options, shape, file, clock);
  for (int pass = 0; pass < shape->passes; ++pass) {
    if (pass > 0) set_version(options, shape, buffers, pass);
    each_dataset(options, shape, file, pass == 0 && shape->pattern != kGaps, buffers, 1, clock);
    if (shape->passes > 1) {
      CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL));
      sync_file(options, path);
    }
  }
  clock->close_begin = MPI_Wtime();
  mark(options, "close {");
  CHECK(H5Fclose(file));
  mark(options, "}");
  sync_file(options, path);
}

void read_hdf5(const Options* options, const Shape* shape, uint64_t** buffers, Clock* clock) {
  char path[4096];
  file_name(options, path);
  const hid_t file = CHECK(H5Fopen(path, H5F_ACC_RDONLY, ids.access));
  each_dataset(options, shape, file, 0, buffers, 0, clock);
  clock->close_begin = MPI_Wtime();
  CHECK(H5Fclose(file));
}
