// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
//
// One measurement: all ranks write one new file (or one each) and read it back, in one of three
// patterns, by plain pwrite/pread or by HDF5. Prints one JSON object. An ordinary HDF5 program:
// whether a connector or a file driver is in use is decided by the environment. bench/run and
// bench/vfd call it, repeat, and compare.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // getopt_long
#endif
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <hdf5.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum { kRaw, kRawShared, kHdf5, kHdf5Own } Method;
typedef enum { kSlabs, kBands, kPieces } Pattern;

typedef struct {
  Method method;
  Pattern pattern;
  int collective;
  int verify;
  int variables;
  uint64_t variable_bytes;  // per rank
  uint64_t piece_bytes;     // of a band's row, or of one request in the pieces pattern
  const char* path;
} Options;

// Seconds of the two halves. `total` runs from just before the open on the first rank to just after
// the close on the last; `close` from the last rank's entry into it.
typedef struct {
  double total, close;
} Times;

static const char* const kMethodNames[] = {"raw", "raw-shared", "hdf5", "hdf5-own"};
static const char* const kPatternNames[] = {"slabs", "bands", "pieces"};
static int rank = 0, ranks = 1;

static void fail(const char* what, int line) {
  fprintf(stderr, "bento_bench: rank %d: line %d: failed: %s\n", rank, line, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static hid_t check(hid_t result, const char* call, int line) {
  if (result < 0) fail(call, line);
  return result;
}
#define CHECK(call) check((hid_t)(call), #call, __LINE__)

static void check_posix(ssize_t result, const char* call, int line) {
  if (result < 0) {
    perror(call);
    fail(call, line);
  }
}
#define CHECK_POSIX(call) check_posix((ssize_t)(call), #call, __LINE__)

// ---- shape of the data
// ---------------------------------------------------------------------------

// Elements are uint64. A variable is 1-D and a rank has a slab of it, or it is 2-D and a rank has a
// band of columns; a request is all of a rank's part, or one piece of it.
typedef struct {
  int dimensions;
  hsize_t extent[2];  // of the variable
  hsize_t first[2], count[2];
  uint64_t requests;  // per variable and rank
  uint64_t request_bytes;
} Shape;

static Shape shape_of(const Options* options) {
  const uint64_t elements = options->variable_bytes / 8;
  Shape shape = {.requests = 1, .request_bytes = options->variable_bytes};
  if (options->pattern == kBands) {
    const hsize_t columns = options->piece_bytes / 8, rows = elements / columns;
    shape.dimensions = 2;
    shape.extent[0] = rows, shape.extent[1] = columns * (hsize_t)ranks;
    shape.first[0] = 0, shape.first[1] = columns * (hsize_t)rank;
    shape.count[0] = rows, shape.count[1] = columns;
  } else {
    shape.dimensions = 1;
    shape.extent[0] = elements * (hsize_t)ranks;
    shape.first[0] = elements * (hsize_t)rank;
    shape.count[0] = elements;
  }
  if (options->pattern == kPieces) {
    shape.requests = options->variable_bytes / options->piece_bytes;
    shape.request_bytes = options->piece_bytes;
  }
  return shape;
}

static uint64_t value_of(int variable, uint64_t index) {
  return (index + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)variable << 56;
}

// Position in the variable of a rank's i-th element.
static uint64_t index_of(const Shape* shape, uint64_t i) {
  if (shape->dimensions == 1) return shape->first[0] + i;
  return (shape->first[0] + i / shape->count[1]) * shape->extent[1] + shape->first[1] +
         i % shape->count[1];
}

static void fill(const Shape* shape, int variable, uint64_t* buffer, uint64_t elements) {
  for (uint64_t i = 0; i < elements; ++i) buffer[i] = value_of(variable, index_of(shape, i));
}

static uint64_t count_wrong(const Shape* shape, int variable, const uint64_t* buffer,
                            uint64_t elements) {
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < elements; ++i)
    wrong += buffer[i] != value_of(variable, index_of(shape, i));
  return wrong;
}

// ---- plain input and output
// ----------------------------------------------------------------------

static int open_raw(const Options* options, int flags) {
  char path[4096];
  if (options->method == kRaw)
    snprintf(path, sizeof path, "%s.%d", options->path, rank);
  else
    snprintf(path, sizeof path, "%s", options->path);
  const int fd = open(path, flags, 0644);
  CHECK_POSIX(fd);
  return fd;
}

static off_t region_of(const Options* options) {
  if (options->method == kRaw) return 0;
  return (off_t)((uint64_t)rank * (uint64_t)options->variables * options->variable_bytes);
}

static void write_raw(const Options* options, const Shape* shape, uint64_t** buffers,
                      double* close_begin) {
  const int fd = open_raw(options, O_CREAT | O_WRONLY);
  off_t offset = region_of(options);
  for (int v = 0; v < options->variables; ++v) {
    const char* data = (const char*)buffers[v];
    for (uint64_t request = 0; request < shape->requests; ++request) {
      for (uint64_t done = 0; done < shape->request_bytes;) {
        const ssize_t written =
            pwrite(fd, data + done, shape->request_bytes - done, offset + (off_t)done);
        CHECK_POSIX(written);
        done += (uint64_t)written;
      }
      data += shape->request_bytes;
      offset += (off_t)shape->request_bytes;
    }
  }
  *close_begin = MPI_Wtime();
  CHECK_POSIX(close(fd));
}

static void read_raw(const Options* options, const Shape* shape, uint64_t** buffers,
                     double* close_begin) {
  const int fd = open_raw(options, O_RDONLY);
  off_t offset = region_of(options);
  for (int v = 0; v < options->variables; ++v) {
    char* data = (char*)buffers[v];
    for (uint64_t request = 0; request < shape->requests; ++request) {
      for (uint64_t done = 0; done < shape->request_bytes;) {
        const ssize_t got =
            pread(fd, data + done, shape->request_bytes - done, offset + (off_t)done);
        CHECK_POSIX(got);
        if (got == 0) fail("pread: end of file", __LINE__);
        done += (uint64_t)got;
      }
      data += shape->request_bytes;
      offset += (off_t)shape->request_bytes;
    }
  }
  *close_begin = MPI_Wtime();
  CHECK_POSIX(close(fd));
}

// ---- HDF5
// ----------------------------------------------------------------------------------------

typedef struct {
  hid_t access, transfer, file_space, memory_space;
} Ids;

// Of a rank with a file of its own: no MPI, and the variable is the rank's part alone.
static Ids make_own_ids(const Shape* shape) {
  Ids ids;
  ids.access = CHECK(H5Pcreate(H5P_FILE_ACCESS));
  ids.transfer = CHECK(H5Pcreate(H5P_DATASET_XFER));
  ids.file_space = CHECK(H5Screate_simple(shape->dimensions, shape->count, NULL));
  ids.memory_space = CHECK(H5Scopy(ids.file_space));
  return ids;
}

static Ids make_ids(const Options* options, const Shape* shape) {
  if (options->method == kHdf5Own) return make_own_ids(shape);
  Ids ids;
  ids.access = CHECK(H5Pcreate(H5P_FILE_ACCESS));
  CHECK(H5Pset_fapl_mpio(ids.access, MPI_COMM_WORLD, MPI_INFO_NULL));
  ids.transfer = CHECK(H5Pcreate(H5P_DATASET_XFER));
  CHECK(H5Pset_dxpl_mpio(ids.transfer,
                         options->collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT));
  ids.file_space = CHECK(H5Screate_simple(shape->dimensions, shape->extent, NULL));
  if (options->pattern == kPieces) {
    ids.memory_space =
        CHECK(H5Screate_simple(1, (const hsize_t[]){shape->request_bytes / 8}, NULL));
  } else {
    ids.memory_space = CHECK(H5Screate_simple(shape->dimensions, shape->count, NULL));
    CHECK(H5Sselect_hyperslab(ids.file_space, H5S_SELECT_SET, shape->first, NULL, shape->count,
                              NULL));
  }
  return ids;
}

static void close_ids(const Ids* ids) {
  CHECK(H5Sclose(ids->memory_space));
  CHECK(H5Sclose(ids->file_space));
  CHECK(H5Pclose(ids->transfer));
  CHECK(H5Pclose(ids->access));
}

static void select_piece(const Shape* shape, const Ids* ids, uint64_t request) {
  if (shape->requests == 1) return;
  const hsize_t count = shape->request_bytes / 8, first = shape->first[0] + request * count;
  CHECK(H5Sselect_hyperslab(ids->file_space, H5S_SELECT_SET, &first, NULL, &count, NULL));
}

static void file_name(const Options* options, char name[4096]) {
  if (options->method == kHdf5Own)
    snprintf(name, 4096, "%s.%d.h5", options->path, rank);
  else
    snprintf(name, 4096, "%s", options->path);
}

static void variable_name(int variable, char name[16]) {
  snprintf(name, 16, "v%d", variable);
}

static void write_hdf5(const Options* options, const Shape* shape, const Ids* ids,
                       uint64_t** buffers, double* close_begin) {
  char path[4096];
  file_name(options, path);
  hid_t file = CHECK(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, ids->access));
  for (int v = 0; v < options->variables; ++v) {
    char name[16];
    variable_name(v, name);
    hid_t dataset = CHECK(H5Dcreate2(file, name, H5T_NATIVE_UINT64, ids->file_space, H5P_DEFAULT,
                                     H5P_DEFAULT, H5P_DEFAULT));
    for (uint64_t request = 0; request < shape->requests; ++request) {
      select_piece(shape, ids, request);
      CHECK(H5Dwrite(dataset, H5T_NATIVE_UINT64, ids->memory_space, ids->file_space, ids->transfer,
                     buffers[v] + request * (shape->request_bytes / 8)));
    }
    CHECK(H5Dclose(dataset));
  }
  *close_begin = MPI_Wtime();
  CHECK(H5Fclose(file));
}

