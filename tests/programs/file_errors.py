#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Errors in opening and creating files reach Python as the same exceptions as natively: h5py reads
errno from the bottom of the error stack, and its mode 'a' depends on it."""

import os

from harness import (
    bento_env,
    check,
    check_containers,
    check_diverted,
    mpirun,
    native_env,
    python,
    run,
    run_test,
    say,
)

# Prints one line for each case: what came of it.
CASES = """
import os, sys, h5py, numpy

def case(name, function):
    try:
        said = function()
    except Exception as error:
        said = f"{type(error).__name__} errno {getattr(error, 'errno', None)}"
    print(f"{name}: {said}")

def opened(path, mode, **more):
    with h5py.File(path, mode, **more) as file:
        return f"opened, {len(file)} links, mode {file.mode}"

def created(path, mode):
    with h5py.File(path, mode) as file:
        file["x"] = numpy.arange(10)
    with h5py.File(path, "r") as file:
        return f"created, {file['x'][...].tolist()}"

def twice():
    with h5py.File("twice", "w") as a, h5py.File("twice", "r+") as b:
        a["x"] = 1
        return "x" in b

def write_to_read_only():
    with h5py.File("existing", "r") as file:
        file["x"][0] = 1

def create_in_read_only():
    with h5py.File("existing", "r") as file:
        file.create_dataset("y", data=numpy.arange(3))

def truncate_open_file():
    with h5py.File("existing", "r"):
        h5py.File("existing", "w")

with open("text", "w") as file:
    file.write("no HDF5 file\\n" * 100)
open("empty", "w").close()
os.mkdir("folder")
case("w on a new file", lambda: created("existing", "w"))
for mode in ("r", "r+", "w-", "x"):
    if mode in ("r", "r+"):
        case(f"{mode} on a missing file", lambda: opened("missing", mode))
    else:
        case(f"{mode} on a missing file", lambda: created(f"new{mode}", mode))
    case(f"{mode} on an existing file", lambda: opened("existing", mode))
    case(f"{mode} on a text file", lambda: opened("text", mode))
    case(f"{mode} on an empty file", lambda: opened("empty", mode))
    case(f"{mode} on a folder", lambda: opened("folder", mode))
    case(f"{mode} in a missing folder", lambda: opened("missing/missing", mode))
    case(f"{mode} below a file", lambda: opened("text/missing", mode))
case("a on a missing file", lambda: created("a", "a"))
case("a on an existing file", lambda: opened("existing", "a"))
case("a on a text file", lambda: opened("text", "a"))
case("w on a folder", lambda: opened("folder", "w"))
case("w in a missing folder", lambda: opened("missing/missing", "w"))
case("w on an existing file", lambda: created("existing", "w"))
case("open twice", twice)
case("w on an open file", truncate_open_file)
case("write in mode r", write_to_read_only)
case("create in mode r", create_in_read_only)
case("missing dataset", lambda: h5py.File("existing", "r")["y"])
case("name too long", lambda: opened("n" * 300, "w"))
for path in ("existing", "text", "empty", "missing", "folder"):
    case(f"is_hdf5 {path}", lambda: h5py.is_hdf5(path))
"""

# The same from every rank; all must see the same error.
PARALLEL = """
import h5py
from mpi4py import MPI
comm = MPI.COMM_WORLD

def case(name, path, mode):
    try:
        with h5py.File(path, mode, driver="mpio", comm=comm) as file:
            said = f"opened, {len(file)} links"
    except Exception as error:
        said = type(error).__name__
    for rank, line in enumerate(comm.gather(said) or []):
        print(f"{name}: rank {rank}: {line}")

if comm.rank == 0:
    open("text", "w").write("no HDF5 file")
comm.Barrier()
case("w", "existing", "w")
case("r", "existing", "r")
case("x", "existing", "x")
case("r missing", "missing", "r")
case("r text", "text", "r")
case("w in a missing folder", "missing/missing", "w")
"""


def run_cases(folder, script, env, ranks=0):
    os.mkdir(folder)
    command = [python(), "-c", script]
    result = mpirun(ranks, command, env, cwd=folder) if ranks else run(command, env, cwd=folder)
    return result.out


def check_same(native, found, exact):
    for wanted, got in zip(native.splitlines(), found.splitlines()):
        check(wanted == got or not exact(wanted), f"natively: {wanted}\nunder the connector: {got}")
    check(len(native.splitlines()) == len(found.splitlines()), f"cases are missing:\n{found}")


def test():
    native = run_cases("native", CASES, native_env())
    say(native.strip())
    for line in (
        "r on a missing file: FileNotFoundError errno 2",
        "r+ on a missing file: FileNotFoundError errno 2",
        "x on an existing file: FileExistsError errno 17",
        "a on a missing file: created, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]",
    ):
        check(line in native, f"natively, wanted: {line}\n{native}")
    found = run_cases("bento", CASES, bento_env(stats="stats"))
    check_same(native, found, exact=lambda line: True)
    check_diverted("stats", only=False)

    # Natively, MPI reports here and not the operating system: only success and failure must agree.
    native = run_cases("native-mpi", PARALLEL, native_env(), ranks=3)
    say(native.strip())
    found = run_cases("bento-mpi", PARALLEL, bento_env(stats="stats-mpi"), ranks=3)
    for wanted, got in zip(native.splitlines(), found.splitlines()):
        check(
            ("opened" in wanted) == ("opened" in got),
            f"natively: {wanted}\nunder the connector: {got}",
        )
    check(len(native.splitlines()) == len(found.splitlines()), f"cases are missing:\n{found}")
    check_containers("stats-mpi", processes=3)


if __name__ == "__main__":
    run_test(test)
