#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Stock HDF5 cuts a file that it opened for writing off at the end that the superblock names. What was committed since the
last native view, by a program that was killed, must not lie behind that end.

    native_view_cut.py
"""

import os
import sys

from harness import ANY, bento_env, built, check, mpirun, native_env, python, run, run_test, say

# A session closes, the next one flushes and is killed. In between, plain readers may look.
WRITE = """
import h5py, numpy as np, os, sys
how = {}
if sys.argv[1] == "mpi":
    from mpi4py import MPI
    how = dict(driver="mpio", comm=MPI.COMM_WORLD)
if sys.argv[2] == "close":
    with h5py.File("a.h5", "w", **how) as f:
        f.create_dataset("first", data=np.arange(1000.0))
f = h5py.File("a.h5", "a", **how)
for step in range(6):
    f.create_dataset(f"step{step}", data=np.full(300000, float(step)))
    f.attrs["step"] = step
    f.flush()
if how:
    MPI.COMM_WORLD.Barrier()
os.kill(os.getpid(), 9)
"""
STOCK = """
import h5py, sys
with h5py.File("a.h5", sys.argv[1]) as f:
    print("stock:", sorted(f))
    if sys.argv[2] == "write":
        f["note"] = 1.5
"""
READ = """
import h5py
with h5py.File("a.h5", "r") as f:
    assert f.attrs["step"] == 5
    for step in range(6):
        assert (f[f"step{step}"][...] == step).all(), step
"""


def stock(mode, what):
    return run([os.environ["H5BENTO_PYTHON_NATIVE"], "-c", STOCK, mode, what], native_env())


def one(settings, ranks, first, what):
    for name in os.listdir("."):
        if name.startswith("a.h5"):
            os.remove(name)
    command = [python(), "-c", WRITE, "mpi" if ranks > 1 else "serial", first]
    env = bento_env(string="bento " + settings)
    died = mpirun(ranks, command, env, ok=ANY) if ranks > 1 else run(command, env, ok=ANY)
    check(died.status != 0, "it was not killed")
    seen = stock("r", "read").out
    check(first != "close" or "first" in seen, seen)
    check(stock("a", what).out == seen, "another view")
    run([python(), "-c", READ], bento_env())
    run([built("bin", "h5bento"), "verify", "a.h5"], native_env(), ok=ANY if what == "write" else (0,))
    if what == "write" and not settings:
        # What was committed is not given up without a word.
        refused = run([built("bin", "h5bento"), "view", "take-over", "a.h5"], bento_env(), ok=ANY)
        check(refused.status != 0 and "newer commits" in refused.text and "--force" in refused.text, refused.text)
        run([python(), "-c", READ], bento_env())
        run([built("bin", "h5bento"), "view", "drop", "a.h5"], bento_env())
        run([python(), "-c", READ], bento_env())
    if what == "read":
        run([built("bin", "h5bento"), "repair", "a.h5"], bento_env())
        run([python(), "-c", READ], bento_env())
    say(f"{settings or 'default'}, {ranks} ranks, stock HDF5 {what}s: {seen.strip()}")


def main():
    one("", 1, "close", "read")
    one("", 1, "close", "write")
    one("view=commit", 1, "none", "read")
    one("view=commit;chunk=64K", 1, "close", "read")
    one("files=2;chunk=1M", 2, "close", "read")
    # For the checks at the end.
    run([python(), "-c", "import h5py; h5py.File('b.h5', 'w')['x'] = 1"], bento_env())
    for name in [name for name in os.listdir(".") if name.startswith("a.h5")]:
        os.remove(name)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run_test(main, *sys.argv[1:], containers=1)