static void read_hdf5(const Options* options, const Shape* shape, const Ids* ids,
                      uint64_t** buffers, double* close_begin) {
  char path[4096];
  file_name(options, path);
  hid_t file = CHECK(H5Fopen(path, H5F_ACC_RDONLY, ids->access));
  for (int v = 0; v < options->variables; ++v) {
    char name[16];
    variable_name(v, name);
    hid_t dataset = CHECK(H5Dopen2(file, name, H5P_DEFAULT));
    for (uint64_t request = 0; request < shape->requests; ++request) {
      select_piece(shape, ids, request);
      CHECK(H5Dread(dataset, H5T_NATIVE_UINT64, ids->memory_space, ids->file_space, ids->transfer,
                    buffers[v] + request * (shape->request_bytes / 8)));
    }
    CHECK(H5Dclose(dataset));
  }
  *close_begin = MPI_Wtime();
  CHECK(H5Fclose(file));
}

// ---- measurement
// ---------------------------------------------------------------------------------

// The ranks of one machine share MPI_Wtime's clock; on several machines this would need a common
// one.
static Times times_of(double begin, double close_begin, double end) {
  double first, last_close, last;
  MPI_Reduce(&begin, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&close_begin, &last_close, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return (Times){last - first, last - last_close};
}

static Times timed(const Options* options, const Shape* shape, const Ids* ids, uint64_t** buffers,
                   int writing) {
  double close_begin = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  if (options->method >= kHdf5) {
    (writing ? write_hdf5 : read_hdf5)(options, shape, ids, buffers, &close_begin);
  } else {
    (writing ? write_raw : read_raw)(options, shape, buffers, &close_begin);
  }
  return times_of(begin, close_begin, MPI_Wtime());
}

static int run(const Options* options) {
  const Shape shape = shape_of(options);
  const uint64_t elements = options->variable_bytes / 8;
  uint64_t** buffers = calloc((size_t)options->variables, sizeof *buffers);
  if (!buffers) fail("calloc", __LINE__);
  for (int v = 0; v < options->variables; ++v) {
    if (!(buffers[v] = malloc(options->variable_bytes))) fail("malloc", __LINE__);
    fill(&shape, v, buffers[v], elements);
  }
  Ids ids = {0, 0, 0, 0};
  if (options->method >= kHdf5) ids = make_ids(options, &shape);

  const Times written = timed(options, &shape, &ids, buffers, 1);
  // A read that does nothing must not pass; and all pages of the buffers stay mapped.
  for (int v = 0; v < options->variables; ++v) memset(buffers[v], 0xa5, options->variable_bytes);
  const Times read = timed(options, &shape, &ids, buffers, 0);

  uint64_t wrong = 0;
  if (options->verify)
    for (int v = 0; v < options->variables; ++v)
      wrong += count_wrong(&shape, v, buffers[v], elements);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);

  if (options->method >= kHdf5) close_ids(&ids);
  for (int v = 0; v < options->variables; ++v) free(buffers[v]);
  free(buffers);
  if (rank == 0) {
    printf(
        "{\"method\": \"%s\", \"pattern\": \"%s\", \"transfer\": \"%s\", \"ranks\": %d, "
        "\"variables\": %d, "
        "\"request_bytes\": %" PRIu64 ", \"bytes\": %" PRIu64
        ", \"write_s\": %.6f, \"write_close_s\": %.6f, "
        "\"read_s\": %.6f, \"read_close_s\": %.6f, \"wrong\": ",
        kMethodNames[options->method], kPatternNames[options->pattern],
        options->collective ? "collective" : "independent", ranks, options->variables,
        shape.request_bytes,
        (uint64_t)ranks * (uint64_t)options->variables * options->variable_bytes, written.total,
        written.close, read.total, read.close);
    if (options->verify)
      printf("%" PRIu64 "}\n", wrong);
    else
      printf("null}\n");
  }
  return wrong != 0;
}

