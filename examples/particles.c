// SPDX-FileCopyrightText: The h5bento developers
// SPDX-License-Identifier: BSD-3-Clause
//
// A particle code's output, as in VPIC: one group per step, eight 1-D variables of different types,
// each rank writing its own slab of every variable. --verify reads such a file on any number of
// ranks and checks every value, because all values are functions of (step, variable, global index).
//
// An ordinary parallel HDF5 program:  h5pcc particles.c -o particles

#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // getopt_long
#endif
#include <getopt.h>
#include <hdf5.h>
#include <inttypes.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kVariables = 8 };

typedef struct {
  float x, y, z;
} Position;

typedef struct {
  const char* name;
  size_t bytes;  // of one element, in memory and in the file
  hid_t type;
  void (*fill)(void* element, uint64_t seed, uint64_t index);
} Variable;

typedef struct {
  const char* path;
  uint64_t particles_per_rank;
  int steps;
  int collective;
  int flush;
  int verify;
} Options;

static int rank = 0, ranks = 1;

// Every result of the HDF5 library goes through here. Its own error stack has been printed by then.
static hid_t check(hid_t result, const char* call, int line) {
  if (result < 0) {
    fprintf(stderr, "particles: rank %d: line %d: failed: %s\n", rank, line, call);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return result;
}
#define CHECK(call) check((hid_t)(call), #call, __LINE__)

static void* allocate(size_t bytes) {
  void* memory = malloc(bytes ? bytes : 1);
  if (!memory) {
    fprintf(stderr, "particles: rank %d: no memory for %zu bytes\n", rank, bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

// ---- values
// --------------------------------------------------------------------------------------

static uint64_t mix(uint64_t x) {
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

// In [0, 1), and exact in either type, so that equality is the right test.
static float unit_float(uint64_t seed) {
  return (float)(seed >> 40) / 16777216.0f;
}
static double unit_double(uint64_t seed) {
  return (double)(seed >> 11) / 9007199254740992.0;
}

static void fill_id(void* element, uint64_t seed, uint64_t index) {
  (void)seed;
  memcpy(element, &index, sizeof index);
}
static void fill_cell(void* element, uint64_t seed, uint64_t index) {
  (void)index;
  int32_t value = (int32_t)(seed >> 32);
  memcpy(element, &value, sizeof value);
}
static void fill_charge(void* element, uint64_t seed, uint64_t index) {
  (void)index;
  int16_t value = (int16_t)(seed >> 48);
  memcpy(element, &value, sizeof value);
}
static void fill_species(void* element, uint64_t seed, uint64_t index) {
  (void)index;
  uint8_t value = (uint8_t)(seed % 3);
  memcpy(element, &value, sizeof value);
}
static void fill_energy(void* element, uint64_t seed, uint64_t index) {
  (void)index;
  float value = unit_float(seed);
  memcpy(element, &value, sizeof value);
}
static void fill_weight(void* element, uint64_t seed, uint64_t index) {
  (void)index;
  double value = unit_double(seed);
  memcpy(element, &value, sizeof value);
}
static void fill_position(void* element, uint64_t seed, uint64_t index) {
  (void)index;
  Position value = {unit_float(seed), unit_float(mix(seed)), unit_float(mix(seed + 1))};
  memcpy(element, &value, sizeof value);
}
static void fill_momentum(void* element, uint64_t seed, uint64_t index) {
  (void)index;
  double value[3] = {unit_double(seed), unit_double(mix(seed)), -unit_double(mix(seed + 1))};
  memcpy(element, value, sizeof value);
}

static uint64_t seed_of(int step, int variable, uint64_t index) {
  return mix(mix(((uint64_t)step << 8) | (uint64_t)variable) + index);
}

static void fill_slab(const Variable* variable, int number, int step, uint64_t first,
                      uint64_t count, unsigned char* buffer) {
  for (uint64_t i = 0; i < count; ++i)
    variable->fill(buffer + i * variable->bytes, seed_of(step, number, first + i), first + i);
}

// ---- types
// ---------------------------------------------------------------------------------------

static hid_t make_species_type(void) {
  hid_t type = CHECK(H5Tenum_create(H5T_NATIVE_UINT8));
  static const char* const names[] = {"electron", "proton", "deuteron"};
  for (uint8_t value = 0; value < 3; ++value) CHECK(H5Tenum_insert(type, names[value], &value));
  return type;
}

static hid_t make_position_type(void) {
  hid_t type = CHECK(H5Tcreate(H5T_COMPOUND, sizeof(Position)));
  CHECK(H5Tinsert(type, "x", offsetof(Position, x), H5T_NATIVE_FLOAT));
  CHECK(H5Tinsert(type, "y", offsetof(Position, y), H5T_NATIVE_FLOAT));
  CHECK(H5Tinsert(type, "z", offsetof(Position, z), H5T_NATIVE_FLOAT));
  return type;
}

static void make_variables(Variable variables[kVariables]) {
  const hsize_t three = 3;
  const Variable made[kVariables] = {
      {"id", 8, CHECK(H5Tcopy(H5T_NATIVE_UINT64)), fill_id},
      {"cell", 4, CHECK(H5Tcopy(H5T_NATIVE_INT32)), fill_cell},
      {"charge", 2, CHECK(H5Tcopy(H5T_NATIVE_INT16)), fill_charge},
      {"species", 1, make_species_type(), fill_species},
      {"energy", 4, CHECK(H5Tcopy(H5T_NATIVE_FLOAT)), fill_energy},
      {"weight", 8, CHECK(H5Tcopy(H5T_NATIVE_DOUBLE)), fill_weight},
      {"position", sizeof(Position), make_position_type(), fill_position},
      {"momentum", 3 * sizeof(double), CHECK(H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, &three)),
       fill_momentum},
  };
  memcpy(variables, made, sizeof made);
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

static void write_attribute(hid_t object, const char* name, hid_t type, const void* value) {
  hid_t space = CHECK(H5Screate(H5S_SCALAR));
  hid_t attribute = CHECK(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
  CHECK(H5Awrite(attribute, type, value));
  CHECK(H5Aclose(attribute));
  CHECK(H5Sclose(space));
}

static void read_attribute(hid_t object, const char* name, hid_t type, void* value) {
  hid_t attribute = CHECK(H5Aopen(object, name, H5P_DEFAULT));
  CHECK(H5Aread(attribute, type, value));
  CHECK(H5Aclose(attribute));
}

// Seconds on a clock that all ranks of one machine share, from the first rank's `begin` to the last
// one's `end`; on rank 0 only.
static double span(double begin, double end) {
  double first, last;
  MPI_Reduce(&begin, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return last - first;
}

static uint64_t bytes_per_particle(const Variable variables[kVariables]) {
  uint64_t bytes = 0;
  for (int v = 0; v < kVariables; ++v) bytes += variables[v].bytes;
  return bytes;
}

static void report(const char* done, const Options* options, double mebibytes, int steps,
                   double seconds, double close_seconds) {
  if (rank == 0)
    printf("particles: %s %d steps, %.1f MiB, %d ranks, %s: %.3f s, %.0f MiB/s (close %.3f s)\n",
           done, steps, mebibytes, ranks, options->collective ? "collective" : "independent",
           seconds, mebibytes / seconds, close_seconds);
}

static void write_file(const Options* options, Variable variables[kVariables]) {
  const uint64_t count = options->particles_per_rank;
  const uint64_t total = count * (uint64_t)ranks;
  const uint64_t first = count * (uint64_t)rank;
  unsigned char* buffers[kVariables];
  for (int v = 0; v < kVariables; ++v) buffers[v] = allocate(count * variables[v].bytes);

  hid_t access = make_file_access();
  hid_t transfer = make_transfer(options);
  hid_t file_space = CHECK(H5Screate_simple(1, (const hsize_t[]){total}, NULL));
  hid_t memory_space = CHECK(H5Screate_simple(1, (const hsize_t[]){count}, NULL));
  CHECK(H5Sselect_hyperslab(file_space, H5S_SELECT_SET, (const hsize_t[]){first}, NULL,
                            (const hsize_t[]){count}, NULL));

  double seconds = 0;  // of input and output; computing the values is not counted
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  hid_t file = CHECK(H5Fcreate(options->path, H5F_ACC_TRUNC, H5P_DEFAULT, access));
  write_attribute(file, "particles", H5T_NATIVE_UINT64, &total);
  write_attribute(file, "steps", H5T_NATIVE_INT, &options->steps);
  seconds += span(begin, MPI_Wtime());

  for (int step = 0; step < options->steps; ++step) {
    for (int v = 0; v < kVariables; ++v)
      fill_slab(&variables[v], v, step, first, count, buffers[v]);

    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    char name[32];
    snprintf(name, sizeof name, "Timestep_%d", step);
    hid_t group = CHECK(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const double time = 0.125 * step;
    write_attribute(group, "time", H5T_NATIVE_DOUBLE, &time);
    for (int v = 0; v < kVariables; ++v) {
      hid_t dataset = CHECK(H5Dcreate2(group, variables[v].name, variables[v].type, file_space,
                                       H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      CHECK(H5Dwrite(dataset, variables[v].type, memory_space, file_space, transfer, buffers[v]));
      CHECK(H5Dclose(dataset));
    }
    CHECK(H5Gclose(group));
    if (options->flush) CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    seconds += span(begin, MPI_Wtime());
  }

  MPI_Barrier(MPI_COMM_WORLD);
  begin = MPI_Wtime();
  CHECK(H5Fclose(file));
  const double close_seconds = span(begin, MPI_Wtime());
  seconds += close_seconds;

  CHECK(H5Sclose(memory_space));
  CHECK(H5Sclose(file_space));
  CHECK(H5Pclose(transfer));
  CHECK(H5Pclose(access));
  for (int v = 0; v < kVariables; ++v) free(buffers[v]);
  const double mebibytes =
      (double)(total * bytes_per_particle(variables)) * options->steps / 1048576.0;
  report("wrote", options, mebibytes, options->steps, seconds, close_seconds);
}

// Compares one rank's slab of one variable; returns the number of wrong elements.
static uint64_t compare_slab(const Variable* variable, int number, int step, uint64_t first,
                             uint64_t count, const unsigned char* found, unsigned char* wanted) {
  fill_slab(variable, number, step, first, count, wanted);
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (memcmp(found + i * variable->bytes, wanted + i * variable->bytes, variable->bytes) != 0 &&
        wrong++ == 0)
      fprintf(stderr, "particles: rank %d: Timestep_%d/%s[%" PRIu64 "] differs\n", rank, step,
              variable->name, first + i);
  }
  return wrong;
}

// Returns the number of wrong elements, of all ranks. The slabs are those of this run's ranks,
// whatever the number of ranks was that wrote.
static uint64_t verify_file(const Options* options, Variable variables[kVariables]) {
  hid_t access = make_file_access();
  hid_t transfer = make_transfer(options);
  double seconds = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  hid_t file = CHECK(H5Fopen(options->path, H5F_ACC_RDONLY, access));
  uint64_t total = 0;
  int steps = 0;
  read_attribute(file, "particles", H5T_NATIVE_UINT64, &total);
  read_attribute(file, "steps", H5T_NATIVE_INT, &steps);
  seconds += span(begin, MPI_Wtime());

  const uint64_t first = total / (uint64_t)ranks * (uint64_t)rank;
  const uint64_t count = rank == ranks - 1 ? total - first : total / (uint64_t)ranks;
  const size_t largest = 3 * sizeof(double);
  unsigned char *found = allocate(count * largest), *wanted = allocate(count * largest);
  uint64_t wrong = 0;
  hid_t memory_space = CHECK(H5Screate_simple(1, (const hsize_t[]){count}, NULL));

  for (int step = 0; step < steps; ++step) {
    char name[32];
    snprintf(name, sizeof name, "Timestep_%d", step);
    hid_t group = CHECK(H5Gopen2(file, name, H5P_DEFAULT));
    double time = -1;
    read_attribute(group, "time", H5T_NATIVE_DOUBLE, &time);
    if (time != 0.125 * step) {
      fprintf(stderr, "particles: rank %d: %s: attribute time is %g\n", rank, name, time);
      ++wrong;
    }
    for (int v = 0; v < kVariables; ++v) {
      // A read that does nothing must not pass.
      memset(found, 0xa5, count * largest);
      MPI_Barrier(MPI_COMM_WORLD);
      begin = MPI_Wtime();
      hid_t dataset = CHECK(H5Dopen2(group, variables[v].name, H5P_DEFAULT));
      hid_t type = CHECK(H5Dget_type(dataset));
      hid_t space = CHECK(H5Dget_space(dataset));
      if (CHECK(H5Tequal(type, variables[v].type)) != 1 ||
          CHECK(H5Sget_simple_extent_npoints(space)) != (hssize_t)total) {
        fprintf(stderr, "particles: rank %d: %s/%s: wrong type or size\n", rank, name,
                variables[v].name);
        ++wrong;
      } else {
        CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, (const hsize_t[]){first}, NULL,
                                  (const hsize_t[]){count}, NULL));
        CHECK(H5Dread(dataset, variables[v].type, memory_space, space, transfer, found));
      }
      CHECK(H5Sclose(space));
      CHECK(H5Tclose(type));
      CHECK(H5Dclose(dataset));
      seconds += span(begin, MPI_Wtime());
      wrong += compare_slab(&variables[v], v, step, first, count, found, wanted);
    }
    CHECK(H5Gclose(group));
  }
  begin = MPI_Wtime();
  CHECK(H5Fclose(file));
  const double close_seconds = span(begin, MPI_Wtime());
  seconds += close_seconds;
  CHECK(H5Sclose(memory_space));
  CHECK(H5Pclose(transfer));
  CHECK(H5Pclose(access));
  free(found);
  free(wanted);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  const double mebibytes = (double)(total * bytes_per_particle(variables)) * steps / 1048576.0;
  report("read", options, mebibytes, steps, seconds, close_seconds);
  if (rank == 0)
    printf("particles: %" PRIu64 " values checked, %" PRIu64 " wrong\n",
           total * (uint64_t)steps * kVariables, wrong);
  return wrong;
}

// ---- command line
// --------------------------------------------------------------------------------

static void usage(FILE* out) {
  fputs(
      "usage: particles [option...] FILE             write FILE\n"
      "       particles --verify [option...] FILE    read FILE on any number of ranks, check every "
      "value\n"
      "\n"
      "  --particles-per-rank N   elements of each variable and rank (default 131072)\n"
      "  --steps S                groups Timestep_0.. to write (default 3)\n"
      "  --collective             collective transfer\n"
      "  --independent            independent transfer (default)\n"
      "  --flush                  H5Fflush after every step\n"
      "  --help\n"
      "\n"
      "Reports the time spent in HDF5, from H5Fcreate or H5Fopen to H5Fclose, and the rate of all "
      "ranks.\n"
      "exit status: 0 done, 1 a call failed or a value is wrong, 2 wrong usage\n",
      out);
}

// Returns -1 to go on, else the exit status.
static int parse(int argc, char** argv, Options* options) {
  enum { kParticles = 256, kSteps, kCollective, kIndependent, kFlush, kVerify, kHelp };
  static const struct option known[] = {
      {"particles-per-rank", required_argument, NULL, kParticles},
      {"steps", required_argument, NULL, kSteps},
      {"collective", no_argument, NULL, kCollective},
      {"independent", no_argument, NULL, kIndependent},
      {"flush", no_argument, NULL, kFlush},
      {"verify", no_argument, NULL, kVerify},
      {"help", no_argument, NULL, kHelp},
      {NULL, 0, NULL, 0},
  };
  opterr = rank == 0;
  for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    char* end = NULL;
    switch (option) {
      case kParticles:
        options->particles_per_rank = strtoull(optarg, &end, 10);
        break;
      case kSteps:
        options->steps = (int)strtol(optarg, &end, 10);
        break;
      case kCollective:
      case kIndependent:
        options->collective = option == kCollective;
        break;
      case kFlush:
        options->flush = 1;
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
    if (end && (*end != '\0' || end == optarg || *optarg == '-')) {
      if (rank == 0) fprintf(stderr, "particles: '%s' is not a number\n", optarg);
      return 2;
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
  Options options = {.particles_per_rank = 131072, .steps = 3};
  int status = parse(argc, argv, &options);
  if (status < 0) {
    Variable variables[kVariables];
    make_variables(variables);
    if (options.verify) {
      status = verify_file(&options, variables) != 0;
    } else {
      write_file(&options, variables);
      status = 0;
    }
    for (int v = 0; v < kVariables; ++v) CHECK(H5Tclose(variables[v].type));
  }
  MPI_Finalize();
  return status;
}
