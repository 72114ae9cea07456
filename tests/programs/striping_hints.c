// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Plain parallel HDF5 with hints: creates FILE with an MPI_Info object of the pairs that follow,
// and prints which of the two striping hints, and of one that means nothing, the open file's access
// list shows.
//
//   striping_hints FILE [KEY VALUE]...
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void show(MPI_Info info, const char* key) {
  char value[MPI_MAX_INFO_VAL] = "";
  int found = 0;
  if (info != MPI_INFO_NULL) MPI_Info_get(info, key, (int)sizeof value - 1, value, &found);
  printf("%s %s\n", key, found ? value : "none");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 2) return 2;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Info info = MPI_INFO_NULL;
  if (argc > 2) MPI_Info_create(&info);
  for (int i = 2; i + 1 < argc; i += 2) MPI_Info_set(info, argv[i], argv[i + 1]);

  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, info);
  const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
  if (file < 0) return 1;
  const hid_t shown = H5Fget_access_plist(file);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Info used = MPI_INFO_NULL;
  if (H5Pget_fapl_mpio(shown, &comm, &used) < 0) return 1;
  if (rank == 0) {
    show(used, "striping_factor");
    show(used, "striping_unit");
    show(used, "unheard_of");
    printf("info %s\n", used == MPI_INFO_NULL ? "null" : "there");
  }
  if (used != MPI_INFO_NULL) MPI_Info_free(&used);
  MPI_Comm_free(&comm);
  H5Pclose(shown);
  H5Pclose(access);
  const int failed = H5Fclose(file) < 0;
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  MPI_Finalize();
  return failed;
}
