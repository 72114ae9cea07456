#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""The module merely present in HDF5_PLUGIN_PATH, no connector chosen: programs behave as without it.

HDF5 asks every module it finds there whenever a file cannot be opened natively, so each case is run
with the module's folder and with an empty one, and exit status, output and exceptions must be the
same."""

import os
import re
import shutil
import sys

from harness import (
    Stats,
    built,
    check,
    hdf5_tool,
    is_container,
    mpirun,
    native_env,
    python,
    require_plugin,
    run,
    run_test,
    say,
    some,
)
import harness

OPEN_ALL = """
import sys, h5py
for path in sys.argv[1:]:
    print(path, "is_hdf5", h5py.is_hdf5(path))
    for mode in ("r", "r+", "a", "w-", "x"):
        try:
            with h5py.File(path, mode) as file:
                print(path, mode, sorted(file))
        except Exception as error:
            print(path, mode, type(error).__name__, getattr(error, "errno", None), error)
"""
OPEN_MPI = """
import sys, h5py
from mpi4py import MPI
for path in sys.argv[1:]:
    try:
        with h5py.File(path, "r", driver="mpio", comm=MPI.COMM_WORLD) as file:
            said = f"{path} {sorted(file)}"
    except Exception as error:
        said = f"{path} {type(error).__name__} {getattr(error, 'errno', None)} {error}"
    for line in MPI.COMM_WORLD.gather(said) or []:
        print(line)
"""


def make_files():
    os.mkdir("files")
    path = os.path.join("files", "ordinary.h5")
    mpirun(
        2,
        [built("examples", "particles"), "--particles-per-rank", 50, "--steps", 1, path],
        native_env(),
    )
    with open(path, "rb") as file:
        ordinary = file.read()
    contents = {
        "text": b"This is no HDF5 file, and no container.\n" * 40,
        "empty": b"",
        "truncated.h5": ordinary[: len(ordinary) // 2],
        "signature": ordinary[:8],
        # What another program's SION container looks like to us: the magic, and nothing of ours.
        "sion": b"sion" + bytes(8191),
        "short_sion": b"sion",
        # An HDF5 file behind a user block that begins like a container.
        "user_block.h5": b"sion" + bytes(508) + ordinary,
    }
    for name, data in contents.items():
        with open(os.path.join("files", name), "wb") as file:
            file.write(data)
    os.mkdir(os.path.join("files", "folder"))
    return ["ordinary.h5", *contents, "folder", "missing"]


def timeless(text):
    """Without what differs from run to run: addresses, the time of day, times and rates. And without what Open MPI says when
    another process without mpirun takes away the folder that such processes share."""
    text = re.sub(r"^\[[^\s:]+:\d+\] mca_sharedfp_sm_component_file_query: .*\n", "", text, flags=re.M)
    return re.sub(r"0x[0-9a-f]+|time = [^,]*,|[0-9.]+ s\b|[0-9.]+ MiB/s", "_", text)


def check_same(command, ranks=0):
    """Runs in both environments; returns the common result."""
    results = []
    env = native_env(
        HDF5_PLUGIN_PATH=os.path.abspath("plugins"), H5BENTO_STATS=os.path.abspath("stats")
    )
    for folder in ("no-plugins", os.environ["HDF5_PLUGIN_PATH"]):
        # Under one name: messages tell where was searched.
        if os.path.lexists("plugins"):
            os.remove("plugins")
        os.symlink(folder, "plugins")
        # Fresh files: opening an empty one for writing makes it an HDF5 file.
        shutil.rmtree("work", ignore_errors=True)
        shutil.copytree("files", "work")
        more = {"env": env, "ok": None, "cwd": "work"}
        results.append(mpirun(ranks, command, **more) if ranks else run(command, **more))
    without, present = results
    name = " ".join(os.path.basename(str(part)) for part in command)[:100]
    check(
        without.status == present.status,
        f"exit status {without.status} without the module, {present.status} with it: {name}\n{present.tail()}",
    )
    for what, a, b in (
        ("output", without.out, present.out),
        ("standard error", without.err, present.err),
    ):
        check(
            timeless(a) == timeless(b),
            f"{what} differs: {name}\n--- without the module\n{a}\n--- with it\n{b}",
        )
    return present


def test():
    require_plugin()
    if harness.REHEARSAL:
        os.environ["HDF5_PLUGIN_PATH"] = os.path.abspath("no-plugins")
    os.mkdir("no-plugins")
    paths = make_files()
    statuses = {}
    for path in paths:
        # All of them open the file in the same way; with the error stack h5dump shows most of what HDF5 says.
        tools = (["h5dump", "--enable-error-stack=2"], ["h5stat"], ["h5dump"], ["h5dump", "-H"])
        for tool in some(1, tools) if path in ("empty", "truncated.h5", "short_sion", "folder") else some(2, tools):
            statuses[tool[0], path] = check_same([hdf5_tool(tool[0]), *tool[1:], path]).status
    check_same([hdf5_tool("h5ls"), "-r", *paths])
    for path in some(4, ("ordinary.h5", "sion", "user_block.h5", "missing", *paths)):
        check_same([hdf5_tool("h5diff"), "ordinary.h5", path])
    check(
        statuses["h5dump", "ordinary.h5"] == 0 and statuses["h5dump", "text"] != 0,
        f"unexpected: {statuses}",
    )
    result = check_same([python(), "-c", OPEN_ALL, *paths])
    check("missing r FileNotFoundError" in result.out, f"unexpected:\n{result.tail()}")
    check_same([python(), "-c", OPEN_MPI, "ordinary.h5", "text", "sion"], ranks=2)
    check_same([built("examples", "particles"), "--verify", "ordinary.h5"], ranks=1)
    # Creation never asks for a module.
    check_same([hdf5_tool("h5mkgrp"), "-p", "new.h5", "/a/b"])
    check(
        not is_container(os.path.join("work", "new.h5")),
        "a container was made without being asked for",
    )
    containers = Stats("stats").files()
    check(not containers, f"opened as containers: {containers}")
    say(f"{len(paths)} files, all as without the module")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run_test(test, containers=0, unfinished={"*sion": "files that only begin like a container", "user_block.h5": "the same"})
