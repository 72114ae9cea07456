#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Datasets whose pieces make a grid are chunked datasets in the native view, and their chunks lie where the connector wrote them.

The h5py wheel and parallel HDF5 without the plugin read them, by masks too; a stock program changes them, and the change is taken
over, or what it deleted is there again; a damaged edge costs the view nothing; thousands of chunks; many ranks.

    native_view_chunks.py
"""

import os
import struct

from harness import bento_env, built, check, mpirun, native_env, python, run, run_test

WRITE = """
import h5py, numpy as np, random, sys
order = random.Random(7)
def mixed(count):
    numbers = list(range(count))
    order.shuffle(numbers)
    return numbers
def apart(count):
    "Neighbours are of different commits, or they would become one piece."
    for rest in (0, 1):
        yield from (i for i in mixed(count) if i % 2 == rest)
        f.flush()
with h5py.File("c.h5", "w") as f:
    rows = f.create_dataset("rows", (300, 1024), "f8", fillvalue=-1)
    for i in apart(300):
        if i % 11:
            rows[i] = np.arange(1024) + i * 1024
    bands = f.create_dataset("bands", (512, 1024), "f8")
    for j in reversed(range(16)):
        bands[:, j * 64 : j * 64 + 64] = np.arange(512 * 64).reshape(512, 64) + j
    packed = f.create_dataset("packed", (1000, 1003), "f4", chunks=(100, 100), compression="gzip", shuffle=True, fillvalue=3)
    for i in mixed(9):
        for j in mixed(11):
            packed[i * 100 : i * 100 + 100, j * 100 : j * 100 + 100] = np.full((100, min(100, 1003 - j * 100)), i * 11.5 + j)
    grown = f.create_dataset("grown", (7, 512), "i8", maxshape=(None, 512), chunks=(3, 100))
    grown.resize(4200, 0)
    for i in apart(4200):
        grown[i] = np.arange(512) + i
    hot = f.create_dataset("hot", (300, 1024), "f8")
    for i in apart(300):
        hot[i] = np.arange(1024) + i
    f.flush()
    hot[150, 100:200] = 5
    # Small pieces of a chunk are stored as they are. HDF5 must not take a chunk of them for one that is shuffled.
    shuffled = f.create_dataset("shuffled", data=np.arange(100000), chunks=(1000,), shuffle=True)
    for i in range(4):
        shuffled[i * 1000 : i * 1000 + 500] = np.arange(500) + i * 1000
        shuffled[i * 1000 + 500 : i * 1000 + 1000] = np.arange(500) + i * 1000 + 500
    # Stored by columns, with a row that is left.
    f.create_dataset("table", data=np.arange(60007 * 40.0).reshape(60007, 40), chunks=(1000, 1))
    f["named"] = np.dtype("i4")
    typed = f.create_dataset("group/typed", (64, 2000), dtype=f["named"])
    for i in apart(8):
        typed[i * 8 : i * 8 + 8] = i
    f["second name"] = typed
