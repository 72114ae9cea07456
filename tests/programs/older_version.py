#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Containers of older format versions (tests/data/containers) are read, verified, exported and written on, by their own rules."""

import json
import lzma
import os
import struct
import sys

from harness import SOURCE, Skip, REHEARSAL, bento_env, built, check, native_env, python, run, run_test, say

READ = """
import sys, h5py, numpy as np
turn = int(sys.argv[2])
with h5py.File(sys.argv[1], "r") as f:
    for row in range(2):
        assert (f["large"][row] == np.arange(150000) // 1000 + turn).all(), (row, f["large"][row])
        assert (f["large"][row, 70000:70003] == np.arange(70000, 70003) // 1000 + turn).all()
        assert (f["small"][row] == np.arange(7) + 10 * row + turn).all(), (row, f["small"][row])
print("right")
"""
WRITE = """
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "r+") as f:
    for turn in range(2, int(sys.argv[2]) + 1):
        for row in range(2):
            f["large"][row] = np.arange(150000) // 1000 + turn
            f["small"][row] = np.arange(7) + 10 * row + turn
        f.flush()
"""


def version_of(path):
    """Of its newest root."""
    with open(path, "rb") as file:
        head = file.read(1 << 20)
    at = head.index(b"BNTOROOT")
    return struct.unpack_from("<I", head, at + 8)[0]


def streams_of(path):
    """What the checker says of each stream of records."""
    import check_fti
    import check_sion

    report = check_sion.check_container(path, bento=True)
    check(not report.problems, f"{path}: {report.problems[:3]}")
    found = []
    for number, task in enumerate(report.container.tasks):
        if task.local != report.container.files[task.file].ntasks - 1 and sum(task.sizes):
            found.append(check_fti.check_stream(report.container.stream(number)))
    report.container.close()
    check(all(one.ok for one in found), f"{path}: {[one.problems[:2] for one in found]}")
    return found


def look(path, turn):
    """The right values, also with everything verified, and a sound container of version 3."""
    for settings in ("bento", "bento verify=all"):
        check(run([python(), "-c", READ, path, turn], bento_env(string=settings)).out == "right\n", "other values")
    verdict = run([built("bin", "h5bento"), "verify", path], native_env())
    check(version_of(path) == 3, f"{path}: version {version_of(path)}")
    found = streams_of(path)
    check(all(one.kind == "md5" and one.gate is None and one.fillers for one in found), [one.summary() for one in found])
    say(f"step of turn {turn}: {verdict.out.strip().splitlines()[-1]}; {len(found)} streams, {found[0].summary()}")


def version3_md5():
    if REHEARSAL:
        raise Skip("native files are no containers")
    sys.path.insert(0, os.path.join(SOURCE, "tests", "checkers"))
    path = "version3.h5"
    with lzma.open(os.path.join(SOURCE, "tests", "data", "containers", "version3_md5.h5.xz")) as packed:
        with open(path, "wb") as file:
            file.write(packed.read())
    look(path, 1)
    for turn in (2, 5):
        run([python(), "-c", WRITE, path, turn], bento_env(string="bento"))
        look(path, turn)
    for form in ("fti", "fti16"):
        run([built("bin", "h5bento"), "export", path, form, "--format", form], native_env())
    answer = json.loads(run([built("bin", "h5bento"), "info", "--json", path], native_env()).out)
    check(answer["format_version"] == 3, f"info says version {answer['format_version']}")
    run([built("bin", "h5bento"), "repair", path], native_env())
    look(path, 5)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run_test(version3_md5)
