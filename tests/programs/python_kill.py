#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""A checkpointing loop of h5py, killed by SIGKILL at random moments: natively, and with h5bento.enable().

    python_kill.py COUNT

The loop deletes a group and makes it anew, appends to a compressed dataset, counts an attribute up, and flushes. What is
left must be whole: as of the last flush that returned, or of the one in progress. With h5bento each file must be, read
through it and, recovered, by HDF5 alone; natively they are counted only.
"""

import collections
import os
import random
import sys

from harness import SOURCE, build_folder, check, native_env, run, run_test, say

# In one interpreter, that of h5py's wheel: each writer is a fork of it.
PROGRAM = """
import os, random, signal, sys, time
native = sys.argv[1] == "native"
count, seed = int(sys.argv[2]), int(sys.argv[3])
import h5bento, h5py, numpy as np
if not native:
    h5bento.enable()

def write(out):
    file = h5py.File("run.h5", "w")
    for step in range(100000):
        if "group" in file:
            del file["group"]
        group = file.create_group("group")
        for i in range(20):
            group[f"values{i}"] = np.full(200, step)
        if "grown" not in file:
            file.create_dataset("grown", (0,), "i8", maxshape=(None,), chunks=(1000,), compression="gzip")
        file["grown"].resize((step % 50 + 1) * 1500, 0)
        file["grown"][...] = step
        file.attrs["step"] = step
        os.write(out, b"b")
        file.flush()
        os.write(out, b"e")
        if step % 100 == 99:
            file.close()
            file = h5py.File("run.h5", "a")

def state(opener):
    # The step that the file shows as a whole, or what is wrong.
    try:
        file = opener("run.h5", "r")
    except OSError:
        return "cannot be opened"
    try:
        with file:
            step = int(file.attrs["step"])
            whole = all((file[f"group/values{i}"][...] == step).all() for i in range(20))
            grown = file["grown"][...]
            whole = whole and grown.shape == ((step % 50 + 1) * 1500,) and (grown == step).all()
            return step if whole else "is torn"
    except (OSError, KeyError, RuntimeError, ValueError):
        return "is torn"

def judge(shown, begun, ended):
    if ended == 0 and shown == "cannot be opened":
        return "nothing flushed yet"
    if isinstance(shown, int):
        return "whole" if ended - 1 <= shown <= begun - 1 else "of another step"
    return shown

moments = random.Random(seed)
for one in range(count):
    for name in os.listdir("."):
        if name.startswith("run.h5"):
            os.unlink(name)
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            write(into)
        finally:
            os._exit(1)
    os.close(into)
    # Counted in flushes, so that it does not matter how busy the machine is; a few before the first.
    wait = 0 if one % 20 == 0 else moments.randrange(1, 2 * moments.choice((4, 20, 120))) | moments.choice((0, 1, 1))
    marks = b""
    while len(marks) < wait:
        got = os.read(out, wait - len(marks))
        if not got:
            sys.exit("the writer ended by itself")
        marks += got
    time.sleep(moments.random() * moments.choice((0.0001, 0.004)))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    while got := os.read(out, 65536):
        marks += got
    os.close(out)
    begun, ended = marks.count(b"b"), marks.count(b"e")
    inside = "inside a flush" if begun > ended else "between flushes"
    verdict = judge(state(h5py.File), begun, ended)
    print(f"{inside}: {verdict}", flush=True)
    if not native and verdict == "whole":
        if not h5bento.recover("run.h5").sound:
            print("recover finds damage", flush=True)
        h5bento.disable()
        print(f"recovered: {judge(state(h5py.File), begun, ended)}", flush=True)
        h5bento.enable()
"""


def test(count):
    with open("program.py", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    env = native_env(
        PYTHONPATH=os.path.join(SOURCE, "python"),
        PYTHONDONTWRITEBYTECODE="1",
        H5BENTO_WHEEL_PLUGINS=os.path.join(build_folder(), "plugins-serial"),
        H5BENTO_LIBRARY=os.path.join(build_folder(), "lib", "libh5bento.so"),
    )
    seed = str(random.randrange(1 << 30))
    say(f"seed {seed}")
    for way in ("native", "h5bento"):
        os.makedirs(way, exist_ok=True)
        command = [os.environ["H5BENTO_PYTHON_NATIVE"], os.path.abspath("program.py"), way, str(count), seed]
        lines = run(command, env, timeout=3000, cwd=way).out.splitlines()
        for line, times in sorted(collections.Counter(lines).items()):
            say(f"{way:8} {times:4} {line}")
        if way == "h5bento":
            fine = ("inside a flush: whole", "between flushes: whole", "recovered: whole", "nothing flushed yet")
            wrong = [line for line in lines if not line.endswith(fine)]
            check(not wrong, f"{len(wrong)} files are wrong: {wrong[:5]}")
            check(sum("whole" in line for line in lines) >= count, "too few files had a flush")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python_kill.py COUNT")
    run_test(test, int(sys.argv[1]))
