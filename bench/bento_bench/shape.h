// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
//
// The shape of a rank's data in memory and in the file, and the values in it.

#ifndef BENTO_BENCH_SHAPE_H
#define BENTO_BENCH_SHAPE_H

#include "bench.h"

enum {
  kMemberCount = 4,    // of the compound, and of the structure in memory of `interleaved`
  kGhostWidth = 2,     // elements of memory on each side of the box
  kGapStride = 3,      // of `gaps` in the file
  kPasses = 3,         // of `overwrite`
  kAppends = 16,       // of `append`, on each variable
  kVersionEvery = 512  // elements of which one differs from pass to pass
};

// All patterns are boxes of three dimensions, of which the file has the last `dimensions`. The
// steps are those of the last dimension.
typedef struct {
  Pattern pattern;
  int dimensions;
  uint64_t extent[3];  // of the variable
  uint64_t first[3], count[3], file_step;
  uint64_t memory[3], offset[3], memory_step;
  int members;             // calls for one box, each with the next `count` elements of the memory
  uint64_t requests;       // calls into which the box is cut otherwise
  int passes;              // how often everything is written
  uint64_t element_bytes;  // in the file, of one member
  uint64_t bytes;          // in the file, of this rank and one variable
  uint64_t first_byte;     // of all ranks' bytes of a variable, one rank behind the other
  uint64_t memory_bytes;   // of one buffer
  int shared_buffer;       // variables that lie in one buffer
} Shape;

Shape shape_of(const Options* options);

// The buffer in which a variable lies, and what is in it.
uint64_t** make_buffers(const Options* options, const Shape* shape);
void free_buffers(const Options* options, const Shape* shape, uint64_t** buffers);
void fill_buffers(const Options* options, const Shape* shape, uint64_t** buffers);
void set_version(const Options* options, const Shape* shape, uint64_t** buffers, int version);
uint64_t count_wrong(const Options* options, const Shape* shape, uint64_t** buffers);

#endif
