#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Says in which state of view_sessions.c a file is, for the HDF5 of this interpreter.

    native_view_state.py        reads names of files from stdin, and answers each with a line:
                                `state K`, `not HDF5`, or `WRONG: reason`
"""

import sys

import h5py
import numpy as np

BIG, BLOCK, SMALL = 90000, 3000, 100
HIDDEN = ".h5bento"


def wanted(session, indices):
    return (session * 1000003 + indices).astype("i4")


def part_of(session):
    """The dataset whose blocks are overwritten in turn."""
    result = wanted(1, np.arange(BIG))
    for k in range(2, session + 1):
        for block in range(k % 4, BIG // BLOCK, 4):
            result[block * BLOCK : (block + 1) * BLOCK] = wanted(k, np.arange(block * BLOCK, (block + 1) * BLOCK))
    return result


def check_state(file):
    session = int(file.attrs["session"])
    names = sorted(name for name in file if name != HIDDEN)
    expected = sorted(["big", "part", "small", f"group {session}"])
    if names != expected:
        return f"WRONG: session {session} with the names {names}"
    for path, values in (
        ("big", wanted(session, np.arange(BIG))),
        (f"group {session}/data", wanted(session, np.arange(BIG))),
        ("part", part_of(session)),
        ("small", wanted(session, np.arange(SMALL))),
    ):
        found = file[path][...]
        wrong = np.flatnonzero(found != values) if found.shape == values.shape else None
        if wrong is None:
            return f"WRONG: session {session}: {path} has the shape {found.shape}"
        if wrong.size:
            first = int(wrong[0])
            return f"WRONG: session {session}: {wrong.size} values of {path}, first at {first}: {found[first]} instead of {values[first]}"
    return f"state {session}"


def state_of(path):
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        # A file that says it is HDF5, and cannot be opened, is a broken view.
        return f"WRONG: HDF5 that does not open: {error}" if h5py.is_hdf5(path) else "not HDF5"
    try:
        with file:
            return check_state(file)
    except Exception as error:
        return f"WRONG: {type(error).__name__}: {error}".replace("\n", " ")


if __name__ == "__main__":
    if sys.argv[1:]:
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1] in ("-h", "--help") else 2)
    for line in sys.stdin:
        print(state_of(line.rstrip("\n")), flush=True)
