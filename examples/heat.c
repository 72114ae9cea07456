// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
//
// The heat equation on a plate, in column bands: each rank owns some columns of every row, so its
// part of the file is strided. The field is kept in one dataset with an unlimited time dimension
// that grows by H5Dset_extent; --verify computes the solution again, on any number of ranks, and
// compares every value.
//
// An ordinary parallel HDF5 program:  h5pcc heat.c -o heat -lm

#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // getopt_long
#endif
#include <getopt.h>
#include <hdf5.h>
#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char* path;
  long rows, columns;
  long steps;         // of the simulation
  long output_every;  // simulation steps between two outputs
  long flush_every;   // outputs between two H5Fflush, 0 = never
  int collective;
  int verify;
} Options;

static const double kDiffusivity = 0.2;  // dt / dx^2 * alpha; stable below 0.25

static int rank = 0, ranks = 1;

// Every result of the HDF5 library goes through here. Its own error stack has been printed by then.
static hid_t check(hid_t result, const char* call, int line) {
  if (result < 0) {
    fprintf(stderr, "heat: rank %d: line %d: failed: %s\n", rank, line, call);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return result;
}
#define CHECK(call) check((hid_t)(call), #call, __LINE__)

static void* allocate(size_t bytes) {
  void* memory = malloc(bytes ? bytes : 1);
  if (!memory) {
    fprintf(stderr, "heat: rank %d: no memory for %zu bytes\n", rank, bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

// ---- solver
// --------------------------------------------------------------------------------------

// This rank's band of columns, with one halo column on either side: value(row, column) is at
// row * (columns + 2) + column + 1. Every cell is computed in the same way whatever the number of
// ranks, so that solutions are equal to the last bit.
typedef struct {
  long rows, all_columns;  // of the plate
  long first, columns;     // this rank's
  double *now, *next;
} Band;

static double initial(long row, long column, long rows, long columns) {
  const double y = (double)row / (double)rows - 0.5, x = (double)column / (double)columns - 0.5;
  return x * x + y * y < 0.0625 ? 100.0 : 20.0 + 10.0 * (double)((row * 31 + column * 17) % 7);
}

static Band make_band(const Options* options) {
  Band band = {.rows = options->rows, .all_columns = options->columns};
  const long share = options->columns / ranks, rest = options->columns % ranks;
  band.first = share * rank + (rank < rest ? rank : rest);
  band.columns = share + (rank < rest);
  const size_t cells = (size_t)band.rows * (size_t)(band.columns + 2);
  band.now = allocate(cells * sizeof(double));
  band.next = allocate(cells * sizeof(double));
  memset(band.now, 0, cells * sizeof(double));
  for (long row = 0; row < band.rows; ++row)
    for (long c = 0; c < band.columns; ++c)
      band.now[row * (band.columns + 2) + c + 1] =
          initial(row, band.first + c, band.rows, band.all_columns);
  memcpy(band.next, band.now, cells * sizeof(double));
  return band;
}

static void free_band(Band* band) {
  free(band->now);
  free(band->next);
}

static void exchange_halo(Band* band) {
  // Ranks without columns are at the end (there are more ranks than columns), so neighbours are
  // adjacent.
  if (band->columns == 0) return;
  const long with_columns = band->all_columns < ranks ? band->all_columns : ranks;
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int right = rank + 1 < with_columns ? rank + 1 : MPI_PROC_NULL;
  const int width = (int)band->columns + 2;
  MPI_Datatype column;
  MPI_Type_vector((int)band->rows, 1, width, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  MPI_Sendrecv(band->now + 1, 1, column, left, 0, band->now + band->columns + 1, 1, column, right,
               0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(band->now + band->columns, 1, column, right, 1, band->now, 1, column, left, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Type_free(&column);
}

static void advance(Band* band) {
  exchange_halo(band);
  const long width = band->columns + 2;
  for (long row = 1; row + 1 < band->rows; ++row) {
    for (long c = 1; c <= band->columns; ++c) {
      const long global = band->first + c - 1;
      if (global == 0 || global == band->all_columns - 1)
        continue;  // the rim keeps its temperature
      const double* at = band->now + row * width + c;
      band->next[row * width + c] =
          at[0] + kDiffusivity * (at[-1] + at[1] + at[-width] + at[width] - 4.0 * at[0]);
    }
  }
  double* swap = band->now;
  band->now = band->next;
  band->next = swap;
}

// ---- file
// ----------------------------------------------------------------------------------------

static hid_t make_file_access(void) {
  hid_t access = CHECK(H5Pcreate(H5P_FILE_ACCESS));
  CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
  return access;
}

static hid_t make_transfer(const Options* options) {
  hid_t transfer = CHECK(H5Pcreate(H5P_DATASET_XFER));
  CHECK(H5Pset_dxpl_mpio(transfer,
                         options->collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT));
  return transfer;
}

static void write_number(hid_t object, const char* name, hid_t file_type, hid_t memory_type,
                         const void* value) {
  hid_t space = CHECK(H5Screate(H5S_SCALAR));
  hid_t attribute = CHECK(H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT));
  CHECK(H5Awrite(attribute, memory_type, value));
  CHECK(H5Aclose(attribute));
  CHECK(H5Sclose(space));
}

static void write_text(hid_t object, const char* name, const char* text) {
  hid_t type = CHECK(H5Tcopy(H5T_C_S1));
  CHECK(H5Tset_size(type, strlen(text) + 1));
  CHECK(H5Tset_strpad(type, H5T_STR_NULLTERM));
  write_number(object, name, type, type, text);
  CHECK(H5Tclose(type));
}

static long long read_whole(hid_t object, const char* name) {
  long long value = 0;
  hid_t attribute = CHECK(H5Aopen(object, name, H5P_DEFAULT));
  CHECK(H5Aread(attribute, H5T_NATIVE_LLONG, &value));
  CHECK(H5Aclose(attribute));
  return value;
}

static hid_t create_temperature(hid_t file, const Options* options) {
  hid_t space = CHECK(H5Screate_simple(
      3, (const hsize_t[]){0, (hsize_t)options->rows, (hsize_t)options->columns},
      (const hsize_t[]){H5S_UNLIMITED, (hsize_t)options->rows, (hsize_t)options->columns}));
  hid_t creation = CHECK(H5Pcreate(H5P_DATASET_CREATE));
  // A chunk per rank and output, as parallel HDF5 programs choose them.
  const hsize_t chunk[] = {1, (hsize_t)options->rows,
                           (hsize_t)((options->columns + ranks - 1) / ranks)};
  const double fill = -273.15;
  CHECK(H5Pset_chunk(creation, 3, chunk));
  CHECK(H5Pset_fill_value(creation, H5T_NATIVE_DOUBLE, &fill));
  hid_t dataset = CHECK(
      H5Dcreate2(file, "temperature", H5T_IEEE_F64LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
  write_text(dataset, "units", "degree Celsius");
  write_number(dataset, "diffusivity", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &kDiffusivity);
  CHECK(H5Pclose(creation));
  CHECK(H5Sclose(space));
  return dataset;
}

static hid_t create_time(hid_t file) {
  hid_t space = CHECK(H5Screate_simple(1, (const hsize_t[]){0}, (const hsize_t[]){H5S_UNLIMITED}));
  hid_t creation = CHECK(H5Pcreate(H5P_DATASET_CREATE));
  CHECK(H5Pset_chunk(creation, 1, (const hsize_t[]){64}));
  hid_t dataset =
      CHECK(H5Dcreate2(file, "time", H5T_IEEE_F64LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
  write_text(dataset, "units", "time steps");
  CHECK(H5Pclose(creation));
  CHECK(H5Sclose(space));
  return dataset;
}

// The file's selection for output number `output`: all rows, this rank's columns.
static hid_t select_band(hid_t temperature, const Band* band, hsize_t output) {
  hid_t space = CHECK(H5Dget_space(temperature));
  if (band->columns == 0)
    CHECK(H5Sselect_none(space));
  else
    CHECK(H5Sselect_hyperslab(
        space, H5S_SELECT_SET, (const hsize_t[]){output, 0, (hsize_t)band->first}, NULL,
        (const hsize_t[]){1, (hsize_t)band->rows, (hsize_t)band->columns}, NULL));
  return space;
}

// The memory's: the band without its halo.
static hid_t select_inner(const Band* band) {
  hid_t space = CHECK(H5Screate_simple(
      2, (const hsize_t[]){(hsize_t)band->rows, (hsize_t)band->columns + 2}, NULL));
  if (band->columns == 0)
    CHECK(H5Sselect_none(space));
  else
    CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, (const hsize_t[]){0, 1}, NULL,
                              (const hsize_t[]){(hsize_t)band->rows, (hsize_t)band->columns},
                              NULL));
  return space;
}

static double span(double begin, double end) {
  double first, last;
  MPI_Reduce(&begin, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return last - first;
}

static void report(const char* done, const Options* options, hsize_t outputs, double seconds,
                   double close_seconds) {
  const double mebibytes =
      (double)outputs * (double)options->rows * (double)options->columns * 8.0 / 1048576.0;
  if (rank == 0)
    printf("heat: %s %" PRIuHSIZE
           " outputs, %.1f MiB, %d ranks, %s: %.3f s, %.0f MiB/s (close %.3f s)\n",
           done, outputs, mebibytes, ranks, options->collective ? "collective" : "independent",
           seconds, mebibytes / seconds, close_seconds);
}

static void write_output(hid_t temperature, hid_t time, hid_t transfer, const Band* band,
                         hsize_t output, long step) {
  CHECK(H5Dset_extent(
      temperature, (const hsize_t[]){output + 1, (hsize_t)band->rows, (hsize_t)band->all_columns}));
  hid_t file_space = select_band(temperature, band, output);
  hid_t memory_space = select_inner(band);
  CHECK(H5Dwrite(temperature, H5T_NATIVE_DOUBLE, memory_space, file_space, transfer, band->now));
  CHECK(H5Sclose(memory_space));
  CHECK(H5Sclose(file_space));

  // One number, by rank 0; the others take part with an empty selection.
  CHECK(H5Dset_extent(time, (const hsize_t[]){output + 1}));
  file_space = CHECK(H5Dget_space(time));
  memory_space = CHECK(H5Screate(H5S_SCALAR));
  if (rank == 0) {
    CHECK(H5Sselect_elements(file_space, H5S_SELECT_SET, 1, &output));
  } else {
    CHECK(H5Sselect_none(file_space));
    CHECK(H5Sselect_none(memory_space));
  }
  const double now = (double)step;
  CHECK(H5Dwrite(time, H5T_NATIVE_DOUBLE, memory_space, file_space, transfer, &now));
  CHECK(H5Sclose(memory_space));
  CHECK(H5Sclose(file_space));
}

static void write_file(const Options* options) {
  Band band = make_band(options);
  hid_t access = make_file_access();
  hid_t transfer = make_transfer(options);
  double seconds = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  hid_t file = CHECK(H5Fcreate(options->path, H5F_ACC_TRUNC, H5P_DEFAULT, access));
  write_text(file, "title", "heat in a plate");
  write_number(file, "steps", H5T_STD_I64LE, H5T_NATIVE_LONG, &options->steps);
  write_number(file, "output_every", H5T_STD_I64LE, H5T_NATIVE_LONG, &options->output_every);
  hid_t temperature = create_temperature(file, options);
  hid_t time = create_time(file);
  seconds += span(begin, MPI_Wtime());

  hsize_t outputs = 0;
  for (long step = 0; step <= options->steps; ++step) {
    if (step > 0) advance(&band);
    if (step % options->output_every != 0) continue;
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    write_output(temperature, time, transfer, &band, outputs++, step);
    if (options->flush_every > 0 && outputs % (hsize_t)options->flush_every == 0)
      CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    seconds += span(begin, MPI_Wtime());
  }

  begin = MPI_Wtime();
  CHECK(H5Dclose(time));
  CHECK(H5Dclose(temperature));
  CHECK(H5Fclose(file));
  const double close_seconds = span(begin, MPI_Wtime());
  seconds += close_seconds;
  CHECK(H5Pclose(transfer));
  CHECK(H5Pclose(access));
  free_band(&band);
  report("wrote", options, outputs, seconds, close_seconds);
}

// Number of this rank's values of one output that differ from the solution in `band`.
static uint64_t compare_output(hid_t temperature, hid_t time, hid_t transfer, const Band* band,
                               hsize_t output, long step, double* found) {
  hid_t file_space = select_band(temperature, band, output);
  hid_t memory_space = select_inner(band);
  memset(found, 0xff, (size_t)band->rows * (size_t)(band->columns + 2) * sizeof(double));
  CHECK(H5Dread(temperature, H5T_NATIVE_DOUBLE, memory_space, file_space, transfer, found));
  CHECK(H5Sclose(memory_space));
  CHECK(H5Sclose(file_space));
  uint64_t wrong = 0;
  for (long row = 0; row < band->rows; ++row) {
    for (long c = 0; c < band->columns; ++c) {
      const size_t at = (size_t)row * (size_t)(band->columns + 2) + (size_t)c + 1;
      if (memcmp(&found[at], &band->now[at], sizeof(double)) != 0 && wrong++ == 0)
        fprintf(stderr,
                "heat: rank %d: temperature[%" PRIuHSIZE ", %ld, %ld] is %.17g, not %.17g\n", rank,
                output, row, band->first + c, found[at], band->now[at]);
    }
  }

  double value = -1;
  file_space = CHECK(H5Dget_space(time));
  memory_space = CHECK(H5Screate(H5S_SCALAR));
  CHECK(H5Sselect_elements(file_space, H5S_SELECT_SET, 1, &output));
  CHECK(H5Dread(time, H5T_NATIVE_DOUBLE, memory_space, file_space, transfer, &value));
  CHECK(H5Sclose(memory_space));
  CHECK(H5Sclose(file_space));
  if (value != (double)step) {
    fprintf(stderr, "heat: rank %d: time[%" PRIuHSIZE "] is %g, not %ld\n", rank, output, value,
            step);
    ++wrong;
  }
  return wrong;
}

static uint64_t verify_file(Options* options) {
  hid_t access = make_file_access();
  hid_t transfer = make_transfer(options);
  double begin = MPI_Wtime();
  hid_t file = CHECK(H5Fopen(options->path, H5F_ACC_RDONLY, access));
  options->steps = (long)read_whole(file, "steps");
  options->output_every = (long)read_whole(file, "output_every");
  hid_t temperature = CHECK(H5Dopen2(file, "temperature", H5P_DEFAULT));
  hid_t time = CHECK(H5Dopen2(file, "time", H5P_DEFAULT));
  hid_t space = CHECK(H5Dget_space(temperature));
  hsize_t extent[3], most[3];
  if (CHECK(H5Sget_simple_extent_dims(space, extent, most)) != 3 || most[0] != H5S_UNLIMITED ||
      options->output_every < 1 ||
      extent[0] != (hsize_t)(options->steps / options->output_every + 1)) {
    fprintf(stderr, "heat: rank %d: temperature has the wrong extent\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  CHECK(H5Sclose(space));
  double seconds = span(begin, MPI_Wtime());
  options->rows = (long)extent[1];
  options->columns = (long)extent[2];

  Band band = make_band(options);
  double* found = allocate((size_t)band.rows * (size_t)(band.columns + 2) * sizeof(double));
  uint64_t wrong = 0;
  hsize_t output = 0;
  for (long step = 0; step <= options->steps; ++step) {
    if (step > 0) advance(&band);
    if (step % options->output_every != 0) continue;
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    wrong += compare_output(temperature, time, transfer, &band, output++, step, found);
    seconds += span(begin, MPI_Wtime());
  }
  begin = MPI_Wtime();
  CHECK(H5Dclose(time));
  CHECK(H5Dclose(temperature));
  CHECK(H5Fclose(file));
  const double close_seconds = span(begin, MPI_Wtime());
  seconds += close_seconds;
  CHECK(H5Pclose(transfer));
  CHECK(H5Pclose(access));
  free(found);
  free_band(&band);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  report("read", options, output, seconds, close_seconds);
  if (rank == 0)
    printf("heat: %" PRIuHSIZE " outputs checked, %" PRIu64 " values wrong\n", output, wrong);
  return wrong;
}

// ---- command line
// --------------------------------------------------------------------------------

static void usage(FILE* out) {
  fputs(
      "usage: heat [option...] FILE             simulate and write FILE\n"
      "       heat --verify [option...] FILE    simulate again on any number of ranks, compare "
      "every value\n"
      "\n"
      "  --rows N           rows of the plate (default 256)\n"
      "  --columns N        columns, shared out to the ranks (default 1024)\n"
      "  --steps S          simulation steps (default 40)\n"
      "  --output-every K   simulation steps between two outputs (default 4)\n"
      "  --flush-every F    outputs between two H5Fflush, 0 for none (default 4)\n"
      "  --collective       collective transfer\n"
      "  --independent      independent transfer (default)\n"
      "  --help\n"
      "\n"
      "exit status: 0 done, 1 a call failed or a value is wrong, 2 wrong usage\n",
      out);
}

// Returns -1 to go on, else the exit status.
static int parse(int argc, char** argv, Options* options) {
  enum {
    kRows = 256,
    kColumns,
    kSteps,
    kOutputEvery,
    kFlushEvery,
    kCollective,
    kIndependent,
    kVerify,
    kHelp
  };
  static const struct option known[] = {
      {"rows", required_argument, NULL, kRows},
      {"columns", required_argument, NULL, kColumns},
      {"steps", required_argument, NULL, kSteps},
      {"output-every", required_argument, NULL, kOutputEvery},
      {"flush-every", required_argument, NULL, kFlushEvery},
      {"collective", no_argument, NULL, kCollective},
      {"independent", no_argument, NULL, kIndependent},
      {"verify", no_argument, NULL, kVerify},
      {"help", no_argument, NULL, kHelp},
      {NULL, 0, NULL, 0},
  };
  opterr = rank == 0;
  for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    long *number = NULL, least = 1;
    switch (option) {
      case kRows:
        number = &options->rows, least = 3;
        break;
      case kColumns:
        number = &options->columns, least = 3;
        break;
      case kSteps:
        number = &options->steps, least = 0;
        break;
      case kOutputEvery:
        number = &options->output_every;
        break;
      case kFlushEvery:
        number = &options->flush_every, least = 0;
        break;
      case kCollective:
      case kIndependent:
        options->collective = option == kCollective;
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
    if (number) {
      char* end = NULL;
      *number = strtol(optarg, &end, 10);
      if (end == optarg || *end != '\0' || *number < least) {
        if (rank == 0)
          fprintf(stderr, "heat: '%s' is not a number of at least %ld\n", optarg, least);
        return 2;
      }
    }
  }
  if (argc - optind != 1) {
    if (rank == 0) usage(stderr);
    return 2;
  }
  options->path = argv[optind];
  return -1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Options options = {
      .rows = 256, .columns = 1024, .steps = 40, .output_every = 4, .flush_every = 4};
  int status = parse(argc, argv, &options);
  if (status < 0) {
    if (options.verify) {
      status = verify_file(&options) != 0;
    } else {
      write_file(&options);
      status = 0;
    }
  }
  MPI_Finalize();
  return status;
}
