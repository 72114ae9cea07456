// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
//
// The methods: each writes and reads all variables of this rank, from open to close.

#ifndef BENTO_BENCH_METHODS_H
#define BENTO_BENCH_METHODS_H

#include <stdbool.h>

#include "shape.h"

// The fields of the clock are set when the first byte may move, and when the close begins.
void write_raw(const Options* options, const Shape* shape, uint64_t** buffers, Clock* clock);
void read_raw(const Options* options, const Shape* shape, uint64_t** buffers, Clock* clock);

// HDF5's ids live longer than what is timed.
void open_hdf5(const Options* options, const Shape* shape);
void close_hdf5(void);
void write_hdf5(const Options* options, const Shape* shape, uint64_t** buffers, Clock* clock);
void read_hdf5(const Options* options, const Shape* shape, uint64_t** buffers, Clock* clock);
bool has_subfiling(void);

// zlib alone, chunk by chunk, from memory to memory.
void write_filter(const Options* options, const Shape* shape, uint64_t** buffers, Clock* clock);
void read_filter(const Options* options, const Shape* shape, uint64_t** buffers, Clock* clock);
enum { kChunkBytes = 1 << 20 };  // of `deflate`
uint64_t chunk_bytes(const Shape* shape);

#endif