"""
READ = """
import h5py, numpy as np, sys
chunks = {"rows": (1, 1024), "bands": (512, 64), "packed": (100, 100), "grown": (1, 512), "hot": (1, 1024), "table": (30003, 1), "group/typed": (8, 2000)}
where = sys.argv[1]
parallel = {"driver": "mpio", "comm": __import__("mpi4py.MPI").MPI.COMM_WORLD} if where == "parallel" else {}
changed = where == "changed"
with h5py.File("c.h5", "r", **parallel) as f:
    if where != "connector" and not changed:
        for name, chunk in chunks.items():
            assert not f[name].is_virtual and f[name].chunks == chunk, (name, f[name].chunks)
        assert f["packed"].compression == "gzip" and f["grown"].maxshape == (None, 512)
    wanted = np.arange(300 * 1024.0).reshape(300, 1024)
    wanted[::11] = -1
    if changed:
        wanted[5, 7] = 99
    assert np.array_equal(f["rows"][...], wanted)
    mask = np.arange(wanted.size).reshape(wanted.shape) % 1001 == 0
    assert parallel or np.array_equal(f["rows"][mask], wanted[mask])
    assert np.array_equal(f["rows"][:, 1000], wanted[:, 1000])
    bands = f["bands"][...]
    for j in range(16):
        assert np.array_equal(bands[:, j * 64 : j * 64 + 64], np.arange(512 * 64).reshape(512, 64) + j), j
    packed = np.full((1000, 1003), 3, "f4")
    for i in range(9):
        for j in range(11):
            packed[i * 100 : i * 100 + 100, j * 100 : j * 100 + 100] = i * 11.5 + j
    if changed:
        packed[250, 250:300] = 77
    assert np.array_equal(f["packed"][...], packed)
    grown = np.arange(512) + np.arange(4200)[:, None]
    if changed:
        grown = np.concatenate([grown, [np.arange(512) - 1]])
    assert np.array_equal(f["grown"][...], grown)
    shuffled = np.arange(100000)
    if changed:
        shuffled[3003] = -3
    assert np.array_equal(f["shuffled"][...], shuffled)
    table = np.arange(60007 * 40.0).reshape(60007, 40)
    assert np.array_equal(f["table"][:, 17], table[:, 17]) and np.array_equal(f["table"][30000:], table[30000:])
    mask = np.arange(table.size).reshape(table.shape) % 10007 == 3
    assert parallel or np.array_equal(f["table"][mask], table[mask])
    hot = np.arange(1024.0) + np.arange(300.0)[:, None]
    hot[150, 100:200] = 5
    assert np.array_equal(f["hot"][...], hot)
    assert np.array_equal(f["second name"][:, 5], np.arange(64) // 8) and f["second name"] == f["group/typed"]
"""
# By a stock program: in place, in a chunk that gets another size, and behind the end.
CHANGE = """
import h5py, numpy as np
with h5py.File("c.h5", "r+") as f:
    f["rows"][5, 7] = 99
    f["packed"][250, 250:300] = 77
    f["shuffled"][3003] = -3
    f["grown"].resize(4201, 0)
    f["grown"][4200] = np.arange(512) - 1
"""
# What HDF5 frees would be the place of the next data.
DELETE = """
import h5py, numpy as np
with h5py.File("e.h5", "r+") as f:
    del f["whole"]
    for i in range(20):
        f[f"new{i}"] = np.ones(4000)
"""
READ_EDGES = """
import h5py
with h5py.File("e.h5") as f:
    assert (f["whole"][...] == [[i // 64 + 0.5] * 64 for i in range(2050)]).all()
"""
EDGES = """
import h5py, numpy as np
with h5py.File("e.h5", "w") as f:
    whole = f.create_dataset("whole", (2050, 64), "f8")
    for i in (*range(0, 33, 2), *range(1, 33, 2)):
        if i == 1:
            f.flush()  # or neighbours would become one piece
        whole[i * 64 : i * 64 + 64] = np.full((min(64, 2050 - i * 64), 64), i + 0.5)
    f["other"] = np.arange(100000)
"""
# Of "edges" the last chunk is copied, and "apart" can only be shown by a copy.
COPIES = """
import h5py, numpy as np, os, subprocess, sys
def kinds(*names):
    env = {key: value for key, value in os.environ.items() if not key.startswith("HDF5_")}
    ask = "import h5py, sys; f = h5py.File('b.h5'); print(*(f[name].is_virtual for name in sys.argv[1:]))"
    done = subprocess.run([sys.argv[1], "-c", ask, *names], env=env, capture_output=True, text=True)
    return done.stdout.strip() or done.stderr
with h5py.File("b.h5", "w") as f:
    edges = f.create_dataset("edges", (1024, 16 * 33 + 8), "f8")
    for i in reversed(range(34)):
        edges[:, i * 16 : i * 16 + 16] = np.full((1024, 16 if i < 33 else 8), i)
    apart = f.create_dataset("apart", (100000,), "f8")
    for i in range(8):
        apart[i * i * 1500 : i * i * 1500 + 10000 + i] = i
    if sys.argv[2] == "commit":
        f.flush()
        assert kinds("edges") == "True", kinds("edges")
assert kinds("edges", "apart") == f"False {sys.argv[2] == 'commit'}", kinds("edges", "apart")
"""
RANKS = """
import h5py, numpy as np
from mpi4py import MPI
rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
with h5py.File(f"r{ranks}.h5", "w", driver="mpio", comm=MPI.COMM_WORLD) as f:
    bands = f.create_dataset("bands", (512, 64 * ranks), "f8")
    bands[:, rank * 64 : rank * 64 + 64] = np.arange(512 * 64).reshape(512, 64) + rank
    small = f.create_dataset("slabs", (100 * ranks, 100), "f8")
    small[rank * 100 : rank * 100 + 100] = rank
"""
READ_RANKS = """
import h5py, numpy as np, sys
for ranks, kind in ((4, "chunked"), (2, "virtual")):
    with h5py.File(f"r{ranks}.h5", "r") as f:
        assert f["bands"].is_virtual == (kind == "virtual"), f["bands"].is_virtual
        for rank in range(ranks):
            assert np.array_equal(f["bands"][:, rank * 64 : rank * 64 + 64], np.arange(512 * 64).reshape(512, 64) + rank)
            assert (f["slabs"][rank * 100 : rank * 100 + 100] == rank).all()
"""


def stock():
    return os.environ["H5BENTO_PYTHON_NATIVE"]


def without_damage():
    """The edge of `whole` is two rows, which would be copied; damaged, all of it is mapped, and the view says nothing of it."""
    run([python(), "-c", EDGES], bento_env())
    run([stock(), "-c", "import h5py; d = h5py.File('e.h5')['whole']; assert d.chunks == (64, 64) and d[2049, 3] == 32.5"], native_env())
    with open("e.h5", "r+b") as file:
        data = file.read()
        pattern = struct.pack("<d", 32.5) * 128
        at = data.find(pattern)
        check(at >= 0, "the edge is not in the file")
        file.seek(at)
        file.write(b"\x01")
    said = run([built("bin", "h5bento"), "view", "build", "e.h5"], native_env())
    check("not in the native view" not in said.text, said.text)
    test = "import h5py; d = h5py.File('e.h5')['whole']; assert d.is_virtual and (d[:2048] == [[i // 64 + 0.5] * 64 for i in range(2048)]).all()"
    run([stock(), "-c", test], native_env())
    os.remove("e.h5")


def drop_deletion():
    """What a stock program deletes is there again when its changes are dropped. Without checksums nobody would notice."""
    run([python(), "-c", EDGES], bento_env(HDF5_VOL_CONNECTOR="bento checksum=none"))
    run([stock(), "-c", DELETE], native_env())
    run([built("bin", "h5bento"), "view", "drop", "e.h5"], native_env())
    run([python(), "-c", READ_EDGES], bento_env())
    run([stock(), "-c", READ_EDGES], native_env())


# The last record of the file ends it, where HDF5 would take off what is freed.
LAST = """
import sys
import h5py, numpy as np
values = lambda k: np.random.default_rng(k).random((256, 512))
for number, words in enumerate(sys.argv[2:]):
    name = f"l{number}.h5"
    if sys.argv[1] == "write":
        with h5py.File(name, "w") as f:
            for k in range(12):
                f.create_dataset(f"x{k}", data=values(k), **eval(words))
    elif sys.argv[1] == "change":
        with h5py.File(name, "r+") as f:
            exec(words)
    else:
        with h5py.File(name) as f:
            for k in range(12):
                assert (f[f"x{k}"][...] == values(k)).all(), (words, k)
"""


def drop_change_of_the_last():
    connector = bento_env(HDF5_VOL_CONNECTOR="bento checksum=none")
    delete = "del f['x11']; f['y'] = np.full(200000, 7.)"
    works = {
        "{}": delete,
        "{'chunks': (64, 512)}": delete,
        "{'chunks': (64, 64), 'compression': 'gzip'}": "f['x11'][255, 511] = 0",
    }
    paths = [f"l{number}.h5" for number in range(len(works))]
    run([python(), "-c", LAST, "write", *works], connector)
    before = [os.path.getsize(path) for path in paths]
    run([stock(), "-c", LAST, "change", *works.values()], native_env())
    for path, layout, least in zip(paths, works, before):
        check(os.path.getsize(path) >= least, f"{layout}: {os.path.getsize(path)} of {least} bytes")
        run([built("bin", "h5bento"), "view", "drop", path], native_env())
    run([python(), "-c", LAST, "read", *works], connector)
    run([stock(), "-c", LAST, "read", *works], native_env())
    for path in paths:
        os.remove(path)


LARGE = """
import h5py, numpy as np, re, sys
rows = 2 << 20
data = np.zeros(rows)
with h5py.File(sys.argv[1], "w") as file:
    for name in "abcd":
        values = file.create_dataset(name, (4 * rows,), "f8")
        for part in (2, 0, 3, 1):
            values[part * rows : (part + 1) * rows] = data
# That of getrusage() is the parent's, if it is larger.
print("KiB:", re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1])
"""


def memory_of_large_chunks():
    """Chunks in place are not in memory: those of 16 MiB of several datasets take none that the file without a view would not."""
    found = {}
    for view in ("off", "on"):
        said = run([python(), "-c", LARGE, "large.h5"], bento_env(HDF5_VOL_CONNECTOR=f"bento view={view}"))
        found[view] = int(said.out.split("KiB:")[1])
    run([stock(), "-c", "import h5py; assert h5py.File('large.h5')['a'].chunks == (2 << 20,)"], native_env())
    os.remove("large.h5")
    check(found["on"] - found["off"] < 8 << 10, f"KiB at most, with and without a view: {found}")


UNREADABLE = """
import h5py, numpy as np
with h5py.File("unhashed.h5", "w") as f:
    f["small"] = 1
    f["large"] = np.arange(200000.0)
"""
HUGE = """
import h5py
with h5py.File("huge.h5", "w") as f:
    f["small"] = 1
    f.create_dataset("d", (2**62,), "i4", maxshape=(None,), chunks=(10,))[2**62 - 2] = 5
"""
SEEN = """
import h5py
with h5py.File("unhashed.h5", "r") as f: assert f.get("small") is None and f["large"][7] == 7
with h5py.File("huge.h5", "r") as f: assert f["small"][()] == 1 and f["d"].shape == (2**62,) and f["d"][2**62 - 2] == 5
"""


def one_costs_no_other():
    """Data that may not be read for want of a checksum costs the view one dataset, and one of 2^62 elements none."""
    said = run([python(), "-c", UNREADABLE], bento_env(string="bento checksum=none;verify=all"))
    check("'/small' is not in the native view" in said.err and "has no checksum" in said.err, said.text)
    said = run([python(), "-c", HUGE], bento_env())
    check(not said.err, said.text)
    run([stock(), "-c", SEEN], native_env())


def main():
    memory_of_large_chunks()
    one_costs_no_other()
    drop_change_of_the_last()
    run([python(), "-c", WRITE], bento_env())
    run([python(), "-c", READ, "connector"], bento_env())
    for reader in (stock(), python()):
        run([reader, "-c", READ, "stock"], native_env())
    mpirun(2, [python(), "-c", READ, "parallel"], native_env())
    run([stock(), "-c", CHANGE + READ, "changed"], native_env())
    run([built("bin", "h5bento"), "view", "take-over", "c.h5"], native_env())
    run([stock(), "-c", READ, "changed"], native_env())
    run([python(), "-c", READ, "changed"], bento_env())
    drop_deletion()
    without_damage()
    for settings in (" view_maps=4;view_copy=800K", " view_maps=100;view=commit"):
        env = bento_env(HDF5_VOL_CONNECTOR="bento" + settings)
        said = run([python(), "-c", COPIES, stock(), settings[-6:]], env)
        check("not in the native view" not in said.text, said.text)
    for ranks, settings in ((4, ""), (2, " files=2")):
        mpirun(ranks, [python(), "-c", RANKS], bento_env(HDF5_VOL_CONNECTOR="bento" + settings))
    run([stock(), "-c", READ_RANKS], native_env())


if __name__ == "__main__":
    run_test(main, containers=4, unhashed={"unhashed.h5": "checksum=none"})
