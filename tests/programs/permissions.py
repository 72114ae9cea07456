#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""A file that takes another one's place has its permissions, and so has each further physical file of a container."""

import os
import stat

from harness import (
    bento_env,
    built,
    check,
    mpirun,
    native_env,
    python,
    run,
    run_test,
    say,
)

PARALLEL = """
import sys, h5py
from mpi4py import MPI
comm = MPI.COMM_WORLD
name, mode, dataset = sys.argv[1:]
with h5py.File(name, mode, driver="mpio", comm=comm) as file:
    file.create_dataset(dataset, (2000,), "i8")[comm.rank * 1000 : comm.rank * 1000 + 1000] = comm.rank
"""
SERIAL = """
import sys, h5py
name, mode, dataset = sys.argv[1:]
with h5py.File(name, mode) as file:
    file[dataset] = range(1000)
"""


def mode_of(name):
    return stat.S_IMODE(os.stat(name).st_mode)


def is_private(what, *names):
    modes = {name: oct(mode_of(name)) for name in names}
    check(set(modes.values()) == {"0o600"}, f"{what}: {modes}, want 0600")


def parallel(name, mode, dataset, string):
    mpirun(2, [python(), "-c", PARALLEL, name, mode, dataset], bento_env(string=f"bento {string}"))


def serial(name, mode, dataset, string=""):
    run([python(), "-c", SERIAL, name, mode, dataset], bento_env(string=f"bento {string}"))


def h5bento(*arguments):
    run([built("bin", "h5bento"), *arguments], native_env())


def test_permissions():
    os.umask(0o022)
    parallel("two.h5", "w", "d", "files=2")
    check(mode_of("two.h5.000001") == 0o644, "a new container has what the umask leaves")
    os.chmod("two.h5", 0o600)
    parallel("two.h5", "w", "d", "files=2")
    is_private("created over it", "two.h5", "two.h5.000001")

    serial("more.h5", "w", "d")
    os.chmod("more.h5", 0o600)
    parallel("more.h5", "r+", "e", "")
    is_private("opened by more ranks", "more.h5", "more.h5.000001")

    h5bento("defrag", "more.h5")
    is_private("defrag in place", "more.h5")
    h5bento("export", "more.h5", "plain.h5")
    os.chmod("plain.h5", 0o600)
    h5bento("export", "--force", "more.h5", "plain.h5")
    is_private("export --force", "plain.h5")
    run([os.environ["H5BENTO_PYTHON_NATIVE"], "-c", SERIAL, "more.h5", "r+", "changed"], native_env())
    h5bento("view", "take-over", "more.h5")
    is_private("view take-over", "more.h5")
    for arrive in ("container", "native", "onefile"):
        serial(f"{arrive}.h5", "w", "old")
        os.chmod(f"{arrive}.h5", 0o600)
        serial("copy.h5", "w", "new")
        transfer = ("--file", f"transfer.{arrive}")
        h5bento("transfer", "submit", "copy.h5", f"{arrive}.h5", "--arrive", arrive, "--no-start", *transfer)
        h5bento("transfer", "run", "--until-done", *transfer)
        is_private(f"arrived as {arrive}", f"{arrive}.h5")
    say("what is replaced, and what is added, keeps its permissions")


if __name__ == "__main__":
    run_test(test_permissions)
