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
    with h5py.File(sys.argv[3], "w", **how) as f:
        f.create_dataset("first", data=np.arange(1000.0))
f = h5py.File(sys.argv[3], "a", **how)
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
for path, what in zip(sys.argv[1::2], sys.argv[2::2]):
    for mode in ("r", "a"):
        with h5py.File(path, mode) as f:
            print("stock:", sorted(f))
            if mode == "a" and what == "write":
                f["note"] = 1.5
"""
READ = """
import h5py, sys
for path in sys.argv[1:]:
    with h5py.File(path, "r") as f:
        assert f.attrs["step"] == 5, path
        for step in range(6):
            assert (f[f"step{step}"][...] == step).all(), (path, step)
"""
# Settings, ranks, how the session before ended, what stock HDF5 does.
CASES = (
    ("", 1, "close", "read"),
    ("", 1, "close", "write"),
    ("view=commit", 1, "none", "read"),
    ("view=commit;chunk=64K", 1, "close", "read"),
    ("files=2;chunk=1M", 2, "close", "read"),
)


def read(paths):
    run([python(), "-c", READ, *paths], bento_env())


def main():
    cases = {f"a{number}.h5": case for number, case in enumerate(CASES)}
    for path, (settings, ranks, first, _) in cases.items():
        command = [python(), "-c", WRITE, "mpi" if ranks > 1 else "serial", first, path]
        env = bento_env(string="bento " + settings)
        died = mpirun(ranks, command, env, ok=ANY) if ranks > 1 else run(command, env, ok=ANY)
        check(died.status != 0, "it was not killed")
    words = [word for path, case in cases.items() for word in (path, case[3])]
    seen = run([os.environ["H5BENTO_PYTHON_NATIVE"], "-c", STOCK, *words], native_env()).out.splitlines()
    check(len(seen) == 2 * len(cases), f"{seen}")
    for (settings, ranks, first, what), before, after in zip(cases.values(), seen[::2], seen[1::2]):
        check(first != "close" or "first" in before, before)
        check(after == before, f"another view: {before}, {after}")
        say(f"{settings or 'default'}, {ranks} ranks, stock HDF5 {what}s: {before}")
    read(cases)
    for path, (settings, _, _, what) in cases.items():
        run([built("bin", "h5bento"), "verify", path], native_env(), ok=ANY if what == "write" else (0,))
        if what == "write" and not settings:
            # What was committed is not given up without a word.
            refused = run([built("bin", "h5bento"), "view", "take-over", path], bento_env(), ok=ANY)
            check(refused.status != 0 and "newer commits" in refused.text and "--force" in refused.text, refused.text)
            read([path])
            run([built("bin", "h5bento"), "view", "drop", path], bento_env())
        if what == "read":
            run([built("bin", "h5bento"), "repair", path], bento_env())
    read(cases)
    # For the checks at the end.
    run([python(), "-c", "import h5py; h5py.File('b.h5', 'w')['x'] = 1"], bento_env())
    for name in [name for name in os.listdir(".") if name.startswith("a")]:
        os.remove(name)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run_test(main, *sys.argv[1:], containers=1)
