#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Datasets with filters: the stored bytes really shrink, are what HDF5 would store, and read as natively.

The same programs run natively and under the connector and print the same. Where the connector deflates by itself, that
is not the stored bytes, which are others than zlib's, but what zlib unpacks them to. That data is compressed at all is
seen in what the file takes on the disk, and in its bytes."""

import json
import os
import re

from harness import bento_env, check, check_container, check_containers, mpirun, native_env, python, run, run_test, say

COMMON = """
import h5py, itertools, numpy as np, zlib
from h5py import h5d, h5p, h5s, h5t, h5z
random = np.random.default_rng(1)
def show(name, array): print(name, array.dtype, array.shape, zlib.crc32(np.ascontiguousarray(array).tobytes()))
def filters(d):
    creation = d.id.get_create_plist()
    return [creation.get_filter(i)[0] for i in range(creation.get_nfilters())]
def deflated_by_us(d): return filters(d) in ([h5z.FILTER_DEFLATE], [h5z.FILTER_SHUFFLE, h5z.FILTER_DEFLATE])
def unpacked(d, mask, stored):
    if not deflated_by_us(d) or mask >> len(filters(d)) - 1 & 1: return stored
    try: return zlib.decompress(stored)
    except zlib.error: return stored  # a chunk that was left unfiltered on demand
def chunks(d):
    d.file.flush()
    total = d.id.get_storage_size()
    print(d.name, d.id.get_num_chunks(), "" if deflated_by_us(d) else total)
    for at in itertools.product(*[range(0, n, c) for n, c in zip(d.shape, d.chunks)]):
        info = d.id.get_chunk_info_by_coord(at)
        if info.size:
            mask, stored = d.id.read_direct_chunk(at)
            assert info.size == len(stored)
            total -= info.size
            content = unpacked(d, mask, stored)
            print(at, len(content), info.filter_mask, mask, zlib.crc32(content))
    print("not in chunks:", total)
"""

PROGRAMS = {
    "chunks are listed as they are now, also by who has asked before": """
def listed(d):
    d.file.flush()
    ids = [d.id.get_chunk_info(i) for i in range(d.id.get_num_chunks())]
    print(d.shape, [(info.filter_mask, info.size > 0) for info in ids])
    print([d.id.get_chunk_info_by_coord(at).size > 0 for at in itertools.product(*[range(0, n, c) for n, c in zip(d.shape, d.chunks)])])
with h5py.File("f.h5", "w") as f:
    d = f.create_dataset("x", (40, 40), "i4", chunks=(8, 8), maxshape=(None, None), compression="gzip")
    for change in (
        lambda: None,
        lambda: d.write_direct(np.ones((8, 8), "i4"), dest_sel=np.s_[0:8, 0:8]),
        lambda: None,
        lambda: d.write_direct(np.arange(96, dtype="i4").reshape(8, 12), dest_sel=np.s_[16:24, 8:20]),
        lambda: d.resize((20, 40)),
        lambda: d.resize((48, 40)),
        lambda: d.write_direct(np.ones((8, 40), "i4"), dest_sel=np.s_[40:48]),
    ):
        change()
        listed(d)
with h5py.File("f.h5", "r+") as f:
    listed(f["x"])
    f["x"][30, 30] = 5
    listed(f["x"])
with h5py.File("f.h5", "r") as f:
    listed(f["x"])
    try:
        f["x"].id.read_direct_chunk((24, 0))
    except Exception:
        print("refused")
""",
    "noise is stored with the mask of the filters it skipped": """
with h5py.File("f.h5", "w") as f:
    d = f.create_dataset("noise", (64, 512), "i4", chunks=(16, 128), compression="gzip", shuffle=True)
    d[...] = random.integers(-2**31, 2**31, d.shape)
    d[:16] = 5
    chunks(d)
with h5py.File("f.h5", "r") as f:
    show("all", f["noise"][...])
    print(sorted({f["noise"].id.get_chunk_info_by_coord((i, 0)).filter_mask for i in range(0, 64, 16)}))
""",
    "plain and compressed pieces of the same chunks": """
