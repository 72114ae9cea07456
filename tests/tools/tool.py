# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the program h5bento share: running it, and containers of each kind."""

import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))

from harness import bento_env, built, check, mpirun, native_env, python, run  # noqa: E402

MARK = ("AddressSanitizer", "UndefinedBehavior", "terminate called", "Segmentation")


def h5bento(*arguments, ok=(0,), env=None, timeout=60, **more):
    """Runs the program. It must neither crash nor hang, whatever its input is."""
    result = run([built("bin", "h5bento"), *arguments], env or native_env(), ok=None, timeout=timeout, **more)
    shown = f"h5bento {' '.join(map(str, arguments))}: status {result.status}\n{result.tail()}"
    check(result.status in (0, 1, 2), f"it crashed: {shown}")
    check(not any(mark in result.err for mark in MARK), f"it crashed: {shown}")
    check(ok is None or result.status in ok, shown)
    if result.status == 2:
        check(result.err.strip() or "problem" in result.out, f"no reason is given: {shown}")
    return result


def answer(*arguments, **more):
    """The same with --json: one object, whose status is the exit status."""
    result = h5bento(*arguments, "--json", **more)
    try:
        value = json.loads(result.out)
    except ValueError as error:
        check(False, f"{arguments}: no JSON: {error}\n{result.out[:500]}")
    check(value["status"] == result.status, f"{arguments}: JSON says {value['status']}, the shell {result.status}")
    return value


WRITE = """
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as file:
    data = file.create_dataset("group/data", (40, 25), "f8", maxshape=(None, 25), chunks=(10, 25))
    plain = file.create_dataset("plain", (1000,), "<i4")
    packed = file.create_dataset("packed", (64, 64), "<i4", chunks=(16, 16), compression="gzip", shuffle=True)
    file["text"] = "a string"
    file["soft"] = h5py.SoftLink("/plain")
    file["hard"] = plain
    file["outside"] = h5py.ExternalLink("other.h5", "/x")
    file["type"] = np.dtype([("a", "i4"), ("b", "f8")])
    data.attrs["unit"] = "m"
    for step in range(int(sys.argv[2])):
        data[...] = np.arange(1000).reshape(40, 25) + 1000 * step
        if step == 0:
            plain[...] = np.arange(1000)
            packed[...] = np.arange(4096).reshape(64, 64)
        file.flush()
"""


def write(path, steps=1, string=None):
    """A container with objects of each kind; /group/data is written in each step."""
    run([python(), "-c", WRITE, path, steps], bento_env(string=string))


def write_ranks(path, ranks=4, string=None, *options):
    """A container written by several ranks, with a step per flush."""
    mpirun(ranks, [built("examples", "heat"), *options, path], bento_env(string=string))


def copy(path, to):
    """A container without its holes filled, with all physical files."""
    run(["cp", "--sparse=always", path, to], native_env())
    for part in range(1, 100):
        name = f"{path}.{part:06}"
        if not os.path.exists(name):
            break
        shutil.copyfile(name, f"{to}.{part:06}")


def flip(path, offset, mask=1):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)
        file.seek(offset)
        file.write(bytes([byte[0] ^ mask]))


def content(path):
    with open(path, "rb") as file:
        return file.read()
