#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""A wrong connector string is refused with the list of known keys, and a right one is accepted.

HDF5 itself goes on with its native connector when a connector cannot be set up, so a refusal must
also keep the program from writing: otherwise a misspelt key would silently cost what it was meant
to bring.
"""

import os

from harness import (
    PASS_THROUGH,
    bento_env,
    built,
    check,
    check_container,
    mpirun,
    run,
    run_test,
    say,
)
import harness

# Those that everything stands on; later ones only make the list longer.
KEYS = ("align", "checksum", "chunk", "files", "stats", "timeout")

# Connector string, and what the message must contain beside the offending word.
WRONG_KEYS = (
    ("bento chunks=4M", "chunks"),
    ("bento chunk=4M;colour=red", "colour"),
    ("bento compression=zstd;", "compression"),
)
WRONG_VALUES = (
    ("bento chunk=lots", "lots"),
    ("bento timeout=-1", "timeout"),
    ("bento checksum=crc7", "crc7"),
    ("bento files=0", "files"),
    ("bento chunk", "chunk"),
    ("bento chunk=8T", "do not fit a physical file"),
    ("bento durability=forever", "forever"),
)
RIGHT = (
    "bento",
    "bento chunk=8M",
    "bento checksum=none;chunk=8M;",
    "bento timeout=30;chunk=4194304;checksum=xxh3",
    "bento under_vol=0;under_info={};chunk=4M",
    "bento chunk=64M;under_vol=0;under_info={}",
)


def particles(path, string, ranks, **more):
    """Its result; what it says on standard error goes to the file `said`."""
    command = [built("examples", "particles"), "--particles-per-rank", 100, "--steps", 1, path]
    # MPICH's mpirun loses output of a rank that aborts.
    command = ["sh", "-c", 'exec "$@" 2>>said', "sh", *command]
    env = bento_env(string=string, **more)
    return mpirun(ranks, command, env, ok=None) if ranks else run(command, env, ok=None)


def said():
    with open("said", encoding="utf-8") as file:
        text = file.read()
    os.remove("said")
    return text


def check_refused(string, words, ranks):
    path = "refused.h5"
    result = particles(path, string, ranks)
    text = said()
    for word in words:
        check(
            word in text,
            f"'{string}' on {ranks} ranks: the message does not name '{word}':\n{text}{result.tail()}",
        )
    check(
        result.status != 0,
        f"'{string}' on {ranks} ranks: the program went on as if nothing was wrong",
    )
    check(not os.path.exists(path), f"'{string}' on {ranks} ranks: a file was written all the same")


def test():
    if harness.REHEARSAL:
        # No connector of HDF5's own has keys: only that the program runs with what it is given.
        check(
            particles("a.h5", PASS_THROUGH, 2).status == 0,
            "the program fails with HDF5's own connectors",
        )
        say("rehearsal: strings not checked")
        return
    for ranks in (0, 2):
        for string, word in WRONG_KEYS:
            check_refused(string, (word, *KEYS), ranks)
        for string, word in WRONG_VALUES:
            check_refused(string, (word,), ranks)
    say(f"refused: {len(WRONG_KEYS) + len(WRONG_VALUES)} strings")
    for number, string in enumerate(RIGHT):
        path = f"accepted-{number}.h5"
        result = particles(path, string, 2)
        check(result.status == 0, f"'{string}' was refused:\n{said()}{result.tail()}")
        check_container(path)
    say(f"accepted: {len(RIGHT)} strings")
    # A variable for each key; the string wins over it.
    check(
        particles("env.h5", "bento", 0, H5BENTO_CHUNK="lots").status != 0,
        "H5BENTO_CHUNK was not looked at",
    )
    check(
        particles("env.h5", "bento chunk=8M", 0, H5BENTO_CHUNK="4M").status == 0,
        "string and variable together",
    )


if __name__ == "__main__":
    run_test(test, containers=7, unhashed={"accepted-2.h5": "checksum=none"})