with h5py.File("f.h5", "w") as f:
    d = f.create_dataset("x", (100, 900), "f8", chunks=(30, 200), maxshape=(None, None), compression="gzip", fillvalue=-1)
    d[...] = np.arange(90000).reshape(d.shape) % 1000
    for row in range(5, 40): d[row, 150:450] = row
    d[37:80, 100:700] = np.arange(43 * 600).reshape(43, 600)
    d[::7, ::11] = 3
    chunks(d)
    d.resize((70, 500)); chunks(d); d.resize((130, 1000))
    show("grown", d[...])
    d[60:] = 8
    chunks(d)
with h5py.File("f.h5", "r+") as f:
    d = f["x"]
    for row in range(0, 130, 9): show("band", d[row])
    d[:, 17] = 12
    show("all", d[...])
""",
    "chunks written directly, with masks, over others of the same length": """
with h5py.File("f.h5", "w") as f:
    d = f.create_dataset("x", (4000,), "i4", chunks=(1000,), compression="gzip", shuffle=True)
    values = random.integers(0, 2**31, 1000).astype("i4")
    shuffled = values.view("u1").reshape(1000, 4).T.tobytes()
    d.id.write_direct_chunk((0,), values.tobytes(), 3)
    d.id.write_direct_chunk((1000,), shuffled, 2)
    d.id.write_direct_chunk((2000,), zlib.compress(values.tobytes()), 1)
    d.id.write_direct_chunk((3000,), zlib.compress(shuffled), 0)
    chunks(d)
with h5py.File("f.h5", "r+") as f:
    d = f["x"]
    print([(d[i : i + 1000] == values).all() for i in range(0, 4000, 1000)])
    print((d[990:1010] == np.r_[values[-10:], values[:10]]).all())
    d[1500] = 1
    values[500] = 1
    print((d[1000:2000] == values).all())
    chunks(d)
""",
    "types, filters and their parameters": """
types = {"big": ">i2", "compound": np.dtype([("a", ">f4"), ("b", "i8", (3,)), ("c", "S5")]), "complex": "c16",
         "enum": h5py.enum_dtype({"A": 0, "B": 9}, basetype="i2")}
lists = {"gzip": dict(compression="gzip", compression_opts=9), "all": dict(compression="gzip", shuffle=True, fletcher32=True),
         "lzf": dict(compression="lzf"), "shuffle": dict(shuffle=True), "sum": dict(fletcher32=True)}
def value(dtype, n): return np.resize(np.frombuffer(bytes(range(0, 200, 3)) * 40, "u1"), n * dtype.itemsize).view(dtype)
with h5py.File("f.h5", "w") as f:
    for (t, dtype), (l, options) in itertools.product(types.items(), lists.items()):
        dtype = np.dtype(dtype)
        d = f.create_dataset(t + l, (70, 90), dtype, chunks=(31, 40), **options)
        d[...] = value(dtype, 6300).reshape(70, 90) if t != "enum" else 9
        d[3:50, 5:60] = value(dtype, 47 * 55).reshape(47, 55) if t != "enum" else 0
        chunks(d)
    d = f.create_dataset("offset", (5000,), "i4", chunks=(1024,), scaleoffset=0)
    d[...] = np.arange(5000) * 3
    chunks(d)
    d = f.create_dataset("lossy", (5000,), "f8", chunks=(1024,), scaleoffset=3)
    d[...] = np.arange(5000) / 7
    kept = d[...]
    packed = h5t.STD_I32LE.copy()
    packed.set_precision(20)
    packed.set_offset(3)
    creation = h5p.create(h5p.DATASET_CREATE)
    creation.set_chunk((700,))
    creation.set_filter(h5z.FILTER_NBIT, h5z.FLAG_OPTIONAL)
    n = h5d.create(f.id, b"nbit", packed, h5s.create_simple((2500,)), creation)
    n.write(h5s.ALL, h5s.ALL, (np.arange(2500) % 1000).astype("i4"))
    chunks(h5py.Dataset(n))
with h5py.File("f.h5", "r") as f:
    for name in f: show(name, f[name][...])
""",
    "chunks that the extent cuts, left unfiltered on demand": """
