#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that end, or call MPI_Finalize, without closing what they have opened: the file is what it is if they close it, with a
native view, and nothing is said. A forked child that ends likewise changes nothing.

    left_open.py                       the test
    [mpirun ...] left_open.py --run    its program
"""

import os
import sys

from launched import world

VALUES = 40  # of each rank


def program():
    rank, ranks, access, _ = world()  # before h5py, so that HDF5 asks MPI to tell it of MPI_Finalize
    import h5py
    import numpy as np

    def keep(thing):
        """h5py would close it when Python ends."""
        h5py.h5i.inc_ref(thing if isinstance(thing, h5py.h5a.AttrID) else thing.id)
        return thing

    for name in ("one.h5", "two.h5"):
        file = keep(h5py.File(name, "w", **access))
        if rank == 1:
            # Its ids have other numbers from here on.
            keep(h5py.File(f"own-{name}", "w")).create_dataset("d", data=np.arange(5))
        data = keep(file.create_dataset("numbers", (ranks * VALUES,), "i4"))
        data[rank * VALUES : (rank + 1) * VALUES] = np.arange(rank * VALUES, (rank + 1) * VALUES)
        if ranks == 1:
            # To copy this, HDF5 must still know its type conversions.
            keep(file.create_dataset("words", (2,), h5py.string_dtype()))[...] = ["one", "three"]
        file["elsewhere"] = h5py.ExternalLink("nowhere.h5", "/x")  # and this, its classes of links
        group = keep(file.create_group("group"))
        group.attrs["a"] = 5
        keep(h5py.h5a.open(group.id, b"a"))
        file["type"] = np.dtype([("x", "i4"), ("y", "f8")])
        keep(file["type"])
    if ranks == 1:
        child = os.fork()
        if child == 0:
            sys.exit(0)  # through all that is done at exit
        os.waitpid(child, 0)


def test():
    for ranks in (0, 3):
        for folder, environment in ((f"native-{ranks}", native_env()), (f"bento-{ranks}", bento_env())):
            os.mkdir(folder)
            command = [python(), "-B", os.path.abspath(__file__), "--run"]
            result = run(["mpirun", "-n", ranks, *command] if ranks else command, environment, cwd=folder)
            check(not result.text.strip(), f"{folder}: {result.text}")
        names = ["one.h5", "two.h5"] + (["own-one.h5", "own-two.h5"] if ranks else [])
        counts = compare([(f"native-{ranks}/{name}", f"bento-{ranks}/{name}") for name in names])
        say(f"{ranks or 'no'} ranks, left open: {counts}")


if __name__ == "__main__":
    if "--run" in sys.argv:
        program()
        sys.exit(0)
    from harness import bento_env, check, native_env, python, run, run_test, say
    from native_view_check import compare

    run_test(test, containers=6)
