#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""A rank never comes to H5Fclose: with timeout=5 the others return an error that names it."""

import os
import re
import sys

from harness import (
    ANY,
    Failure,
    bento_env,
    built,
    check,
    check_container,
    mpirun,
    python,
    run,
    run_test,
    say,
)
import harness

RANKS = 4
LEAVER = 2
DEADLINE = 5  # given to the connector
LIMIT = 15  # of patience

# The step committed before the rank left is still there.
READ = """
import h5py, numpy
with h5py.File("{path}", "r") as file:
    found = file["x"][...]
assert (found == numpy.arange({count})).all(), found
"""


def test_one(how):
    path, result = f"{how}.h5", f"{how}.result"
    env = bento_env(string=f"bento timeout={DEADLINE}")
    command = [built("tests", "rank_leaves"), path, result, how, LEAVER, LIMIT]
    # The exit status is that of MPI_Abort, whatever happened.
    mpirun(RANKS, command, env, timeout=LIMIT + 25, ok=ANY)
    for rank in range(RANKS):
        if rank == LEAVER:
            continue
        if not os.path.exists(f"{result}.{rank}"):
            raise Failure(f"{how}: rank {rank} did not come back from H5Fclose within {LIMIT} s")
        with open(f"{result}.{rank}") as file:
            text = file.read()
        say(f"{how}: rank {rank}: {text.splitlines()[0]}")
        found = re.match(r"H5Fclose returned (-?\d+) after ([\d.]+) s", text)
        check(int(found[1]) < 0, f"{how}: rank {rank}: H5Fclose reports success")
        check(float(found[2]) < LIMIT, f"{how}: rank {rank}: H5Fclose took {found[2]} s")
        check(
            re.search(rf"\branks?\b[^\n]*\b{LEAVER}\b", text),
            f"{how}: rank {rank}: the error does not name rank {LEAVER}:\n{text}",
        )
    check_container(path)
    script = READ.format(path=path, count=RANKS * 4096)
    run([python(), "-c", script], bento_env())


def test():
    if harness.REHEARSAL:
        # Natively the others wait for ever: the test must notice just that.
        try:
            test_one("sleep")
        except Failure as reason:
            check("did not come back" in str(reason), f"unexpected: {reason}")
            say(f"rehearsal: natively: {reason}")
            return
        raise Failure("natively, H5Fclose did not wait for the rank that left")
    for how in ("sleep", "stop"):
        test_one(how)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run_test(test, containers=0, unfinished={"*.h5": "a rank leaves, so no close comes to its end"})
