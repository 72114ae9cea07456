#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The example programs under the connector: written on 4 ranks, read on others, compared.

examples.py quick | full
"""

import os
import sys

from harness import (
    READ_BACK,
    bento_env,
    built,
    check,
    check_all_containers,
    check_container,
    check_diverted,
    check_equal,
    hdf5_tool,
    mpirun,
    native_env,
    python,
    run,
    run_test,
    say,
    some,
)

PARTICLE_BYTES = 63  # of the eight variables: 8 + 4 + 2 + 1 + 4 + 8 + 12 + 24
RANKS = 4


def test_particles(transfer, count, steps, readers):
    program = built("examples", "particles")
    size = PARTICLE_BYTES * count * RANKS * steps
    arguments = [f"--{transfer}", "--particles-per-rank", count, "--steps", steps]
    mpirun(RANKS, [program, *arguments, "native.h5"], native_env())
    result = mpirun(RANKS, [program, *arguments, "bento.h5"], bento_env(stats="stats-write"))
    say(result.out.strip())
    check_container("bento.h5")
    check_diverted("stats-write", written=size, processes=RANKS)
    for ranks in readers:
        env = bento_env(stats=f"stats-read-{ranks}")
        result = mpirun(ranks, [program, "--verify", f"--{transfer}", "bento.h5"], env)
        check(" 0 wrong" in result.out, f"nothing was verified:\n{result.tail()}")
        check_diverted(f"stats-read-{ranks}", written=0, read=size, processes=ranks)
    say("  " + check_equal("native.h5", "bento.h5"))
    run([hdf5_tool("h5diff"), "native.h5", "bento.h5"], bento_env())
    clean()


def test_heat(transfer, rows, columns, steps, readers):
    program = built("examples", "heat")
    outputs = steps // 2 + 1
    field, times = 8 * rows * columns * outputs, 8 * outputs
    arguments = [
        f"--{transfer}",
        "--rows",
        rows,
        "--columns",
        columns,
        "--steps",
        steps,
        "--output-every",
        2,
    ]
    mpirun(RANKS, [program, *arguments, "native.h5"], native_env())
    result = mpirun(RANKS, [program, *arguments, "bento.h5"], bento_env(stats="stats-write"))
    say(result.out.strip())
    check_container("bento.h5")
    check_diverted("stats-write", written=field + times, processes=RANKS)
    for ranks in readers:
        env = bento_env(stats=f"stats-read-{ranks}")
        result = mpirun(ranks, [program, "--verify", f"--{transfer}", "bento.h5"], env)
        check(" 0 values wrong" in result.out, f"nothing was verified:\n{result.tail()}")
        check_diverted(
            f"stats-read-{ranks}", written=0, read=field + times * ranks, processes=ranks
        )
    say("  " + check_equal("native.h5", "bento.h5"))
    run([hdf5_tool("h5diff"), "native.h5", "bento.h5"], bento_env())
    clean()


def test_trees():
    """The tree that read_back.py prints is the same on any number of ranks, and natively."""
    program = built("examples", "particles")
    mpirun(
        RANKS,
        [program, "--particles-per-rank", 1000, "--steps", 2, "particles.h5"],
        bento_env(stats="stats"),
    )
    check_container("particles.h5")
    os.mkdir("native")
    mpirun(
        RANKS,
        [program, "--particles-per-rank", 1000, "--steps", 2, "particles.h5"],
        native_env(),
        cwd="native",
    )
    wanted = run([python(), READ_BACK, "particles.h5"], native_env(), cwd="native").out
    check(len(wanted.splitlines()) == 23, f"unexpected tree:\n{wanted}")
    check(
        run([python(), READ_BACK, "particles.h5"], bento_env()).out == wanted,
        "the serial tree differs",
    )
    for ranks in (1, 3):
        found = mpirun(ranks, [python(), READ_BACK, "--mpi", "particles.h5"], bento_env()).out
        check(found == wanted, f"the tree differs on {ranks} ranks:\n{found}")
    clean()


def clean():
    check_all_containers(".")
    for name in os.listdir():
        if os.path.isfile(name):
            os.remove(name)


def test(tier):
    if tier == "quick":
        test_particles("independent", 1000, 2, (3,))
        test_heat("independent", 12, 37, 6, (3,))
        return
    readers = some(2, (1, 5, 3, 4))
    for transfer in ("independent", "collective"):
        test_particles(transfer, 20000, 3, readers)
        test_heat(transfer, 64, 203, 20, readers)
    test_heat("collective", 5, 3, 4, (2,))  # a writer without any column
    test_trees()


if __name__ == "__main__":
    if sys.argv[1:] not in (["quick"], ["full"]):
        sys.exit("usage: examples.py quick | full")
    run_test(test, sys.argv[1], containers=2 if sys.argv[1] == "quick" else 6)
