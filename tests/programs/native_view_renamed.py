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
for path in sys.argv[1:]:
    with h5py.File(path, "r") as file:
        try:
            data = file["x"][...]
        except OSError as error:
            print("component not found" in str(error) and "refused")
            continue
        written = data != -1
        print(sorted(set((data - np.arange(data.size))[written].tolist())), int(written.sum()))
"""


def test():
    def write(added):
        command = [python(), "-B", os.path.abspath(__file__), "--write", "a.h5", str(added)]
        mpirun(2, command, bento_env(string="bento files=2"))
        check(os.path.exists("a.h5.000001"), "no second physical file")

    def compare(who, what, command, env, wanted):
        found = run([*command, "-c", SEEN, *wanted], env).out.splitlines()
        for path, one in zip(wanted, found, strict=True):
            check(one == wanted[path], f"{path}, {what}: {who} sees {one} instead of {wanted[path]}")

    def seen(what, **wanted):
        """What was added to the values, and how many there are, as the wheel without plugin sees it: {name: text}."""
        wanted = {f"{name}.h5": text for name, text in wanted.items()}
        compare("stock HDF5", what, [os.environ["H5BENTO_PYTHON_NATIVE"]], native_env(), wanted)

    def through_connector(what, **wanted):
        wanted = {f"{name}.h5": text for name, text in wanted.items()}
        compare("the connector", what, [python()], bento_env(), wanted)

    def whole(added):
        return f"[{added}] {2 * ROWS}"

    write(1)
    seen("as written", a=whole(1))
    through_connector("as written", a=whole(1))
    for ending in ("", ".000001"):
        shutil.copy("a.h5" + ending, "copy.h5" + ending)
        os.rename("a.h5" + ending, "first.h5" + ending)
    seen("alone", first=f"[1] {ROWS}")
    for path in ("first.h5", "copy.h5"):
        status = run([built("bin", "h5bento"), "view", "status", path], native_env()).out
        check("as those of 'a.h5'" in status and "view build" in status, f"{path}: {status}")
    for added in (500, 900):  # under a name that is free, then in the place of what is there
        write(added)
        seen(f"a.h5 with {added}", a=whole(added), first="refused")
        through_connector(f"a.h5 with {added}", a=whole(added), first=whole(1))
    for path in ("first.h5", "copy.h5"):
        run([built("bin", "h5bento"), "view", "build", path], native_env())
        status = run([built("bin", "h5bento"), "view", "status", path], native_env()).out
        check("not shown" not in status, f"{path}: {status}")
    seen("built anew", first=whole(1), copy=whole(1))
    through_connector("built anew", first=whole(1), copy=whole(1))
    # The other container's second file in the place of its own.
    shutil.copy("first.h5.000001", "a.h5.000001")
    shutil.copy("copy.h5.000001", "first.h5.000001")  # a copy that has gone its own way since
    seen("with another's second file", a="refused", first="refused")
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
