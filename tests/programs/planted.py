#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Mistakes planted in the connector (tests/faults/planted_plugin.cpp) are found, whichever program loads it, and
fail the test: without this, a sanitized run that reports nothing proves nothing.

    planted.py MISTAKE=PATTERN ...   each of the mistakes in each kind of program; PATTERN: what is reported
    planted.py program KIND          the test that must notice: one program under the connector
"""

import os
import re
import sys

from harness import HERE, bento_env, build_folder, check, check_container, hdf5_tool, mpirun, python, run, run_test, say

WRITE = """
import h5py, numpy
with h5py.File("x.h5", "w") as file:
    file["x"] = numpy.arange(10000.0)
"""
PARALLEL = """
import h5py, numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
with h5py.File("x.h5", "w", driver="mpio", comm=world) as file:
    data = file.create_dataset("x", (world.size, 10000))
    data[world.rank] = numpy.arange(10000.0)
"""
KINDS = ("python", "tool", "parallel")


def program(kind):
    """Of the mistakes, only those of the program meant: h5dump reads what is written without any."""
    if kind == "parallel":
        mpirun(2, [python(), "-c", PARALLEL], bento_env(), ok=None)
        return
    clean = {"BENTO_PLANTED": ""} if kind == "tool" else {}
    run([python(), "-c", WRITE], bento_env(**clean), ok=None)
    if kind == "tool":
        check_container("x.h5")
        run([hdf5_tool("h5dump"), "x.h5"], bento_env(), ok=None)


def run_planted(kind, mistake):
    folder = os.path.join(build_folder(), "tests", "planted_plugin")
    env = {**os.environ, "HDF5_PLUGIN_PATH": folder, "BENTO_PLANTED": mistake}
    return run([sys.executable, "-B", os.path.join(HERE, "planted.py"), "program", kind], env, ok=None)


def planted(*mistakes):
    for kind in KINDS:
        result = run_planted(kind, "")
        check(result.status == 0, f"{kind}: without a mistake, status {result.status}:\n{result.tail()}")
        for item in mistakes:
            mistake, pattern = item.split("=", 1)
            result = run_planted(kind, mistake)
            found = re.search(pattern, result.out)
            check(result.status == 1 and found, f"{kind}: {mistake} was not found:\n{result.tail()}")
            where = re.search(r"planted_plugin\.cpp:\d+", result.out)
            check(where, f"{kind}: {mistake} is not attributed:\n{result.tail()}")
            say(f"  {kind}, {mistake}: {found.group(0)} in {where.group(0)}")


if __name__ == "__main__":
    if sys.argv[1] == "program":
        run_test(program, sys.argv[2])
    # Those of the programs are gone with their folders, but for what a mistake that kills leaves.
    run_test(planted, *sys.argv[1:], containers=0, unfinished={"x.h5": "a mistake killed its writer"})
