#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that make the same metadata call with other arguments: nothing is committed, and each rank is told which call
and what was given. Where they give the same, in whatever words, nothing is refused.

    other_arguments.py                     the test
    mpirun ... other_arguments.py --run    its program
"""

import os
import sys

# Name: what one rank does, what the others do, and what stands in the error.
CASES = {
    "shape": ('file.create_dataset("d", (8,), "i4")', 'file.create_dataset("d", (12,), "i4")', ("8", "12")),
    "largest": (
        'file.create_dataset("d", (8,), "i4", chunks=(4,), maxshape=(None,))',
        'file.create_dataset("d", (8,), "i4", chunks=(4,), maxshape=(80,))',
        ("up to any", "up to 80"),
    ),
    "type": ('file.create_dataset("d", (8,), "i4")', 'file.create_dataset("d", (8,), "f4")', ("4 bytes each (type ",)),
    "byte order": ('file.create_dataset("d", (8,), "<i4")', 'file.create_dataset("d", (8,), ">i4")', ("(type ",)),
    "filters": (
        'file.create_dataset("d", (4096,), "i4", chunks=(1024,), compression=1)',
        'file.create_dataset("d", (4096,), "i4", chunks=(1024,), shuffle=True)',
        ("filter 1 (1)", "filter 2"),
    ),
    "chunks": (
        'file.create_dataset("d", (64,), "i4", chunks=(8,))',
        'file.create_dataset("d", (64,), "i4", chunks=(16,))',
        ("chunks of 8", "chunks of 16"),
    ),
    "fill value": (
        'file.create_dataset("d", (8,), "i4", fillvalue=1)',
        'file.create_dataset("d", (8,), "i4", fillvalue=2)',
        ("filled with 1", "filled with 2"),
    ),
    "extent": (
        'file.create_dataset("d", (4,), "i4", chunks=(4,), maxshape=(None,)).resize((8,))',
        'file.create_dataset("d", (4,), "i4", chunks=(4,), maxshape=(None,)).resize((12,))',
        ("set_extent '8'", "set_extent '12'"),
    ),
    "link": (
        'file.create_group("a"), file.__setitem__("l", h5py.SoftLink("/a"))',
        'file.create_group("a"), file.__setitem__("l", h5py.SoftLink("/b"))',
        ("l -> /a", "l -> /b"),
    ),
    "external link": (
        'file.__setitem__("l", h5py.ExternalLink("x.h5", "/"))',
        'file.__setitem__("l", h5py.ExternalLink("y.h5", "/"))',
        ("l -> x.h5:/", "l -> y.h5:/"),
    ),
    "copy": (
        'file.create_group("a"), file.create_group("b"), file.copy("a", "c")',
        'file.create_group("a"), file.create_group("b"), file.copy("b", "c")',
        ("a -> c", "b -> c"),
    ),
    "committed type": ('file.__setitem__("t", np.dtype("i4"))', 'file.__setitem__("t", np.dtype("i8"))', ("t: 4", "t: 8")),
    # The same in other words: committed.
    "same": (
        'file.create_dataset("d", (2**3,), np.int32, fillvalue=1), file.create_dataset("c", (3,), [("x", "i1"), ("y", "f8")])',
        'file.create_dataset("d", 8, "i4", fillvalue=1.0), file.create_dataset("c", (3,), [("x", "i1"), ("y", "f8")])',
        (),
    ),
}


def run_case(case, other):
    """That rank is the one that differs."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    mine, theirs, words = CASES[case]
    name = f"{case}.h5"
    with h5py.File(name, "w", driver="mpio", comm=comm) as file:
        file.create_group("before")
    file = h5py.File(name, "r+", driver="mpio", comm=comm)
    exec(theirs if comm.rank == other else mine, {"file": file, "h5py": h5py, "np": np})
    for end in (file.flush, file.close):
        try:
            end()
            assert not words, f"{case}, rank {comm.rank}: committed"
        except RuntimeError as error:
            assert "have not made the same collective calls" in str(error), error
            assert words and all(word in str(error) for word in words), error
    comm.barrier()
    with h5py.File(name, "r") as file:
        assert len(file) == (1 if words else 3), list(file)
    print(f"right: {case}", flush=True)
    comm.barrier()


def test():
    found = mpirun(3, [python(), "-B", os.path.abspath(__file__), "--run"], bento_env(H5BENTO_TIMEOUT="20"))
    for case in CASES:
        check(found.out.count(f"right: {case}") == 3, f"{case}: {found.tail()}")
    say(f"{len(CASES)} calls with arguments that differ between ranks")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        for case in CASES:
            run_case(case, len(case) % 2 + 1)
        sys.exit(0)
    from harness import bento_env, check, mpirun, python, run_test, say

    run_test(test, containers=len(CASES))
