// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
//
// One measurement: all ranks write one new file (or one each) and read it back, by plain
// pwrite/pread or by HDF5, in one of many patterns. Prints one JSON object. An ordinary HDF5
// program: whether a connector or a file driver is in use is decided by the environment. bench/run
// and bench/vfd call it, repeat, and compare.

#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "methods.h"
#include "options.h"

int rank = 0, ranks = 1;

void fail(const char* what, int line) {
  fprintf(stderr, "bento_bench: rank %d: line %d: failed: %s\n", rank, line, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

void check_posix(ssize_t result, const char* call, int line) {
  if (result < 0) {
    perror(call);
    fail(call, line);
  }
}

void* allocate(uint64_t bytes) {
  void* memory = malloc(bytes > 0 ? bytes : 1);
  if (!memory) fail("malloc", __LINE__);
  return memory;
}

void mark(const Options* options, const char* what) {
  if (options->marks && access(what, F_OK) == 0) fail("a file has the name of a mark", __LINE__);
}

// Seconds, and the largest resident memory that a rank has had by then. `total` runs from just
// before the open on the first rank to just after the close on the last; `close` from the last
// rank's entry into it; `calls` is what the slowest rank spent in the calls that move data.
typedef struct {
  double total, close, calls;
  long peak_kib;
} Result;

// The ranks of one machine share MPI_Wtime's clock; on several machines this would need a common
// one.
static Result result_of(const Clock* clock) {
  const double end = MPI_Wtime();
  double first, latest[3];
  const double mine[3] = {clock->close_begin, end, clock->calls};
  MPI_Reduce(&clock->begin, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(mine, latest, 3, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  long peak;
  MPI_Reduce(&used.ru_maxrss, &peak, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank != 0) return (Result){0, 0, 0, 0};
  return (Result){latest[1] - first, latest[1] - latest[0], latest[2], peak};
}

static Result timed(const Options* options, const Shape* shape, uint64_t** buffers, int writing) {
  Clock clock = {0, 0, 0};
  MPI_Barrier(MPI_COMM_WORLD);
  clock.begin = MPI_Wtime();
  if (options->method == kFilter)
    (writing ? write_filter : read_filter)(options, shape, buffers, &clock);
  else if (is_raw(options->method))
    (writing ? write_raw : read_raw)(options, shape, buffers, &clock);
  else
    (writing ? write_hdf5 : read_hdf5)(options, shape, buffers, &clock);
  return result_of(&clock);
}

static void print_half(const char* name, const Result* result, uint64_t bytes) {
  printf(", \"%s_bytes\": %" PRIu64
         ", \"%s_s\": %.6f, \"%s_close_s\": %.6f, \"%s_calls_s\": %.6f, \"%s_peak_kib\": %ld",
         name, bytes, name, result->total, name, result->close, name, result->calls, name,
         result->peak_kib);
}

static uint64_t over_ranks(uint64_t mine) {
  uint64_t all;
  MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

static int run(const Options* options) {
  const Shape shape = shape_of(options);
  const int uses_hdf5 =
      options->method == kHdf5 || options->method == kHdf5Own || options->method == kSubfiling;
  const int writes = options->phase != kReadOnly, reads = options->phase != kWriteOnly;
  uint64_t** buffers = make_buffers(options, &shape);
  if (uses_hdf5) open_hdf5(options, &shape);

  Result written = {0, 0, 0, 0}, read = {0, 0, 0, 0};
  if (writes) {
    fill_buffers(options, &shape, buffers);
    written = timed(options, &shape, buffers, 1);
  }
  if (reads) {
    // A read that does nothing must not pass; and all pages of the buffers stay mapped.
    for (int v = 0; v < options->variables; ++v) memset(buffers[v], 0xa5, shape.memory_bytes);
    read = timed(options, &shape, buffers, 0);
  }
  const uint64_t wrong =
      over_ranks(options->verify && reads ? count_wrong(options, &shape, buffers) : 0);
  const uint64_t bytes = over_ranks((uint64_t)options->variables * shape.bytes);

  if (uses_hdf5) close_hdf5();
  free_buffers(options, &shape, buffers);
  if (rank == 0) {
    printf(
        "{\"method\": \"%s\", \"pattern\": \"%s\", \"ranks\": %d, \"variables\": %d, "
        "\"request_bytes\": %" PRIu64,
        kMethodNames[options->method], kPatternNames[options->pattern], ranks, options->variables,
        shape.bytes / shape.requests / (uint64_t)shape.members);
    if (writes) print_half("write", &written, bytes * (uint64_t)shape.passes);
    if (reads) print_half("read", &read, bytes);
    if (options->verify && reads)
      printf(", \"wrong\": %" PRIu64 "}\n", wrong);
    else
      printf(", \"wrong\": null}\n");
  }
  return wrong != 0;
}

static int wants_subfiling(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (strcmp(argv[i], "subfiling") == 0) return 1;
  return 0;
}

// Subfiling has threads of its own that call MPI. Returns why it cannot be, or NULL.
static const char* start_mpi(int* argc, char*** argv) {
  if (!wants_subfiling(*argc, *argv)) {
    MPI_Init(argc, argv);
    return NULL;
  }
  int level;
  MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
  if (level < MPI_THREAD_MULTIPLE)
    return "this MPI has no MPI_THREAD_MULTIPLE, which Subfiling needs";
  return has_subfiling() ? NULL : "this HDF5 was built without Subfiling";
}

int main(int argc, char** argv) {
  const char* missing = start_mpi(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Options options = {.variables = 8,
                     .variable_bytes = UINT64_C(32) << 20,
                     .piece_bytes = 4096,
                     .level = 1,
                     .writers = ranks};
  int status = parse(argc, argv, &options);
  if (status < 0 && missing) {
    if (rank == 0) printf("{\"not_measured\": \"%s\"}\n", missing);
    status = 0;
  } else if (status < 0) {
    status = run(&options);
  }
  MPI_Finalize();
  return status;
}