// ---- command line
// --------------------------------------------------------------------------------

static void usage(FILE* out) {
  fputs(
      "usage: bento_bench --method METHOD --pattern PATTERN [option...] PATH\n"
      "\n"
      "  --method raw          each rank its own file PATH.<rank>, by pwrite and pread\n"
      "           raw-shared   one file, each rank its own region, by pwrite and pread\n"
      "           hdf5         one HDF5 file\n"
      "           hdf5-own     each rank its own HDF5 file PATH.<rank>.h5, not for pieces\n"
      "  --pattern slabs       1-D variables, a rank's slab in one request\n"
      "            bands       2-D variables, a rank's band of columns in one request\n"
      "            pieces      1-D variables, a rank's slab in many requests\n"
      "  --variables V         number of variables (default 8)\n"
      "  --kib K               KiB per rank and variable (default 32768)\n"
      "  --piece-bytes B       bytes of a row of a band, or of a piece (default 4096)\n"
      "  --collective          collective transfer (default independent)\n"
      "  --verify              check all values after reading, outside the measured time\n"
      "  --help\n"
      "\n"
      "The files must not exist yet; they are left behind. Prints one JSON object.\n"
      "exit status: 0 done, 1 a call failed or values are wrong, 2 wrong usage\n",
      out);
}

