// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause

#include <mpi.h>
#include <stdlib.h>
#include <zlib.h>

#include "methods.h"

uint64_t chunk_bytes(const Shape* shape) {
  return shape->bytes < kChunkBytes ? shape->bytes : kChunkBytes;
}

// What a chunk became. The read needs all of them.
typedef struct {
  Bytef* data;
  uLongf bytes;
} Packed;

static Packed* packed;

static uint64_t chunks_of(const Shape* shape) {
  return shape->bytes / chunk_bytes(shape);
}

void write_filter(const Options* options, const Shape* shape, uint64_t** buffers, Clock* clock) {
  const uint64_t chunks = chunks_of(shape), bytes = chunk_bytes(shape);
  packed = allocate(chunks * (uint64_t)options->variables * sizeof *packed);
  for (uint64_t i = 0; i < chunks * (uint64_t)options->variables; ++i) {
    const Bytef* chunk = (const Bytef*)buffers[i / chunks] + i % chunks * bytes;
    packed[i].bytes = compressBound(bytes);
    packed[i].data = allocate(packed[i].bytes);
    const double begin = MPI_Wtime();
    if (compress2(packed[i].data, &packed[i].bytes, chunk, bytes, options->level) != Z_OK)
      fail("compress2", __LINE__);
    clock->calls += MPI_Wtime() - begin;
  }
  clock->close_begin = MPI_Wtime();
}

void read_filter(const Options* options, const Shape* shape, uint64_t** buffers, Clock* clock) {
  const uint64_t chunks = chunks_of(shape), bytes = chunk_bytes(shape);
  for (uint64_t i = 0; i < chunks * (uint64_t)options->variables; ++i) {
    uLongf came = bytes;
    Bytef* chunk = (Bytef*)buffers[i / chunks] + i % chunks * bytes;
    const double begin = MPI_Wtime();
    if (uncompress(chunk, &came, packed[i].data, packed[i].bytes) != Z_OK || came != bytes)
      fail("uncompress", __LINE__);
    clock->calls += MPI_Wtime() - begin;
    free(packed[i].data);
  }
  free(packed);
  clock->close_begin = MPI_Wtime();
}
