#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""`h5bento defrag` and `h5bento import`: a copy that is a container, with the same content.

    tool_copy.py objects    about everything that HDF5 can hold: a native file imported, a container defragmented
    tool_copy.py attributes large ones, and those that HDF5 orders in two ways
    tool_copy.py space      a file with dead data, gaps and several physical files becomes small, one piece each
    tool_copy.py refused    what cannot be copied, what must not be written over, and deaths in the middle
"""

import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import harness
from harness import bento_env, built, check, hdf5_tool, mpirun, native_env, python, run, run_test, say, some
from native_view import FOR_TOOLS, NAMES, both
from native_view_check import check_h5diff, compare, connector_reads, stock_env, stock_python
from steps_run import Writer, environment, write_steps


def tool(*arguments, ok=(0,), env=None):
    return run([built("bin", "h5bento"), *arguments], env or native_env(), ok=ok)


def objects():
    both("first", "latest")
    for folder in ("imported", "packed"):
        os.mkdir(folder)
        for path in glob.glob("native/*"):  # what external links and storage lead to
            if os.path.basename(path) not in NAMES:
                shutil.copy(path, folder)
    for name in NAMES:
        tool("import", f"native/{name}", f"imported/{name}")
        tool("defrag", f"view/{name}", f"packed/{name}")
    folders = ("imported", "packed")
    for folder in folders:
        for name in NAMES:
            check(harness.is_container(f"{folder}/{name}"), f"{folder}/{name} is no container")
    counts = compare([(f"native/{name}", f"{folder}/{name}") for folder in folders for name in NAMES])
    say(f"{', '.join(folders)}: {counts}")
    for folder in folders:
        for name in FOR_TOOLS:
            check_h5diff(f"native/{name}", f"{folder}/{name}")
    # One program makes both.
    for folder in some(1, reversed(folders)):
        connector_reads("native", folder, NAMES, folder)


# By three ranks; natively one process writes what they do, and of the turns only the last, which is what remains.
PROGRAM = """
import contextlib, sys, h5py, numpy as np
path, what, size = sys.argv[1], sys.argv[2], 3
bento = "bento" in sys.argv  # natively, HDF5 would allocate all of the huge one
if bento:
    from mpi4py import MPI
    assert MPI.COMM_WORLD.size == size
    how, ranks, turns = dict(driver="mpio", comm=MPI.COMM_WORLD), [MPI.COMM_WORLD.rank], range(6)
else:
    how, ranks, turns = {}, range(size), [5]
def together(dataset): return dataset.collective if bento else contextlib.nullcontext()
def create(f):
    f.create_dataset("x", (400 * size, 1000), "f8")
    f.create_dataset("z", (400 * size, 1000), "i4", chunks=(100, 1000), compression="gzip")
    if bento: f.create_dataset("huge", (1 << 33,), "u1")
def fill(f, rank):
    x, z, a = f["x"], f["z"], 400 * rank
    for turn in turns:
        for row in range(a, a + 400, 40): x[row : row + 40] = np.arange(40000).reshape(40, 1000) * (turn + 1.0) + row
        with together(z): z[a : a + 400] = (np.arange(400000).reshape(400, 1000) % 100 + turn).astype("i4")
        f.flush()
    if bento: f["huge"][rank << 28 : (rank << 28) + 5000] = np.full(5000, rank + 3, "u1")
with h5py.File(path, "w" if what == "new" else "r+", **how) as f:
    if what == "new":
        create(f)
        for rank in ranks: fill(f, rank)
    else:
        for rank in ranks: f["x"][rank] = np.full(1000, rank + 0.5)
"""


def allocated(path):
    return sum(os.stat(name).st_blocks * 512 for name in [path] + glob.glob(path + ".0*"))


ATTRIBUTES = """
import sys, h5py, numpy
path = sys.argv[1]
with h5py.File(path, "w", libver=("v108", "latest")) as file:
    file["x"] = numpy.arange(5)
    file["scale"] = numpy.arange(5)
    file["scale"].make_scale("scale")
    file["x"].attrs["names"] = ["a", "bb"]
    file["x"].dims[0].attach_scale(file["scale"])
    file.attrs["large"] = numpy.arange(30000.0)
