# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Random programs of all ranks, one for each seed, each with a file of its own."""

import glob
import os

from launched import settings


def seeds_of(arguments, default):
    """The first seed and their number, from `[--first N] [SEEDS]`."""
    first = 1
    if arguments[:1] == ["--first"]:
        first, arguments = int(arguments[1]), arguments[2:]
    return first, int(arguments[0]) if arguments else default


def run_programs(first, count, make, ways=()):
    """Collective. `make(file, comm, seed)` gives an object with run(), and check_again(file) for the file opened anew.

    ways: the variables that all of them are run with (launched.settings), one way after the other."""
    import h5py
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    ways = list(ways or ("",))
    for number, seed in [(number, seed) for number in range(len(ways)) for seed in range(first, first + count)]:
        with settings(ways[number]):
            name = f"{seed}-{number}.h5" if number else f"{seed}.h5"
            with h5py.File(name, "w", driver="mpio", comm=comm) as file:
                work = make(file, comm, seed)
                try:
                    work.run()
                except BaseException as error:
                    print(f"seed {seed} {ways[number]}: {error}", flush=True)
                    comm.Abort(1)
            with h5py.File(name, "r", driver="mpio", comm=comm) as file:
                work.check_again(file)
            comm.barrier()
            if comm.rank == 0 and (number, seed) != (len(ways) - 1, first + count - 1):
                for part in glob.glob(f"{name}*"):
                    os.remove(part)
    print("right")
