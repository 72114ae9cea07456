// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Plain parallel HDF5 on two ranks. In each of ROUNDS rounds rank 0 writes dataset "P" of pairs
// (a, b) as a whole, and rank 1 dataset "Q". Behind a barrier each writes one member of both at the
// same time, in one call and in opposite order: rank 0 member a of P, then of Q, rank 1 member b of
// Q, then of P. Then all values are read. A member is as it was written last or as before: of two
// ranks that change the same elements at the same time either may take away what the other wrote.
// The close may refuse to store that, and is not checked.
//
//   crossed_writes FILE ROUNDS
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCount = 200000 };
typedef struct {
  double a;
  long b;
} Pair;

static int rank;

static hid_t check(hid_t result, const char* call, int line) {
  if (result >= 0) return result;
  fprintf(stderr, "rank %d, line %d: %s failed\n", rank, line, call);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return result;
}
#define CHECK(call) check((hid_t)(call), #call, __LINE__)

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 3) return 2;
  const hid_t access = CHECK(H5Pcreate(H5P_FILE_ACCESS));
  CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
  const hid_t file = CHECK(H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access));
  const hsize_t count = kCount;
  const hid_t space = CHECK(H5Screate_simple(1, &count, NULL));
  const hid_t whole = CHECK(H5Tcreate(H5T_COMPOUND, sizeof(Pair)));
  CHECK(H5Tinsert(whole, "a", HOFFSET(Pair, a), H5T_NATIVE_DOUBLE));
  CHECK(H5Tinsert(whole, "b", HOFFSET(Pair, b), H5T_NATIVE_LONG));
  const hid_t mine = CHECK(H5Tcreate(H5T_COMPOUND, rank == 0 ? sizeof(double) : sizeof(long)));
  CHECK(H5Tinsert(mine, rank == 0 ? "a" : "b", 0, rank == 0 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_LONG));
  const hid_t sets[2] = {
      CHECK(H5Dcreate2(file, "P", whole, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)),
      CHECK(H5Dcreate2(file, "Q", whole, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))};
  Pair* const pairs = malloc(kCount * sizeof *pairs);
  double* const as = malloc(kCount * sizeof *as);
  long* const bs = malloc(kCount * sizeof *bs);
  long wrong = 0;
  for (int round = 0; round < atoi(argv[2]); ++round) {
    for (long i = 0; i < kCount; ++i) {
      pairs[i] = (Pair){-1, -1};
      as[i] = round + 0.5;
      bs[i] = 1000 + round;
    }
    CHECK(H5Dwrite(sets[rank], whole, H5S_ALL, H5S_ALL, H5P_DEFAULT, pairs));
    MPI_Barrier(MPI_COMM_WORLD);
    hid_t order[2] = {sets[rank], sets[1 - rank]}, types[2] = {mine, mine},
          all[2] = {H5S_ALL, H5S_ALL};
    const void* const member = rank == 0 ? (const void*)as : (const void*)bs;
    const void* buffers[2] = {member, member};
    CHECK(H5Dwrite_multi(2, order, types, all, all, H5P_DEFAULT, buffers));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int set = 0; set < 2; ++set) {
      CHECK(H5Dread(sets[set], whole, H5S_ALL, H5S_ALL, H5P_DEFAULT, pairs));
      for (long i = 0; i < kCount; ++i)
        wrong += (pairs[i].a != -1 && pairs[i].a != round + 0.5) ||
                 (pairs[i].b != -1 && pairs[i].b != 1000 + round);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK(H5Dclose(sets[0]));
  CHECK(H5Dclose(sets[1]));
  H5E_BEGIN_TRY {
    H5Fclose(file);
  }
  H5E_END_TRY
  printf("rank %d: %ld wrong\n", rank, wrong);
  H5Tclose(whole);
  H5Tclose(mine);
  H5Sclose(space);
  H5Pclose(access);
  free(pairs);
  free(as);
  free(bs);
  MPI_Finalize();
  return wrong != 0;
}
