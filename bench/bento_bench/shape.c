// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause

#include "shape.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// ---- where the elements are

static void set_box(Shape* shape, int dimension, uint64_t extent, uint64_t first, uint64_t count) {
  shape->extent[dimension] = extent;
  shape->first[dimension] = first;
  shape->count[dimension] = count;
}

static void slab(Shape* shape, uint64_t elements) {
  set_box(shape, 2, elements * (uint64_t)ranks, elements * (uint64_t)rank, elements);
}

// Of what `writers` ranks have written, the part of a reader; they may be more or fewer.
static void reader_slab(Shape* shape, uint64_t elements, uint64_t writers) {
  const uint64_t all = elements * writers, readers = (uint64_t)ranks;
  const uint64_t first = all * (uint64_t)rank / readers, end = all * ((uint64_t)rank + 1) / readers;
  set_box(shape, 2, all, first, end - first);
  shape->first_byte = first * shape->element_bytes;
}

static void bands(Shape* shape, uint64_t elements, uint64_t columns) {
  shape->dimensions = 2;
  set_box(shape, 1, elements / columns, 0, elements / columns);
  set_box(shape, 2, columns * (uint64_t)ranks, columns * (uint64_t)rank, columns);
}

// A block as near to a cube as halving allows, in a grid of ranks that is near to one, too.
static void blocks(Shape* shape, uint64_t elements) {
  uint64_t side[3] = {1, 1, elements};
  for (int smaller = 1; side[2] % 2 == 0 && side[2] >= 2 * side[smaller]; smaller = !smaller)
    side[2] /= 2, side[smaller] *= 2;
  int grid[3] = {0, 0, 0};
  MPI_Dims_create(ranks, 3, grid);
  const int place[3] = {rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]};
  shape->dimensions = 3;
  for (int d = 0; d < 3; ++d)
    set_box(shape, d, side[d] * (uint64_t)grid[d], side[d] * (uint64_t)place[d], side[d]);
}

static void set_file(const Options* options, Shape* shape) {
  const uint64_t elements = options->variable_bytes / shape->element_bytes;
  switch (shape->pattern) {
    case kBands:
      bands(shape, elements, options->piece_bytes / 8);
      break;
    case kBlocks:
    case kGhosts:
      blocks(shape, elements);
      break;
    case kMembers:
      slab(shape, elements / kMemberCount);
      break;
    case kGaps:
      slab(shape, elements);
      shape->file_step = kGapStride;
      break;
    case kAppend:
      bands(shape, elements, elements / kAppends);
      break;
    default:
      if (options->writers == ranks)
        slab(shape, elements);
      else
        reader_slab(shape, elements, (uint64_t)options->writers);
  }
}

static void set_memory(Shape* shape) {
  memcpy(shape->memory, shape->count, sizeof shape->memory);
  if (shape->pattern == kGhosts) {
    for (int d = 0; d < 3; ++d)
      shape->memory[d] = shape->count[d] + UINT64_C(2) * kGhostWidth,
      shape->offset[d] = kGhostWidth;
  } else if (shape->pattern == kInterleaved) {
    shape->memory_step = kMemberCount;
    shape->memory[2] = shape->count[2] * kMemberCount;
    shape->shared_buffer = kMemberCount;
  }
  shape->memory_bytes =
      shape->memory[0] * shape->memory[1] * shape->memory[2] * 8 * (uint64_t)shape->members;
}

// Plain files get the bytes as they lie in memory, in requests of the same size.
static Pattern pattern_of(const Options* options) {
  const bool plain = is_raw(options->method);
  const bool in_requests =
      options->pattern == kPieces || options->pattern == kAppend || options->pattern == kOverwrite;
  return plain && !in_requests ? kSlabs : options->pattern;
}

Shape shape_of(const Options* options) {
  Shape shape = {.pattern = pattern_of(options),
                 .dimensions = 1,
                 .extent = {1, 1, 1},
                 .count = {1, 1, 1},
                 .file_step = 1,
                 .memory_step = 1,
                 .members = 1,
                 .requests = 1,
                 .passes = 1,
                 .element_bytes = 8,
                 .shared_buffer = 1};
  if (shape.pattern == kConversion) shape.element_bytes = 4;
  if (shape.pattern == kMembers) shape.members = kMemberCount;
  if (shape.pattern == kOverwrite) shape.passes = kPasses;
  if (shape.pattern == kPieces) shape.requests = options->variable_bytes / options->piece_bytes;
  if (shape.pattern == kAppend) shape.requests = kAppends;
  shape.first_byte = options->variable_bytes * (uint64_t)rank;
  set_file(options, &shape);
  if (options->pattern == kGaps) shape.count[2] = options->variable_bytes / 8 / kGapStride;
  set_memory(&shape);
  shape.bytes = shape.count[0] * shape.count[1] * shape.count[2] * shape.element_bytes *
                (uint64_t)shape.members;
  return shape;
}

