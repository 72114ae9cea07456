// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Plain parallel HDF5, told what to do: each rank does the actions on its own command line, so that
// ranks can be given different ones (mpirun's form with colons).
//
//   agree_ranks FILE ACTION...
//
//   conn=TEXT   from now on with this connector string; conn= goes back to the environment's
//   name=FILE   from now on this file        cd=DIR      change the working directory
//   create excl userblock open openw delete  collective calls on the file
//   self selfclose                           this rank alone opens and closes it, for reading
//   again againw againclose                  a second open beside the first
//   write=SEED check=SEED checkself=SEED     a dataset with a part of every rank
//   flush close atomic barrier infos
//
// Prints a line for each action: `rank R ACTION: ok`, or what the connector (or HDF5) said. `infos`
// prints how many MPI_Info objects were made and not freed since the last time.
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kPart = 20000 };

static int rank, ranks, infos;
static hid_t file = -1, again = -1, self = -1, connector = -1;
static const char* path;
static const char* string = "";
static char message[8192];
static double values[kPart];

// ---- MPI_Info objects: the library and the plugin come here first ----

int MPI_Info_create(MPI_Info* info) {
  ++infos;
  return PMPI_Info_create(info);
}
int MPI_Info_dup(MPI_Info info, MPI_Info* copy) {
  ++infos;
  return PMPI_Info_dup(info, copy);
}
int MPI_File_get_info(MPI_File of, MPI_Info* info) {
  ++infos;
  return PMPI_File_get_info(of, info);
}
int MPI_Info_free(MPI_Info* info) {
  --infos;
  return PMPI_Info_free(info);
}

// ---- what went wrong ----

static herr_t one_message(unsigned depth, const H5E_error2_t* error, void* all) {
  (void)depth;
  char name[64] = "";
  if (error->cls_id < 0 || error->desc == NULL) return 0;
  H5Eget_class_name(error->cls_id, name, sizeof name);
  if (strcmp(name, "h5bento") != 0 && all == NULL) return 0;
  const size_t used = strlen(message);
  snprintf(message + used, sizeof message - used, "%s%s", used ? " | " : "", error->desc);
  return 0;
}

// To be called before anything else touches the error stack. Returns `failed`.
static int note(int failed) {
  if (!failed || message[0] != '\0') return failed;
  const hid_t stack = H5Eget_current_stack();  // asking for a class's name clears the current one
  H5Ewalk2(stack, H5E_WALK_UPWARD, one_message, NULL);
  if (message[0] == '\0') H5Ewalk2(stack, H5E_WALK_UPWARD, one_message, message);
  H5Eclose_stack(stack);
  if (message[0] == '\0') strcpy(message, "failed");
  return failed;
}

static void say(const char* action, int failed) {
  note(failed);
  for (char* c = message; *c != '\0'; ++c)
    if (*c == '\n') *c = ' ';
  char line[9000];
  const int length =
      snprintf(line, sizeof line, "rank %d %s: %s\n", rank, action, failed ? message : "ok");
  message[0] = '\0';
  if (write(1, line, (size_t)length) < 0) exit(3);
}

// ---- actions ----

static hid_t access_list(MPI_Comm comm) {
  const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  MPI_Info hints;
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "romio_cb_write", "automatic");
  H5Pset_fapl_mpio(list, comm, hints);
  MPI_Info_free(&hints);
  if (*string != '\0') {
    if (connector < 0) connector = H5VLregister_connector_by_name("bento", H5P_DEFAULT);
    void* info = NULL;
    H5VLconnector_str_to_info(string, connector, &info);
    H5Pset_vol(list, connector, info);
    H5VLfree_connector_info(connector, info);
  }
  return list;
}

static hid_t open_with(MPI_Comm comm, const char* how) {
  const hid_t list = access_list(comm);
  hid_t made = -1;
  if (strcmp(how, "create") == 0) {
    made = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, list);
  } else if (strcmp(how, "excl") == 0) {
    made = H5Fcreate(path, H5F_ACC_EXCL, H5P_DEFAULT, list);
  } else if (strcmp(how, "userblock") == 0) {
    const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_userblock(creation, 512);
    made = H5Fcreate(path, H5F_ACC_TRUNC, creation, list);
    note(made < 0);
    H5Pclose(creation);
  } else {
    made = H5Fopen(path, strcmp(how, "openw") == 0 ? H5F_ACC_RDWR : H5F_ACC_RDONLY, list);
  }
  note(made < 0);
  H5Pclose(list);
  return made;
}

