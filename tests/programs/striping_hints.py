#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Hints of an MPI_Info object about stripes: what becomes of them where there are none, and what a program and the
statistics are told of it. (What Lustre is told: tests/core/io/striping_test.cpp.)"""

import json

from harness import bento_env, built, check, mpirun, run_test

UNIT = 1 << 20


def create(path, *hints, **env):
    result = mpirun(2, [built("tests", "striping_hints"), path, *hints], bento_env(stats="stats", **env))
    return dict(line.split(maxsplit=1) for line in result.text.splitlines() if len(line.split()) == 2)


def data_start(path):
    """fsblksize of META1: chunks begin at multiples of it."""
    with open(path, "rb") as file:
        head = file.read(64)
    return int.from_bytes(head[20:24], "little")


def in_statistics(path):
    with open("stats", encoding="utf-8") as lines:
        files = [file for line in lines for file in json.loads(line)["files"] if file["path"] == path]
    return {key: value for file in files for key, value in file.items() if key.startswith("striping")}


def main():
    said = create("hints.h5", "striping_factor", "8", "striping_unit", str(UNIT), "unheard_of", "kept")
    check(said["striping_unit"] == str(UNIT), f"the unit is in use: {said}")
    check(said["striping_factor"] == "none", f"there are no servers here: {said}")
    check(said["unheard_of"] == "kept", f"what is not ours stays: {said}")
    check(data_start("hints.h5") % UNIT == 0, "chunks begin at stripes")
    check(in_statistics("hints.h5") == {"striping_unit": UNIT}, "the statistics say so")

    said = create("none.h5")
    check(said["info"] == "null" and said["striping_unit"] == "none", f"nothing was asked for: {said}")
    check(data_start("none.h5") % UNIT != 0, "chunks lie as ever")
    check(in_statistics("none.h5") == {}, "nothing to say")

    # No power of two: passed over, and not shown.
    said = create("odd.h5", "striping_unit", "1000000")
    check(said["striping_unit"] == "none", f"what is not in use is not shown: {said}")

    # The key goes before the hint.
    said = create("key.h5", "striping_unit", str(UNIT), H5BENTO_STRIPE_SIZE="2M")
    check(said["striping_unit"] == str(2 * UNIT), f"the key holds: {said}")


run_test(main, containers=4)