import ctypes, os
library = ctypes.CDLL(next(line.split()[-1] for line in open("/proc/self/maps") if "/libhdf5.so" in line))
with h5py.File("f.h5", "w", libver="latest") as f:
    creation = h5p.create(h5p.DATASET_CREATE)
    creation.set_chunk((40, 50))
    creation.set_deflate(6)
    assert library.H5Pset_chunk_opts(ctypes.c_int64(creation.id), ctypes.c_uint(2)) >= 0
    d = h5py.Dataset(h5d.create(f.id, b"x", h5t.STD_I32LE, h5s.create_simple((100, 120), (200, 200)), creation))
    d[...] = np.arange(12000).reshape(100, 120)
    chunks(d)
    edge = d.id.read_direct_chunk((80, 100))[1]
    d.id.write_direct_chunk((0, 100), edge, 0)
    show("x", d[...])
""",
    "no object of ours among the program's open ones": """
from h5py import h5f
kinds = h5f.OBJ_FILE | h5f.OBJ_GROUP | h5f.OBJ_DATASET
before = h5f.get_obj_count(h5f.OBJ_ALL, kinds)
f = h5py.File("f.h5", "w")
d = f.create_dataset("x", (5000,), "i4", chunks=(1000,), compression="gzip")
d[...] = 3
print(d[10], h5f.get_obj_count(h5f.OBJ_ALL, kinds) - before, h5f.get_obj_count(f.id, h5f.OBJ_ALL))
f.close()
print(h5f.get_obj_count(h5f.OBJ_ALL, kinds) - before)
""",
    "copies": """
with h5py.File("f.h5", "w") as f, h5py.File("g.h5", "w") as g:
    d = f.create_dataset("x", (5000,), "i4", chunks=(1000,), maxshape=(None,), compression="gzip")
    d[:3500] = np.arange(3500)
    d[700:720] = 4
    f.copy("x", "y"); f.copy("x", g, "z")
    for item in (d, f["y"], g["z"]): chunks(item)
    d.resize((2500,))
    f.copy("x", "small")
    chunks(f["small"])
    f["small"].resize((5000,))
    show("small", f["small"][...])
    d[...] = 0
    show("y", f["y"][...]); show("z", g["z"][...])
""",
    "chunks larger than those of the container": """
with h5py.File("f.h5", "w") as f:
    d = f.create_dataset("x", (300000,), "i4", chunks=(150000,), compression="gzip")
    d[...] = np.r_[random.integers(0, 2**31, 150000), np.arange(150000)]
    show("x", d[...])
    chunks(d)
with h5py.File("f.h5", "r") as f: show("x", f["x"][1000:299000])
""",
}

SHRINKS = """
import h5py, numpy as np
with h5py.File("f.h5", "w") as f:
    d = f.create_dataset("x", (2048, 1024), "f8", chunks=(256, 256), compression="gzip", shuffle=True)
    d[...] = np.arange(2048 * 1024).reshape(d.shape)
    s = f.create_dataset("small", (2000,), "i4", chunks=(500,), compression="gzip")
    s[...] = np.arange(2000) // 7
with h5py.File("f.h5", "r") as f:
    open("chunk", "wb").write(f["x"].id.read_direct_chunk((256, 512))[1])
    open("small", "wb").write(f["small"].id.read_direct_chunk((500,))[1])