// ---- what is in them

static uint64_t scattered(uint64_t index) {
  return (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

// Of the element at `index` of a variable, or of a member of it. For deflate: it packs them to
// about a third.
static uint64_t value_of(Pattern pattern, int variable, uint64_t index) {
  if (pattern == kConversion)
    return (scattered(index) >> 41) + (uint64_t)variable;  // exact in a float
  if (pattern == kDeflate) return (index >> 8) << 12 | scattered(index) >> 52;
  return scattered(index) ^ (uint64_t)variable << 56;
}

static uint64_t stored(Pattern pattern, uint64_t value) {
  if (pattern != kConversion) return value;
  const double number = (double)value;
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

typedef enum { kFill, kVersion, kCompare } Work;

static uint64_t do_row(const Shape* shape, uint64_t* memory, int variable, uint64_t element,
                       int version, Work work) {
  uint64_t wrong = 0;
  const uint64_t every = work == kVersion ? kVersionEvery : 1;
  const uint64_t step = shape->file_step * (uint64_t)shape->members;
  for (uint64_t x = 0; x < shape->count[2]; x += every) {
    uint64_t value = value_of(shape->pattern, variable, element + x * step);
    if (x % kVersionEvery == 0) value += (uint64_t)version;
    value = stored(shape->pattern, value);
    uint64_t* place = &memory[x * shape->memory_step];
    if (work == kCompare)
      wrong += *place != value;
    else
      *place = value;
  }
  return wrong;
}

static uint64_t do_variable(const Shape* shape, uint64_t* buffer, int variable, int version,
                            Work work) {
  uint64_t wrong = 0;
  const uint64_t *m = shape->memory, *e = shape->extent, *f = shape->first, *o = shape->offset;
  for (int member = 0; member < shape->members; ++member) {
    uint64_t* memory =
        buffer + (uint64_t)member * m[0] * m[1] * m[2] + variable % shape->shared_buffer;
    for (uint64_t z = 0; z < shape->count[0]; ++z) {
      for (uint64_t y = 0; y < shape->count[1]; ++y) {
        uint64_t* row = memory + ((z + o[0]) * m[1] + y + o[1]) * m[2] + o[2];
        const uint64_t index = ((z + f[0]) * e[1] + y + f[1]) * e[2] + f[2];
        const uint64_t element = index * (uint64_t)shape->members + (uint64_t)member;
        wrong += do_row(shape, row, variable, element, version, work);
      }
    }
  }
  return wrong;
}

static uint64_t do_all(const Options* options, const Shape* shape, uint64_t** buffers, int version,
                       Work work) {
  uint64_t wrong = 0;
  for (int v = 0; v < options->variables; ++v)
    wrong += do_variable(shape, buffers[v], v, version, work);
  return wrong;
}

void fill_buffers(const Options* options, const Shape* shape, uint64_t** buffers) {
  do_all(options, shape, buffers, 0, kFill);
}

void set_version(const Options* options, const Shape* shape, uint64_t** buffers, int version) {
  do_all(options, shape, buffers, version, kVersion);
}

uint64_t count_wrong(const Options* options, const Shape* shape, uint64_t** buffers) {
  return do_all(options, shape, buffers, shape->passes - 1, kCompare);
}

uint64_t** make_buffers(const Options* options, const Shape* shape) {
  uint64_t** buffers = (uint64_t**)allocate((uint64_t)options->variables * sizeof *buffers);
  for (int v = 0; v < options->variables; ++v) {
    const int sharing = v % shape->shared_buffer;
    buffers[v] = sharing ? buffers[v - sharing] : allocate(shape->memory_bytes);
    if (!sharing) memset(buffers[v], 0xa5, shape->memory_bytes);
  }
  return buffers;
}

void free_buffers(const Options* options, const Shape* shape, uint64_t** buffers) {
  for (int v = 0; v < options->variables; v += shape->shared_buffer) free(buffers[v]);
  free(buffers);
}
