#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""HDF5's h5perf on 4 ranks under the connector: contiguous and interleaved blocks, contiguous and
chunked datasets, independent and collective transfer, 1-D and 2-D. It checks what it reads itself
(-D v); its files must also equal those of a native run."""

import os
import re
import sys

from harness import (
    bento_env,
    check,
    check_all_containers,
    check_container,
    check_diverted,
    check_equal,
    hdf5_tool,
    mpirun,
    native_env,
    run,
    run_test,
    say,
    some,
)

RANKS = 4
FILES = DATASETS = 2
COMMON = ["-A", "phdf5", "-D", "v", "-p", RANKS, "-P", RANKS, "-i", 1, "-d", DATASETS, "-F", FILES]
# Options of the sizes, and the bytes of one dataset.
ONE_D = ["-e", "64K", "-B", "4K", "-x", "16K", "-X", "16K"], RANKS * 65536
TWO_D = ["-g", "-e", 64, "-B", 16, "-x", 32, "-X", 32], (RANKS * 64) ** 2


def run_h5perf(folder, options, env):
    os.mkdir(folder)
    result = mpirun(
        RANKS,
        [hdf5_tool("h5perf"), *COMMON, *options],
        dict(env, HDF5_NOCLEANUP="1"),
        timeout=120,
        cwd=folder,
    )
    check(
        not re.search("error", result.text, re.IGNORECASE),
        f"h5perf reports an error:\n{result.tail()}",
    )
    # It ends with 0 whatever happens.
    check("Read Open-Close" in result.out, f"h5perf did not read:\n{result.tail()}")
    return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".h5"))


def test_one(options, dataset_bytes):
    say("h5perf " + " ".join(map(str, options)))
    native = run_h5perf("native", options, native_env())
    found = run_h5perf("bento", options, bento_env(stats="stats"))
    size = dataset_bytes * DATASETS * FILES
    check_diverted("stats", written=size, read=size, processes=RANKS)
    check(len(found) == len(native) == FILES, f"wanted {FILES} files: {native}, {found}")
    for path_a, path_b in zip(native, found):
        check_container(path_b)
        check_equal(path_a, path_b)
        run([hdf5_tool("h5diff"), path_a, path_b], bento_env())
    check_all_containers("bento")
    for path in (*native, *found, "stats"):
        if os.path.exists(path):
            os.remove(path)
    os.rmdir("native")
    # Whatever else a container leaves behind.
    for name in os.listdir("bento"):
        os.remove(os.path.join("bento", name))
    os.rmdir("bento")


# Interleaved, chunked, collective. Any two of these, and of the dimensions, are met in all four ways by the first six.
WAYS = (
    (ONE_D, []),
    (TWO_D, ["-I", "-c", "-C"]),
    (ONE_D, ["-I", "-c"]),
    (ONE_D, ["-c", "-C"]),
    (TWO_D, ["-C"]),
    (TWO_D, ["-I"]),
    (ONE_D, ["-I"]),
    (ONE_D, ["-c"]),
    (ONE_D, ["-C"]),
    (ONE_D, ["-I", "-C"]),
    (ONE_D, ["-I", "-c", "-C"]),
    (TWO_D, []),
    (TWO_D, ["-c"]),
    (TWO_D, ["-I", "-c"]),
    (TWO_D, ["-c", "-C"]),
    (TWO_D, ["-I", "-C"]),
)


def test(ways):
    for (sizes, dataset_bytes), flags in ways:
        test_one(sizes + flags, dataset_bytes)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    ways = some(6, WAYS)
    run_test(test, ways, containers=len(ways) * FILES)
