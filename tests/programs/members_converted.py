#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Members of a compound that have the same type in memory and in the file are copied; HDF5 converts only the others. By the
plugin as programs load it: a test that links HDF5 did not see that the plugin converted all of them."""

from harness import Stats, bento_env, check, python, run, run_test, say

COUNT = 100_000

PROGRAM = f"""
import sys
import h5py
import numpy as np

pair = np.dtype([("a", "<i4"), ("b", "<f8")])
whole = np.zeros({COUNT}, pair)
whole["a"] = np.arange({COUNT})
whole["b"] = whole["a"] / 2

def one(member, kind):
    return np.zeros({COUNT}, [(member, kind)])

if sys.argv[1] == "write":
    with h5py.File("c.h5", "w") as file:
        data = file.create_dataset("d", ({COUNT},), pair)
        for member in "ab":
            part = one(member, pair[member])
            part[member] = whole[member]
            data.id.write(h5py.h5s.ALL, h5py.h5s.ALL, part)
else:
    with h5py.File("c.h5", "r") as file:
        part = one(sys.argv[2], sys.argv[3])
        file["d"].id.read(h5py.h5s.ALL, h5py.h5s.ALL, part)
        assert (part[sys.argv[2]] == whole[sys.argv[2]]).all()
"""


def converted(*arguments):
    """Elements that HDF5 converted in the program with these arguments."""
    stats = f"{'-'.join(arguments).replace('>', '')}.stats"
    run([python(), "-c", PROGRAM, *arguments], env=bento_env(stats=stats), timeout=60)
    lines = Stats(stats).lines
    check(len(lines) == 1, f"{len(lines)} lines of statistics")
    return lines[0]["elements_converted"]


def test():
    for wanted, *arguments in (
        (0, "write"),
        (0, "read", "a", "<i4"),
        (0, "read", "b", "<f8"),
        (COUNT, "read", "a", ">i4"),
    ):
        found = converted(*arguments)
        say(f"{' '.join(arguments)}: {found} elements converted")
        check(found == wanted, f"{found} elements converted, {wanted} wanted")


run_test(test)