# HDF5 knows the order of those that were made above, and not of these.
with h5py.File(path, "r+", libver=("v108", "latest")) as file:
    for i in range(12):
        file["x"].attrs[f"m{i}"] = 1.5 * i
"""
LISTED = """
import sys, h5py
with h5py.File(sys.argv[1], "r") as file:
    for name in "/", "x", "scale":
        for key, value in sorted(file[name].attrs.items()):
            value = [file[each[0]].name for each in value] if key == "DIMENSION_LIST" else value
            print(name, key, value)
"""


def attributes():
    run([python(), "-c", ATTRIBUTES, "n.h5"], native_env())
    run([python(), "-c", ATTRIBUTES, "b.h5"], bento_env())
    wanted = run([stock_python(), "-c", LISTED, "n.h5"], stock_env()).out
    tool("import", "n.h5", "imported.h5")
    tool("defrag", "b.h5", "packed.h5")
    tool("export", "b.h5", "exported.h5")
    for name in ("b.h5", "imported.h5", "packed.h5", "exported.h5"):
        found = run([stock_python(), "-c", LISTED, name], stock_env()).out
        check(found == wanted, f"{name}:\n{found}\nnot:\n{wanted}")
    # Somebody else's change becomes the container's content.
    change = "import h5py, numpy; h5py.File('b.h5', 'r+')['x'].attrs['new'] = 1"
    run([stock_python(), "-c", change], stock_env())
    tool("view", "take-over", "b.h5")
    listed = run([python(), "-c", LISTED, "b.h5"], bento_env()).out
    check("x new 1" in listed and "/ large [" in listed, listed)
    say(f"{len(wanted.splitlines())} attributes in each of the copies")


def space():
    run([python(), "-c", PROGRAM, "native.h5", "new"], native_env())
    mpirun(3, [python(), "-c", PROGRAM, "x.h5", "new", "bento"], environment("files=2;keep=2;minmax=on"))
    check(os.path.exists("x.h5.000001"), "not several files")
    before = allocated("x.h5")
    again = tool("defrag", "x.h5", ok=(1,))
    check("--drop-steps" in again.err and os.path.exists("x.h5.000001"), again.text)
    answer = json.loads(tool("defrag", "--json", "x.h5", "--drop-steps").out)
    check(glob.glob("x.h5.0*") == [] and glob.glob(".*.unfinished") == [], f"{os.listdir('.')}")
    after = allocated("x.h5")
    say(f"{before} bytes became {after}; {answer}")
    check(after < 0.6 * before, f"{before} bytes became {after}")
    # Not of the size of what was overwritten: a copy by a program that knows no holes takes it all.
    check(os.path.getsize("x.h5") < 1.5 * after, f"{os.path.getsize('x.h5')} bytes long, {after} on the disk")
    for name in ("x", "z"):
        run([hdf5_tool("h5diff"), "native.h5", "x.h5", name], native_env())
    script = (
        "import h5py, sys\nwith h5py.File(sys.argv[1]) as f:\n"
        "    print(f['huge'][4999], f['huge'][(1 << 28) + 4999], f['huge'][(1 << 28) + 5000], f['huge'][-1])\n"
        "    print([(n, f[n].is_virtual) for n in 'xz'], file=sys.stderr)"
    )
    answer = run([stock_python(), "-c", script, "x.h5"], stock_env())
    check(answer.out.strip() == "3 4 0 0", answer.out)
    check("('x', False)" in answer.err, f"x is not one piece: {answer.err}")
    # It goes on as a container, on more ranks than have written it.
    run([python(), "-c", PROGRAM, "native.h5", "changed"], native_env())
    mpirun(3, [python(), "-c", PROGRAM, "x.h5", "changed", "bento"], environment())
    for name in ("x", "z"):
        run([hdf5_tool("h5diff"), "native.h5", "x.h5", name], native_env())


def refused():
    script = "import h5py, numpy as np, sys\nwith h5py.File(sys.argv[1], 'w') as f: f['x'] = np.arange(600000)"
    run([python(), "-c", script, "x.h5"], environment())
    run([python(), "-c", script, "plain.h5"], native_env())
    open("empty", "w").close()
    os.mkfifo("pipe")
    with open("x.h5", "rb") as file:
        data = bytearray(file.read())
    with open("torn", "wb") as file:
        file.write(data[: len(data) // 2])
    data[data.index((12345).to_bytes(8, "little") + (12346).to_bytes(8, "little"))] ^= 1
    with open("flipped", "wb") as file:
        file.write(data)
    damaged = bytes(data)
    for arguments, words in (
        (("defrag", "plain.h5", "out.h5"), "ordinary HDF5"),
        (("defrag", "plain.h5"), "ordinary HDF5"),
        (("defrag", "empty"), "empty"),
        (("defrag", "missing"), "missing"),
        (("defrag", "torn", "out.h5"), "torn"),
        (("defrag", "flipped", "out.h5"), "checksum"),
        (("defrag", "flipped"), "checksum"),
        (("defrag", "x.h5", "plain.h5"), "is there already"),
        (("defrag", "x.h5", "./x.h5", "--force"), "shall be copied"),
        (("defrag", "x.h5", "pipe", "--force"), "is there already"),
        (("defrag", "x.h5", "none/out.h5"), "none"),
        (("defrag", "x.h5", "out.h5", "--settings", "chunks=3"), "chunks"),
        (("defrag", "x.h5", "--settings", "cache=/tmp"), "cache="),
        (("import", "plain.h5", "out.h5", "--settings", "cache=/tmp"), "cache="),
        (("import", "x.h5", "out.h5"), "defrag"),
        (("import", "empty", "out.h5"), "empty"),
        (("import", ".", "out.h5"), "folder|directory"),
        (("import", "missing", "out.h5"), "missing"),
        (("import", "plain.h5", "x.h5"), "is there already"),
    ):
        result = tool(*arguments, ok=(1, 2))
        check(re.search(words, result.err), f"{arguments}: {result.text}")
        check(not os.path.exists("out.h5") and not glob.glob(".*.unfinished"), f"{arguments}: left {os.listdir('.')}")
        say(f"{' '.join(arguments)}: {result.err.strip().splitlines()[0]}")
    with open("flipped", "rb") as file:
        check(file.read() == damaged, "a refused defrag changed its file")
    for name in ("flipped", "torn", "pipe"):
        os.remove(name)
    # While somebody writes.
    with Writer(os.path.abspath("w.h5"), "new", 2, 2, env=environment(), hold=1) as writer:
        writer.wait_for("flushed", 2)
        result = tool("defrag", "w.h5", ok=(1, 2))
        check("writ" in result.err, result.text)
        say(f"defrag beside a writer: {result.err.strip()}")
        writer.go_on()
        writer.wait()
    tool("defrag", "w.h5")
    # A death in the middle.
    begin = time.monotonic()
    tool("defrag", "x.h5", "whole.h5")
    seconds = time.monotonic() - begin
    rng = random.Random(harness.first_seed(1))
    for _ in range(6):
        process = subprocess.Popen([built("bin", "h5bento"), "defrag", "x.h5"], env=native_env(), stdout=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.2, 1) * seconds)
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        run([hdf5_tool("h5diff"), "plain.h5", "x.h5"], native_env())
        for path in glob.glob(".*.unfinished*"):
            os.remove(path)


def test(what):
    if harness.REHEARSAL:
        raise harness.Skip("only containers are copied")
    {f.__name__: f for f in (objects, attributes, space, refused)}[what]()


run_test(test, sys.argv[1])
