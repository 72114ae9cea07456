#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that fork while they have a container open: only the process that opened it changes it."""

import sys

import harness
from harness import bento_env, built, check, mpirun, python, run, run_test, say

# A child that ends like any program; its parent goes on.
SERIAL = """
import os, sys
import h5py, numpy

path, how = sys.argv[1:]
file = h5py.File(path, "w")
data = file.create_dataset("x", (1000, 100), "f8")
data[:] = 1
file.flush()
data[:500] = numpy.full((500, 100), 2.0)  # not committed
child = os.fork()
if child == 0:
    def tell(what, call):
        try:
            call()
            print("child", what, "works")
        except Exception as error:
            print("child", what, "fails:", error)
    tell("read", lambda: print("child reads", data[600, 7]))
    tell("pending", lambda: data[0, 0])
    tell("write", lambda: data.__setitem__(5, 3))
    tell("group", lambda: file.create_group("of the child"))
    tell("create", lambda: file.create_dataset("big", (1000, 1000), "f8", data=numpy.ones((1000, 1000))))
    tell("flush", file.flush)
    if how == "close":
        tell("close", file.close)
    if how == "again":
        with h5py.File(path, "r") as again:
            tell("fresh", lambda: print("fresh", again["x"][0, 0]))
        tell("writer", lambda: h5py.File(path, "r+"))
    if how == "hard":
        sys.stdout.flush()
        os._exit(0)
    sys.exit(0)
print("parent: child ended", os.waitpid(child, 0)[1], flush=True)
data[500:] = 4
file.close()
with h5py.File(path, "r") as file:
    print("parent", sorted(file), (file["x"][:500] == 2).all(), (file["x"][500:] == 4).all())
"""

POOL = """
import multiprocessing, sys
import h5py

path = sys.argv[1]

def mean(row):
    return float(file["x"][row].mean())

def overtaken(_):
    try:
        return repr(file["x"][0].mean())
    except Exception as error:
        return str(error)

with h5py.File(path, "w") as file:
    file["x"] = [[float(row)] * 50000 for row in range(20)]
    file.flush()
    fork = multiprocessing.get_context("fork")
    with fork.Pool(2) as pool:
        print("pool", sum(pool.map(mean, range(20))))
        for step in range(3):
            file["x"][...] = 100.0 + step
            file.flush()
        print("overtaken", pool.map(overtaken, [0])[0])
with h5py.File(path, "r") as file:
    print("file", (file["x"][:] == 102).all())
"""


# What nobody has committed, in a session in which nothing else is.
PENDING = """
import os, sys
import h5py

path, elements, parallel = sys.argv[1], int(sys.argv[2]), len(sys.argv) > 3
more, rank, barrier = {}, 0, lambda: None
if parallel:
    from mpi4py import MPI
    more, rank, barrier = {"driver": "mpio", "comm": MPI.COMM_WORLD}, MPI.COMM_WORLD.rank, MPI.COMM_WORLD.barrier
file = h5py.File(path, "w", **more)
old = file.create_dataset("old", (elements,), "f8")
new = file.create_dataset("new", (elements,), "f8")
empty = file.create_dataset("empty", (elements,), "f8")
if rank == 0:
    old[:] = 3
if parallel:
    file.flush()
    new[0:1]  # so that this rank has looked once, at nothing
    barrier()
if rank == (1 if parallel else 0):
    new[: elements // 2] = 7
barrier()
child = os.fork()
if child == 0:
    lines = []
    # A number that was a descriptor of the parent's is another file's now.
    with open("other file", "w+b") as other:
        other.write(bytes(1 << 20))
        for _ in range(20):
            os.dup(other.fileno())
        for name, at in (("old", 1), ("new", 0), ("new", elements - 1), ("empty", 0)):
            try:
                lines.append(f"rank {rank}: {name} {at} is {file[name][at]}")
            except Exception as error:
                lines.append(f"rank {rank}: {name} {at} fails: {error}")
    os.write(1, "".join(line + chr(10) for line in lines).encode())
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
barrier()
file.close()
"""


def pending(elements):
    """The child of the one that wrote: of one process."""
    out = run([python(), "-c", PENDING, "pending.h5", elements], bento_env(), merge=True).out
    say(out)
    for name in ("old 1", "new 0"):
        check(f"rank 0: {name} fails: " in out, f"a child reads what was not committed: {name}")
    for name in (f"new {elements - 1}", "empty 0"):
        check(f"rank 0: {name} is 0.0" in out, f"a child cannot read what nobody wrote: {name}")
    check(out.count("forked child") == 2, "the errors do not say why")


def pending_of_others(elements):
    """The child of a rank that has not looked at what another one wrote, and that of the other one."""
    out = mpirun(2, [python(), "-c", PENDING, "others.h5", elements, "parallel"], bento_env(), merge=True).out
    say(out)
    for rank in (0, 1):
        check(f"rank {rank}: old 1 is 3.0" in out, f"rank {rank}'s child cannot read what was committed")
        check(f"rank {rank}: new 0 fails: " in out, f"rank {rank}'s child reads what was not committed")
    for name in (f"new {elements - 1}", "empty 0"):
        check(f"rank 1: {name} is 0.0" in out, f"a child cannot read what nobody wrote: {name}")
    check("forked child" in out, "the errors do not say why")


def serial(how):
    out = run([python(), "-c", SERIAL, f"{how}.h5", how], bento_env(), merge=True).out
    say(f"{how}:\n{out}")
    check("child reads 1.0" in out, "a child cannot read what was committed")
    for what in ("pending", "write", "flush", *(["close"] if how == "close" else [])):
        check(f"child {what} fails: " in out, f"{what} in a child")
    check(out.count("forked child") >= 3, "the errors do not say why")
    check("parent: child ended 0" in out, "the child did not end well")
    check("parent ['x'] True True" in out, "the child has changed its parent's file")
    if how == "again":
        check("fresh 1.0" in out, "a child cannot open the file anew")
        check("child writer fails: " in out and "open for writing in another process" in out, "a child became a second writer")


def pool():
    out = run([python(), "-c", POOL, "pool.h5"], bento_env(), merge=True).out
    say(out)
    check("pool 190.0" in out and "file True" in out, "reading in a pool of forked workers")
    check("overtaken 0.0" in out or "open the file again" in out.lower(), f"a worker read what was not its step: {out}")


def ranks():
    run([built("tests/lock_writer"), "create", "ranks.h5", 3], bento_env())
    out = mpirun(3, [built("tests/lock_writer"), "leave", "ranks.h5"], bento_env(), merge=True).out
    say(out)
    # mpirun may put the lines of two ranks into one.
    check(out.count("child ended 0") == 3, "children did not end well")
    check(out.count("child write error: ") == out.count("child flush error: ") == 3, "children wrote or flushed")
    check(out.count("child close error: ") == 2 and "MPI call" not in out, "children closed, or called MPI")
    check("reads wrong" not in out, "children read wrong values")
    again = "import h5py; f = h5py.File('ranks.h5', 'r'); print((f['x'][:, 0] == 7).all(), list(f))"
    check(run([python(), "-c", again], bento_env()).out.strip() == "True ['x']", "the parents' values")


def test():
    if harness.REHEARSAL:
        raise harness.Skip("native HDF5 lets a child do what it likes")
    for how in ("exit", "close", "again", "hard"):
        serial(how)
    for elements in (100, 200000):
        pending(elements)
        pending_of_others(elements)
    pool()
    ranks()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run_test(test)
