#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""commit=SECONDS: a serial program that never flushes loses at most so many seconds, and the time of a call.

    timed_commits.py calls         which calls commit, and what they do with errors
    timed_commits.py kill COUNT SECONDS
"""

import os
import random
import signal
import subprocess
import sys
import time

from harness import bento_env, built, check, mpirun, python, run, run_test, say

# ---- which calls ---------------------------------------------------------------------------------

CALLS = """
import json, subprocess, sys, time
import h5py, numpy as np
from h5py import h5d, h5g, h5o, h5p, h5s, h5t

tool = sys.argv[1]
PAUSE = 0.25

def steps(path="a.h5"):
    said = subprocess.run([tool, "info", "--json", path], capture_output=True, text=True)
    return json.loads(said.stdout)["newest_step"] if said.returncode == 0 else 0

def commits(what, call, wanted, path="a.h5"):
    time.sleep(PAUSE)
    before = steps(path)
    result = call()
    after = steps(path)
    if after - before != wanted:
        print(f"{what}: {after - before} commits, not {wanted}")
    return result

file = h5py.File("a.h5", "w")
if steps() != 0:
    print("a commit before its time")
# Each changes something, or there would be nothing for the next one to commit.
group = commits("group create", lambda: file.create_group("g"), 1)
space, scalar = h5s.create_simple((4,), (h5s.UNLIMITED,)), h5s.create(h5s.SCALAR)
chunked = h5p.create(h5p.DATASET_CREATE)
chunked.set_chunk((4,))
low = commits("dataset create", lambda: h5d.create(file.id, b"d", h5t.NATIVE_INT32, space, chunked), 1)
commits("dataset write", lambda: low.write(h5s.ALL, h5s.ALL, np.arange(4, dtype="i4")), 1)
commits("set extent", lambda: low.set_extent((8,)), 1)
commits("direct chunk write", lambda: low.write_direct_chunk((4,), np.arange(4, dtype="i4").tobytes()), 1)
attribute = commits("attribute create", lambda: h5py.h5a.create(group.id, b"a", h5t.NATIVE_INT32, scalar), 1)
commits("attribute write", lambda: attribute.write(np.array(7, "i4")), 1)
commits("attribute rename", lambda: h5py.h5a.rename(group.id, b"a", b"b"), 1)
commits("attribute delete", lambda: h5py.h5a.delete(group.id, b"b"), 1)
commits("datatype commit", lambda: h5t.NATIVE_INT32.copy().commit(file.id, b"t"), 1)
commits("soft link", lambda: file.id.links.create_soft(b"s", b"/g"), 1)
commits("hard link", lambda: file.id.links.create_hard(b"h", file.id, b"g"), 1)
commits("link move", lambda: file.id.links.move(b"s", file.id, b"s2"), 1)
commits("link delete", lambda: file.id.unlink(b"s2"), 1)
commits("object copy", lambda: h5o.copy(file.id, b"d", file.id, b"d2"), 1)
commits("comment", lambda: h5o.set_comment(file.id, b"said", obj_name=b"g"), 1)
file["d"][0] = 9  # not committed
commits("reads", lambda: (file["d"][...], list(file), file["g"].attrs.keys(), file.visit(lambda name: None)), 0)

# A commit is one of what was there before the call.
time.sleep(PAUSE)
file["d"][1] = 10
number = steps()
def inner(name, item):
    time.sleep(PAUSE)
    item.attrs["visited"] = 1
    seen.append(steps())
seen = []
time.sleep(PAUSE)
file.visititems(inner)
if set(seen) != {number}:
    print(f"commits inside an iteration: {number}, {seen}")
commits("the call after the iteration", lambda: file.attrs.create("after", 1), 1)

# The error of the call is its own, and none is left of a commit.
time.sleep(PAUSE)
try:
    h5g.create(file.id, b"g")
    print("a group was made twice")
except ValueError as error:
    if "name already exists" not in str(error):
        print(f"the call fails otherwise: {error}")
commits("with nothing to commit", lambda: None, 0)

# Each file has its own time, and a flush begins it anew.
with h5py.File("b.h5", "w") as other:
    other["x"] = 1
    time.sleep(PAUSE)
    file.attrs["count"] = 1
    if steps("b.h5") != 0:
        print("a call on another file commits")
    other.flush()
    before = steps("b.h5")
    other["y"] = 1
    if steps("b.h5") != before:
        print("a flush does not begin the time anew")
file.close()
with h5py.File("a.h5", "r+") as file:
    commits("a later session", lambda: file.attrs.create("one", 1), 0)
    commits("its second call", lambda: file.attrs.create("two", 1), 1)
with h5py.File("a.h5", "r") as file:
    time.sleep(PAUSE)
    if not (file["d"][:2] == (9, 10)).all() or file["g"].attrs["visited"] != 1:
        print("what was written is not there")
