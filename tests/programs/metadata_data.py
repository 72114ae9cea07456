#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Data that lies in a container's metadata, or in files beside it, read and written by several ranks: the right values,
or refused with the reason.

    metadata_data.py                          the test
    mpirun ... metadata_data.py --run NAME    one of its programs
"""

import os
import sys

from harness import bento_env, check, mpirun, native_env, python, run_test, say


def opened(name, mode):
    import h5py
    from mpi4py import MPI

    return h5py.File(name, mode, driver="mpio", comm=MPI.COMM_WORLD)


def external():
    """Collective transfers of a dataset in an external file: each brought the program down."""
    import numpy as np
    from mpi4py import MPI

    rank = MPI.COMM_WORLD.rank
    with opened("external.h5", "w") as file:
        data = file.create_dataset("e", (20,), "i4", external=[("e.raw", 0, 80)])
        with data.collective:
            data[rank * 10 : rank * 10 + 10] = np.full(10, rank + 1, "i4")
        MPI.COMM_WORLD.Barrier()
        found = np.empty(20, "i4")
        with data.collective:
            data.read_direct(found)
    print(sorted(found.tolist()) == [1] * 10 + [2] * 10)


def copied():
    """A dataset that was copied from an ordinary file: what ranks above 0 wrote was lost."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    if comm.rank == 0:
        # A user block makes it an ordinary file.
        with h5py.File("ordinary.h5", "w", userblock_size=512) as file:
            file["d"] = np.zeros(10, "i4")
    comm.Barrier()
    right = True
    for collective in (False, True):
        with opened("copy.h5", "w") as file, opened("ordinary.h5", "r") as source:
            file.copy(source["d"], "d")
            data = file["d"]
            mine = slice(comm.rank * 5, comm.rank * 5 + 5)
            try:
                if collective:
                    with data.collective:
                        data[mine] = np.full(5, comm.rank + 10, "i4")
                else:
                    data[mine] = np.full(5, comm.rank + 10, "i4")
            except OSError as error:
                refused = "copied from an ordinary file" in str(error)
            else:
                refused = None
        with opened("copy.h5", "r") as file:
            found = file["d"][...].tolist()
        right = right and (refused if refused is not None else found == [10] * 5 + [11] * 5)
    print(right)


def test():
    # Natively, independent writes of several ranks to a fresh copy are lost now and then.
    for name, environments in (("external", (native_env(), bento_env())), ("copied", (bento_env(),))):
        command = [python(), "-B", os.path.abspath(__file__), "--run", name]
        for env in environments:
            found = mpirun(2, command, env)
            # mpirun may put the lines of two ranks into one.
            check(found.out.count("True") == 2, found.tail())
        say(f"{name}: the right values, or refused")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        {p.__name__: p for p in (external, copied)}[sys.argv[2]]()
        sys.exit(0)
    run_test(test, containers=2)
