// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
//
// What the sources of bento_bench share: the choice of a measurement, and what is noted while it
// runs.

#ifndef BENTO_BENCH_H
#define BENTO_BENCH_H

#include <stdint.h>
#include <sys/types.h>

typedef enum {
  kRaw,  // the plain ones first, see is_raw()
  kRawShared,
  kRawTwo,
  kRawKept,
  kHdf5,
  kHdf5Own,
  kSubfiling,
  kFilter,
  kMethods
} Method;

static inline int is_raw(Method method) {
  return method <= kRawKept;
}
typedef enum {
  kSlabs,
  kBands,
  kBlocks,
  kGhosts,
  kConversion,
  kPieces,
  kMembers,
  kInterleaved,
  kGaps,
  kOverwrite,
  kAppend,
  kDeflate,
  kPatterns
} Pattern;
typedef enum { kBoth, kWriteOnly, kReadOnly, kPhases } Phase;

typedef struct {
  Method method;
  Pattern pattern;
  Phase phase;
  int collective, tuned, sync, serial, marks, verify;
  int variables;
  int level;                // of deflate
  int writers;              // ranks that wrote what is read
  uint64_t variable_bytes;  // per writer
  uint64_t piece_bytes;     // of a band's row, or of one request in the pieces pattern
  const char* path;
} Options;

// What a rank notes of one half. Only `calls` lies inside H5Dwrite, H5Dread, pwrite, pread, or the
// filter.
typedef struct {
  double begin, close_begin, calls;
} Clock;

extern int rank, ranks;

_Noreturn void fail(const char* what, int line);
void check_posix(ssize_t result, const char* call, int line);
#define CHECK_POSIX(call) check_posix((ssize_t)(call), #call, __LINE__)
void* allocate(uint64_t bytes);

// Two system calls around each timed call that strace shows, so that what lies between can be
// counted.
void mark(const Options* options, const char* what);

#endif