static int remove_file(void) {
  const hid_t list = access_list(MPI_COMM_WORLD);
  const int failed = note(H5Fdelete(path, list) < 0);
  H5Pclose(list);
  return failed;
}

static double expected(int seed, hsize_t i) {
  return seed * 1e6 + (double)i + 0.5;
}

static int write_part(int seed) {
  const hsize_t all = (hsize_t)kPart * (hsize_t)ranks, begin = (hsize_t)kPart * (hsize_t)rank,
                part = kPart;
  const hid_t space = H5Screate_simple(1, &all, NULL), memory = H5Screate_simple(1, &part, NULL);
  hid_t data =
      H5Lexists(file, "x", H5P_DEFAULT) > 0
          ? H5Dopen2(file, "x", H5P_DEFAULT)
          : H5Dcreate2(file, "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, &begin, NULL, &part, NULL);
  for (hsize_t i = 0; i < part; ++i) values[i] = expected(seed, begin + i);
  const int failed =
      note(data < 0 || H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values) < 0);
  if (data >= 0) H5Dclose(data);
  H5Sclose(space);
  H5Sclose(memory);
  return failed;
}

// Every rank reads everything, a part at a time.
static int check_all(const char* action, hid_t from, int seed) {
  const hid_t data = H5Dopen2(from, "x", H5P_DEFAULT);
  if (data < 0) return 1;
  const hid_t space = H5Dget_space(data);
  const hsize_t all = (hsize_t)H5Sget_simple_extent_npoints(space), part = kPart;
  const hid_t memory = H5Screate_simple(1, &part, NULL);
  int failed = 0;
  hsize_t wrong = 0;
  for (hsize_t begin = 0; begin < all && !failed; begin += part) {
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &begin, NULL, &part, NULL);
    failed = note(H5Dread(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values) < 0);
    for (hsize_t i = 0; i < part && !failed; ++i) wrong += values[i] != expected(seed, begin + i);
  }
  H5Dclose(data);
  H5Sclose(space);
  H5Sclose(memory);
  if (wrong == 0) return failed;
  printf("rank %d %s: WRONG DATA, %llu values\n", rank, action, (unsigned long long)wrong);
  fflush(stdout);
  return -1;
}

static int closes(hid_t* id) {
  const int failed = *id < 0 || H5Fclose(*id) < 0;
  *id = -1;
  return failed;
}

static int act(const char* action) {
  const char* value = strchr(action, '=');
  const int seed = value != NULL ? atoi(value + 1) : 0;
  if (strncmp(action, "conn=", 5) == 0) return string = value + 1, 0;
  if (strncmp(action, "name=", 5) == 0) return path = value + 1, 0;
  if (strncmp(action, "cd=", 3) == 0) return chdir(value + 1) != 0;
  if (strncmp(action, "write=", 6) == 0) return write_part(seed);
  if (strncmp(action, "check=", 6) == 0) return check_all(action, file, seed);
  if (strncmp(action, "checkself=", 10) == 0) return check_all(action, self, seed);
  if (strcmp(action, "delete") == 0) return remove_file();
  if (strcmp(action, "self") == 0) return (self = open_with(MPI_COMM_SELF, "open")) < 0;
  if (strcmp(action, "selfclose") == 0) return closes(&self);
  if (strcmp(action, "again") == 0) return (again = open_with(MPI_COMM_WORLD, "open")) < 0;
  if (strcmp(action, "againw") == 0) return (again = open_with(MPI_COMM_WORLD, "openw")) < 0;
  if (strcmp(action, "againclose") == 0) return closes(&again);
  if (strcmp(action, "flush") == 0) return H5Fflush(file, H5F_SCOPE_GLOBAL) < 0;
  if (strcmp(action, "close") == 0) return closes(&file);
  if (strcmp(action, "atomic") == 0) return H5Fset_mpi_atomicity(file, true) < 0;
  if (strcmp(action, "barrier") == 0) return MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS;
  return (file = open_with(MPI_COMM_WORLD, action)) < 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 2) return 2;
  path = argv[1];
  H5open();
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  for (int i = 2; i < argc; ++i) {
    if (strcmp(argv[i], "infos") == 0) {
      printf("rank %d infos: %d\n", rank, infos);
      fflush(stdout);
      infos = 0;
      continue;
    }
    const int failed = act(argv[i]);
    if (failed >= 0) say(argv[i], failed);
  }
  if (connector >= 0) H5VLunregister_connector(connector);
  MPI_Finalize();
  return 0;
}
