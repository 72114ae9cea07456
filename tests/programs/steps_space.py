#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Many commits of the same amount of data take bounded space, and bytes written per commit that stay the same.

    steps_space.py overwrite COUNT MIB        4 ranks overwrite a dataset of MIB MiB; each time committed: the allocated
                                              size is never more than 2 x the data + 2 MiB
    steps_space.py rotate COUNT MIB           the same, each rank another part each time
    steps_space.py attributes COUNT DATASETS  one attribute changed before each of COUNT flushes of a file with many datasets
"""

import sys

import harness
from harness import bento_env, built, check, check_container, check_diverted, mpirun, run_test, say
from harness import parse_lines

MIB = 1 << 20
RANKS = 4


def sizes_of(result, count):
    """(apparent, allocated) at the sampled moments and after the close."""
    found = [(int(m[1]), int(m[2])) for m in parse_lines(r"size (\d+) (\d+)", result.out)]
    check(len(found) >= min(count, 20) + 1, f"only {len(found)} sizes were sampled:\n{result.tail()}")
    return found


def shown(sizes):
    most = max(allocated for _, allocated in sizes)
    apparent, allocated = sizes[-1]
    return (
        f"allocated {allocated / MIB:.2f} MiB at the end, {most / MIB:.2f} at most of {len(sizes)} samples; "
        f"apparent {apparent / MIB:.2f} MiB"
    )


def overwrite(count, mib, how="overwrite"):
    count, size = int(count), int(mib) * MIB
    command = [built("tests", "steps_space"), "x.h5", how, count, size]
    result = mpirun(RANKS, command, bento_env(stats="stats"), timeout=1200)
    check("good" in result.out.split(), f"the last values are not the last ones written:\n{result.tail()}")
    check_container("x.h5")
    check_diverted("stats", written=count * size, read=size, processes=RANKS)
    sizes = sizes_of(result, count)
    say(f"{count} overwrites of {mib} MiB in {result.seconds:.1f} s: {shown(sizes)}")
    if not harness.REHEARSAL:
        most = max(allocated for _, allocated in sizes)
        check(most <= 2 * size + 2 * MIB, f"{most} bytes are allocated, more than 2 x {size} + 2 MiB")


def rotate(count, mib):
    overwrite(count, mib, "rotate")


def attributes(count, datasets):
    count, datasets = int(count), int(datasets)
    check(count >= 100, "at least 100 flushes")
    command = [built("tests", "steps_space"), "x.h5", "attributes", count, datasets]
    result = mpirun(RANKS, command, bento_env(stats="stats"), timeout=1200)
    check("good" in result.out.split(), f"the last values are not the last ones written:\n{result.tail()}")
    check_container("x.h5")
    check_diverted("stats", written=datasets * 64, processes=RANKS)
    flushes = [int(m[1]) for m in parse_lines(r"flush \d+ (\d+)", result.out)]
    check(len(flushes) == count, f"{len(flushes)} of {count} flushes were measured")
    part = count // 10
    first, last = sum(flushes[:part]) / part, sum(flushes[-part:]) / part
    sizes = sizes_of(result, count)
    say(
        f"{count} flushes with {datasets} datasets in {result.seconds:.1f} s: {first:.0f} bytes written for each of the "
        f"first {part}, {last:.0f} for each of the last {part}, {max(flushes)} at most; {shown(sizes)}"
    )
    if harness.REHEARSAL:
        return
    check(min(flushes) > 0, "a flush wrote nothing: the measure is wrong")
    check(last <= 1.1 * first + 512, "a flush writes more and more")
    # The metadata itself takes about 550 bytes per dataset; two generations and the room of the tables.
    settled, most = sizes[0][1], max(allocated for _, allocated in sizes[:-1])
    check(most <= settled + MIB, f"the file grew from {settled} to {most} allocated bytes by flushes alone")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    known = {"overwrite": overwrite, "rotate": rotate, "attributes": attributes}
    if len(sys.argv) != 4 or sys.argv[1] not in known:
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2)
    run_test(known[sys.argv[1]], *sys.argv[2:])