static int parse_name(const char* text, const char* const* names, int count) {
  for (int i = 0; i < count; ++i)
    if (strcmp(text, names[i]) == 0) return i;
  return -1;
}

// Returns -1 to go on, else the exit status.
static int parse(int argc, char** argv, Options* options) {
  enum { kMethod = 256, kPattern, kVariables, kKib, kPieceBytes, kCollective, kVerify, kHelp };
  static const struct option known[] = {
      {"method", required_argument, NULL, kMethod},
      {"pattern", required_argument, NULL, kPattern},
      {"variables", required_argument, NULL, kVariables},
      {"kib", required_argument, NULL, kKib},
      {"piece-bytes", required_argument, NULL, kPieceBytes},
      {"collective", no_argument, NULL, kCollective},
      {"verify", no_argument, NULL, kVerify},
      {"help", no_argument, NULL, kHelp},
      {NULL, 0, NULL, 0},
  };
  int method = -1, pattern = -1;
  opterr = rank == 0;
  for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    switch (option) {
      case kMethod:
        method = parse_name(optarg, kMethodNames, 4);
        break;
      case kPattern:
        pattern = parse_name(optarg, kPatternNames, 3);
        break;
      case kVariables:
        options->variables = atoi(optarg);
        break;
      case kKib:
        options->variable_bytes = strtoull(optarg, NULL, 10) * 1024;
        break;
      case kPieceBytes:
        options->piece_bytes = strtoull(optarg, NULL, 10);
        break;
      case kCollective:
        options->collective = 1;
        break;
      case kVerify:
        options->verify = 1;
        break;
      case kHelp:
        if (rank == 0) usage(stdout);
        return 0;
      default:
        return 2;
    }
  }
  if (argc - optind != 1 || method < 0 || pattern < 0 ||
      (method == kHdf5Own && pattern == kPieces) || options->variables < 1 ||
      options->variable_bytes == 0 || options->piece_bytes == 0 || options->piece_bytes % 8 != 0 ||
      options->variable_bytes % options->piece_bytes != 0) {
    if (rank == 0) usage(stderr);
    return 2;
  }
  options->method = (Method)method;
  options->pattern = (Pattern)pattern;
  options->path = argv[optind];
  return -1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Options options = {.variables = 8, .variable_bytes = UINT64_C(32) << 20, .piece_bytes = 4096};
  int status = parse(argc, argv, &options);
  if (status < 0) status = run(&options);
  MPI_Finalize();
  return status;
}