"""

STOCK = """
import h5py, numpy as np
with h5py.File("f.h5", "r") as f:
    print((f["x"][...] == np.arange(2048 * 1024).reshape(f["x"].shape)).all(), (f["small"][...] == np.arange(2000) // 7).all())
"""

DAMAGED = """
import h5py
with h5py.File("f.h5", "r") as f:
    print((f["x"][:256] >= 0).all())
    try:
        print(f["x"][256:512, 512:768])
    except OSError as error:
        print("checksum" in str(error))
"""


# Stock HDF5 refuses the independent writes. Ranks meet inside chunks; rank 1 never writes its last row.
PARALLEL = """
import h5py, numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank = comm.rank
def wanted():
    values = np.arange(999 * 1000, dtype="f8").reshape(999, 1000)
    values[665] = -2
    return values
with h5py.File("p.h5", "w", driver="mpio", comm=comm) as f:
    d = f.create_dataset("x", (999, 1000), "f8", chunks=(100, 250), compression="gzip", shuffle=True, fillvalue=-2)
    mine = slice(333 * rank, 333 * rank + (332 if rank == 1 else 333))
    d[mine] = wanted()[mine]
    f.flush()
    comm.Barrier()
    right = (d[...] == wanted()).all()
    chunks = d.id.get_num_chunks()
with h5py.File("p.h5", "r", driver="mpio", comm=comm) as f:
    right = right and (f["x"][...] == wanted()).all()
    size = f["x"].id.get_storage_size()
if comm.allreduce(int(right)) == comm.size and rank == 0:
    print(chunks, size)
"""

SERIAL_TWIN = """
import h5py, numpy as np
with h5py.File("s.h5", "w") as f:
    d = f.create_dataset("x", (999, 1000), "f8", chunks=(100, 250), compression="gzip", shuffle=True, fillvalue=-2)
    values = np.arange(999 * 1000, dtype="f8").reshape(999, 1000)
    values[665] = -2
    d[...] = values
    f.flush()
    print(d.id.get_num_chunks(), d.id.get_storage_size())
"""


def parallel():
    under = mpirun(3, [python(), "-c", PARALLEL], bento_env(stats="parallel"))
    check_containers("parallel", processes=3)
    natively = run([python(), "-c", SERIAL_TWIN], native_env())
    check(under.out.split()[0] == natively.out.split()[0], f"three ranks: {under.out!r}, natively one: {natively.out!r}")
    one = run([python(), "-c", SERIAL_TWIN], bento_env())
    check(under.out == one.out, f"three ranks: {under.out!r}, one: {one.out!r}")
    taken = os.stat("p.h5").st_blocks * 512
    check(taken < 999 * 1000 * 8 // 8, f"{taken} bytes on the disk for three ranks' data")
    say(f"three ranks wrote chunks together, independently: {taken} bytes on the disk")


def shrinks():
    plain = 2048 * 1024 * 8
    run([python(), "-c", SHRINKS], bento_env(stats="shrinks"))
    check_containers("shrinks")
    taken = os.stat("f.h5").st_blocks * 512
    check(taken < plain // 8, f"{taken} bytes on the disk for {plain} of raw data that compress well")
    with open("f.h5", "rb") as file:
        content = file.read()
    for name in ("chunk", "small"):
        with open(name, "rb") as file:
            check(file.read() in content, f"what H5Dread_chunk gives of '{name}' is not in the file")
    say(f"{plain} bytes of raw data take {taken} on the disk")
    # Another build of HDF5, with a zlib of its own.
    stock = run([os.environ["H5BENTO_PYTHON_NATIVE"], "-c", STOCK], native_env())
    check(stock.out.split() == ["True", "True"], f"stock HDF5 reads {stock.out}")
    with open("chunk", "rb") as file:
        at = content.index(file.read())
    with open("f.h5", "r+b") as file:
        file.seek(at + 100)
        file.write(bytes([content[at + 100] ^ 1]))
    result = run([python(), "-c", DAMAGED], bento_env())
    check(result.out.split() == ["True", "True"], f"a damaged record: {result.out}")


# Runs programs one after the other, each with names of its own, and keeps the file of each.
RUNNER = """
import json, os, sys
for number, program in json.loads(sys.argv[1]):
    print("program", number)
    exec(program, {"__name__": "__main__"})
    os.rename("f.h5", f"{sys.argv[2]}-{number}.h5")
"""


def answers(numbers, where, env):
    """What each of these programs prints."""
    programs = [(number, COMMON + list(PROGRAMS.values())[number]) for number in numbers]
    said = run([python(), "-c", RUNNER, json.dumps(programs), where], env).out
    parts = re.split(r"^program (\d+)\n", said, flags=re.M)
    check([int(number) for number in parts[1::2]] == numbers, f"the programs {numbers} say {said}")
    return dict(zip(numbers, parts[2::2]))


def test():
    shrinks()
    parallel()
    natively = answers(list(range(len(PROGRAMS))), "native", native_env())
    # Every other program with small chunks, which most of all the larger ones must fit.
    small = [number for number, name in enumerate(PROGRAMS) if number % 2 or "larger" in name]
    for numbers, string in ((small, "bento chunk=64K"), ([x for x in natively if x not in small], "bento")):
        under = answers(numbers, "under", bento_env(string=string))
        for number in numbers:
            name = list(PROGRAMS)[number]
            check(
                under[number] == natively[number],
                f"{name}, {string}: natively\n{natively[number]}\nunder the connector\n{under[number]}",
            )
            check_container(f"under-{number}.h5")
            if number:  # one of them is left for the checkers
                os.remove(f"under-{number}.h5")
            say(f"{name}: as natively")


if __name__ == "__main__":
    run_test(test)