print("done")
"""

# The process may write no more than so much, as on a disk that is full.
FAILS = """
import resource, signal, time
import h5py, numpy as np
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = h5py.File("full.h5", "w")
file["x"] = np.zeros(1000)
file.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
file["x"][:] = 1
time.sleep(0.25)
try:
    file.create_group("late")
    print("nothing failed")
except Exception as error:
    if "errno = 27" not in str(error) or "commit=0.2" not in str(error):
        print(f"another error: {error}")
if "late" in file:
    print("the call that failed did its work")
file.create_group("soon")  # not tried again before its time
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
time.sleep(0.25)
file.create_group("late")
file.close()
with h5py.File("full.h5", "r") as file:
    if sorted(file) != ["late", "soon", "x"] or not (file["x"][:] == 1).all():
        print("something is missing")
print("done")
"""

RANKS = """
import sys
import h5py
from mpi4py import MPI
def tell(what, comm, mode):
    try:
        with h5py.File("ranks.h5", mode, driver="mpio", comm=comm) as file:
            if mode == "w":
                file.create_dataset("x", (4,), "i4")
        said = "works"
    except OSError as error:
        said = str(error)
    for line in MPI.COMM_WORLD.allgather(said):
        if MPI.COMM_WORLD.rank == 0:
            print(f"{what}: {line}", flush=True)
tell("create", MPI.COMM_WORLD, "w")
"""


def calls():
    program = run([python(), "-c", CALLS, built("bin", "h5bento")], bento_env(string="bento commit=0.2;keep=all"))
    check(program.out == "done\n", program.out)
    program = run([python(), "-c", FAILS], bento_env(string="bento commit=0.2"))
    check(program.out == "done\n", program.out)
    several()


def several():
    said = mpirun(2, [python(), "-c", RANKS], bento_env(string="bento commit=30")).out
    check(said.count("commit=30 is for files that one process has open") == 2, f"two ranks: {said}")
    check(not os.path.exists("ranks.h5"), "a file was made all the same")
    said = mpirun(1, [python(), "-c", RANKS], bento_env(string="bento commit=30")).out
    check("create: works" in said, f"one rank of MPI: {said}")


# ---- killed --------------------------------------------------------------------------------------

LOOP = """
import os, sys, time
import h5py, numpy as np
file = h5py.File("run.h5", "w")
data = file.create_dataset("rows", (0, 100), "f8", maxshape=(None, 100), chunks=(10, 100))
row = 0
# h5py sets an attribute in three calls (delete, create, write), and a commit may fall between them.
# modify() is one.
file.attrs["row"] = 0
file.attrs["time"] = time.monotonic()
while True:
    data.resize(row + 1, 0)
    data[row] = row
    if "last" in file:
        del file["last"]
    file["last"] = np.full(50, row)
    row += 1
    file.attrs.modify("row", row)
    file.attrs.modify("time", time.monotonic())
    os.write(1, b".")
    time.sleep(0.002)
"""

READ = """
import h5py, numpy as np
with h5py.File("run.h5", "r") as file:
    rows = file["rows"][...]
    row = int(file.attrs["row"])
    # Commits fall between any two calls of one turn.
    assert len(rows) - row in (0, 1), (len(rows), row)
    assert (rows[:row] == np.arange(row)[:, None]).all(), "rows"
    print(float(file.attrs["time"]))
"""


def kill(count, seconds):
    seed = random.randrange(1 << 30)
    say(f"seed {seed}")
    moments = random.Random(seed)
    oldest = 0.0
    for _ in range(count):
        env = bento_env(string=f"bento commit={seconds}")
        with subprocess.Popen([python(), "-c", LOOP], env=env, stdout=subprocess.PIPE) as writer:
            writer.stdout.read(1)
            time.sleep(seconds * (1.5 + 2 * moments.random()))
            os.kill(writer.pid, signal.SIGKILL)
            end = time.monotonic()
            writer.stdout.read()
        age = end - float(run([python(), "-c", READ], bento_env()).out)
        oldest = max(oldest, age)
        # A call on a busy machine may take a while.
        check(age < seconds + 0.5 + seconds / 2, f"what is left is {age:.2f} s old, commit={seconds}")
    say(f"{count} kills: what was left was at most {oldest:.2f} s old, commit={seconds}")


if __name__ == "__main__":
    if sys.argv[1:] == ["calls"]:
        run_test(calls)
    elif len(sys.argv) == 4 and sys.argv[1] == "kill":
        run_test(lambda: kill(int(sys.argv[2]), float(sys.argv[3])), containers=0, unfinished={"run.h5": "killed"})
    else:
        sys.exit(__doc__)
