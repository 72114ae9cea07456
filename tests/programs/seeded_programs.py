# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Random programs of all ranks, one for each seed, each with a file of its own."""

import glob
import os


def seeds_of(arguments, default):
    """The first seed and their number, from `[--first N] [SEEDS]`."""
    first = 1
    if arguments[:1] == ["--first"]:
        first, arguments = int(arguments[1]), arguments[2:]
    return first, int(arguments[0]) if arguments else default


def run_programs(first, count, make):
    """Collective. `make(file, comm, seed)` gives an object with run(), and check_again(file) for the file opened anew."""
    import h5py
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    for seed in range(first, first + count):
        name = f"{seed}.h5"
        with h5py.File(name, "w", driver="mpio", comm=comm) as file:
            work = make(file, comm, seed)
            try:
                work.run()
            except BaseException as error:
                print(f"seed {seed}: {error}", flush=True)
                comm.Abort(1)
        with h5py.File(name, "r", driver="mpio", comm=comm) as file:
            work.check_again(file)
        comm.barrier()
        if comm.rank == 0 and seed + 1 < first + count:
            for part in glob.glob(f"{name}*"):
                os.remove(part)
    print("right")
