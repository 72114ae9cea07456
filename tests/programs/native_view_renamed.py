#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""A container of two files gets another name, and another container its name: the view of the first one names its second
file by its old name, and must not show what lies there now. As long as there is none of that name it shows fill values.

    native_view_renamed.py                                the test
    mpirun ... native_view_renamed.py --write FILE ADDED  the program: two ranks write a half each
"""

import os
import shutil
import sys

ROWS = 40000  # of each rank


def program(path, added):
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    with h5py.File(path, "w", driver="mpio", comm=comm) as file:
        mine = np.arange(comm.rank * ROWS, (comm.rank + 1) * ROWS)
        file.create_dataset("x", (comm.size * ROWS,), "i8", fillvalue=-1)[mine[0] : mine[-1] + 1] = mine + added


SEEN = """
import sys
import h5py, numpy as np
with h5py.File(sys.argv[1], "r") as file:
    try:
        data = file["x"][...]
    except OSError as error:
        print("component not found" in str(error) and "refused")
        sys.exit()
    written = data != -1
    print(sorted(set((data - np.arange(data.size))[written].tolist())), int(written.sum()))
"""


def test():
    def write(added):
        command = [python(), "-B", os.path.abspath(__file__), "--write", "a.h5", str(added)]
        mpirun(2, command, bento_env(string="bento files=2"))
        check(os.path.exists("a.h5.000001"), "no second physical file")

    def seen(path):
        """What was added to the values, and how many there are, as the wheel without plugin sees it."""
        return run([os.environ["H5BENTO_PYTHON_NATIVE"], "-c", SEEN, path], native_env()).out.strip()

    def through_connector(path):
        return run([python(), "-c", SEEN, path], bento_env()).out.strip()

    def is_whole(path, added):
        for reader in (seen, through_connector):
            check(reader(path) == f"[{added}] {2 * ROWS}", f"{path}: {reader(path)}, {added} was added")

    write(1)
    is_whole("a.h5", 1)
    for ending in ("", ".000001"):
        shutil.copy("a.h5" + ending, "copy.h5" + ending)
        os.rename("a.h5" + ending, "first.h5" + ending)
    check(seen("first.h5") == f"[1] {ROWS}", f"first.h5: {seen('first.h5')}")
    for added in (500, 900):  # under a name that is free, then in the place of what is there
        write(added)
        is_whole("a.h5", added)
        check(seen("first.h5") == "refused", f"first.h5 beside another a.h5: {seen('first.h5')}")
        check(through_connector("first.h5") == f"[1] {2 * ROWS}", f"first.h5: {through_connector('first.h5')}")
    for path in ("first.h5", "copy.h5"):
        run([built("bin", "h5bento"), "view", "build", path], native_env())
        is_whole(path, 1)
    # The other container's second file in the place of its own.
    shutil.copy("first.h5.000001", "a.h5.000001")
    check(seen("a.h5") == "refused", f"a.h5 with the second file of another one: {seen('a.h5')}")
    shutil.copy("copy.h5.000001", "first.h5.000001")  # a copy that has gone its own way since
    check(seen("first.h5") == "refused", f"first.h5 with the second file of its copy: {seen('first.h5')}")
    for name in ("a.h5", "first.h5"):  # these do not go together
        for ending in ("", ".000001"):
            os.remove(name + ending)
    say("a view shows its own container and no other")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"] and len(sys.argv) == 4:
        program(sys.argv[2], int(sys.argv[3]))
        sys.exit(0)
    from harness import bento_env, built, check, mpirun, native_env, python, run, run_test, say

    run_test(test)
