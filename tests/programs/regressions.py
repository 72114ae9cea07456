#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""One program for each bug that was found and fixed; each failed before its fix. The same program runs natively, and
prints the same.

    regressions.py          the test
    regressions.py --run    all of them, one after the other, each in a folder of its own
"""

import os
import re
import sys

from harness import REHEARSAL, bento_env, check, check_containers, is_container, native_env, python, run, run_test, say

BUGS = {
    # It was said to be allocated: all of its chunks, which are none, are there.
    "a chunked dataset without elements has no space": """
import h5py
with h5py.File("f.h5", "w") as f:
    for dims in (0,), (3, 0), (5, 4):
        d = f.create_dataset("d%d%d" % (len(dims), dims[0]), dims, "i4", maxshape=(None,) * len(dims), chunks=(2,) * len(dims))
        print(d.name, d.id.get_space_status(), d.id.get_storage_size())
        d.resize([n + 3 for n in dims])
        d[...] = 1
        print(d.id.get_space_status(), d.id.get_storage_size())
        d.resize([0] * len(dims))
        print(d.id.get_space_status(), d.id.get_storage_size())
with h5py.File("f.h5", "r") as f:
    for name in f: print(name, f[name].id.get_space_status())
""",
    # A deleted dataset's object address goes to the next object; its records must not.
    "a dataset at the address of a deleted one": """
import h5py, numpy
with h5py.File("f.h5", "w") as f:
    f["a"] = numpy.arange(100)
    del f["a"]
    d = f.create_dataset("s", (3,), dtype=h5py.string_dtype())
    print(list(d[...]))
    d[1] = "x"
    print(list(d[...]))
    del d, f["s"]
    print(f.create_dataset("n", (4,), dtype="i8", fillvalue=7)[...])
with h5py.File("f.h5", "r") as f:
    print(f["n"][...])
""",
    # Asking an object for its file marked the file as having an id, so it never closed.
    "a file reached through two external links can be created again": """
import h5py
with h5py.File("c.h5", "w") as f: f.create_group("A/B")
with h5py.File("b.h5", "w") as f: f["l"] = h5py.ExternalLink("c.h5", "/A")
with h5py.File("a.h5", "w") as f: f["l"] = h5py.ExternalLink("b.h5", "/l/B")
with h5py.File("a.h5", "r+") as f:
    f["l"].create_group("new")
for name in "abc":
    with h5py.File(name + ".h5", "w") as f: print(len(f))
""",
    # Datasets that are open together share what is known of a type. Types that look alike are not equal.
    "datasets that are open together have types of their own": """
import h5py, numpy
kinds = ["<i4", "<i4", ">i4", "<u4", "<f4", "<i4", ">f4", "<i8", "<f8", ">f8", "<f8", "<u8", "<i2", "<i4"]
values = numpy.array([-3, 0, 2, 70000])
with h5py.File("f.h5", "w") as f:
    f["int"] = numpy.dtype("<i4")
    f["big"] = numpy.dtype(">i4")
    kinds += [f["int"], f["big"], f["int"], "<i4"]
    open_ones = [f.create_dataset(f"d{i}", (4,), kind) for i, kind in enumerate(kinds)]
    for i, d in enumerate(open_ones): d[...] = numpy.abs(values) + i if d.dtype.kind == "u" else (values + i).clip(-9, 9999)
    for kind in "f8", ">i4", "i8", "f4":
        for d in open_ones: print(d.name, d.dtype, d.astype(kind)[...])
    narrow = h5py.h5t.STD_I32LE.copy()
    narrow.set_precision(16)
    open_ones.append(h5py.Dataset(h5py.h5d.create(f.id, b"narrow", narrow, h5py.h5s.create_simple((4,)))))
    open_ones[-1][...] = values
    for d in open_ones: print(d.name, d[...])
    del f["int"], f["big"], f["d3"]
    again = f.create_dataset("d3", (4,), ">f8", data=values / 4)
    print(again[...], open_ones[0][...], open_ones[15][...])
with h5py.File("f.h5", "r") as f:
    names = list(f)
    for turn in names, names[::-1], names * 2:
        for name in turn: print(name, f[name].dtype, f[name][...])
    kept = [f[name] for name in names]
    for d in kept: print(d.name, d.dtype, d[1:3], d.astype("f8")[...])
""",
    # What a creation has said of a dataset is taken as known at its first transfer; what came between counts.
    "a dataset that was changed between its creation and its first transfer": """
import h5py, numpy
with h5py.File("f.h5", "w") as f:
    def made(name, *rest, **more): return f.create_dataset(name, (4, 6), *rest, maxshape=(None, None), **more)
    a, b, c, d = made("a", "f8", chunks=(2, 3)), made("b", "i2"), made("c", "f8", compression=1), made("d", ">i4")
    a.resize((8, 2))
    b_again = f["b"]
    b_again.resize((2, 9))
    try: d.resize((1, 2, 3))
    except Exception: print("refused")
    for one in a, b, c, d:
        print(one.shape, one[...].shape, one.maxshape)
        one[...] = numpy.arange(one.size).reshape(one.shape)
        print(one[...], one[1:].sum())
    e = made("e", "i8")
    del f["e"]
    e[0] = 3
    print(e[...])
    again = f.create_dataset("e", (3,), "f4", fillvalue=2)
    print(e[0], again[...])
    again[1] = 5
    f["moved"] = again
    print(f["moved"][...], e[0])
with h5py.File("f.h5", "r") as f:
    for name in f: print(name, f[name].dtype, f[name][...])
""",
    # Many small pieces with gaps were written as one box, which allocated all chunks between them.
    "a strided write allocates the chunks that it touches": """
import h5py, numpy
with h5py.File("f.h5", "w") as f:
    f.create_dataset("gaps", (1000,), "i4", chunks=(2,))[::8] = numpy.arange(125)
    f.create_dataset("narrow", (1000,), "i4", chunks=(4,))[::4] = numpy.arange(250)
    f.create_dataset("rows", (100, 40), "i4", chunks=(5, 10))[::10, ::2] = 3
    chosen = numpy.arange(1000) % 97 < 2
    f.create_dataset("chosen", (1000,), "i4", chunks=(3,))[chosen] = 5
    for name in f: print(name, f[name].id.get_num_chunks(), f[name].id.get_storage_size(), f[name][...].sum())
""",
    # Such reads gave fill values in place of the source's data.
    "a virtual dataset over a container is read": """
import h5py, numpy
with h5py.File("source.h5", "w") as f: f["x"] = numpy.arange(1, 5)
layout = h5py.VirtualLayout((4,), "i8")
layout[:] = h5py.VirtualSource("source.h5", "x", (4,))
with h5py.File("virtual.h5", "w") as f: f.create_virtual_dataset("v", layout, fillvalue=-1)
with h5py.File("virtual.h5", "r") as f: print(f["v"][...])
""",
    # A transform of the transfer list was left out, and the elements came as they are; later it was refused.
    "a data transform is applied": """
import ctypes, h5py, numpy
transform = h5py.h5p.create(h5py.h5p.DATASET_XFER)
assert ctypes.CDLL(h5py.h5p.__file__).H5Pset_data_transform(ctypes.c_int64(transform.id), b"3*x-1") >= 0
space = h5py.h5s.create_simple
with h5py.File("t.h5", "w") as f:
    for name, stored, n in ("same", "f8", 7), ("converted", "i2", 1000), ("many", "f4", 200000):
        values = numpy.arange(n, dtype="f8") % 1000
        d = f.create_dataset(name, (2 * n,), stored, chunks=(n,), shuffle=name == "many")
        there, every = d.id.get_space(), space((2 * n,))
        for way in every, there: way.select_hyperslab((1,), (n,), stride=(2,))
        wide = numpy.zeros(2 * n)
        wide[1::2] = values
        d.id.write(every, there, wide, dxpl=transform)
        print(name, (d[1::2] == 3 * values - 1).all(), not d[0::2].any())
        got = numpy.zeros(n)
        d.id.read(space((n,)), there, got, dxpl=transform)
        print((got == 3 * (3 * values - 1) - 1).all())
    text = f.create_dataset("text", data=numpy.array([b"a"]))
    try:
        text.id.read(h5py.h5s.ALL, h5py.h5s.ALL, numpy.zeros(1, "S1"), dxpl=transform)
        print("read")
    except OSError:
        print("refused")
""",
    # It was accepted, and each flush failed: the headers of a chunk left no room.
    "an alignment that leaves no room in a chunk is refused at the create": """
import h5py, os
os.environ["H5BENTO_ALIGN"] = "64K"
try:
    with h5py.File("aligned.h5", "w") as f: f["x"] = [1.0, 2.0]
    print("written or refused")
except OSError as error:
    print("written or refused" if "align=" in str(error) and "create" in str(error) else error)
del os.environ["H5BENTO_ALIGN"]
with h5py.File("ordinary.h5", "w") as f: f["x"] = [1.0, 2.0]
""",
    # Extent times element size was taken modulo 2^64: the view copied the dataset, element by element.
    "a sparse dataset larger than 64 bits count is closed and read": """
import h5py
for name, shape in (("a", (2**31, 2**31)), ("b", (2**61,))):
    with h5py.File(name + ".h5", "w") as f:
        d = f.create_dataset("x", shape, "f8", chunks=(100,) * len(shape), maxshape=(None,) * len(shape), fillvalue=3.5)
        d[(0,) * len(shape)] = 8
        d[tuple(n - 1 for n in shape)] = 7
    with h5py.File(name + ".h5", "r") as f:
        print(f["x"][tuple(slice(n - 2, n) for n in shape)].tolist(), f["x"][(slice(0, 1),) * len(shape)].tolist())
    with h5py.File(name + ".h5", "r") as f, h5py.File(name + "-ordinary.h5", "w", userblock_size=512) as other:
        f.copy("x", other, "x")
        print(other["x"][(0,) * len(shape)], other["x"][tuple(n - 1 for n in shape)])
""",
    # Each element became a record: minutes at the close, and five times the space.
    "every third element of a dataset is written in one call": """
import h5py, numpy, os
with h5py.File("third.h5", "w") as f: f["x"] = numpy.arange(100_000)
with h5py.File("third.h5", "r+") as f:
    f["x"][::3] = 0
    f["x"][1:90_000:9] = numpy.arange(10_000)
with h5py.File("third.h5", "r") as f: print(f["x"][...].sum(), f["x"][:40].tolist())
print(os.stat("third.h5").st_blocks * 512 < 3_000_000)
""",
    # The write fails, and nothing else: neither what it wrote before the failure nor the next flush.
    "elements that cannot be converted fail in their own call only": """
import ctypes, h5py, numpy
from h5py import h5p, h5s, h5t
with h5py.File("convert.h5", "w") as f:
    d = f.create_dataset("x", (200_000,), "i4", data=numpy.arange(200_000))
    f.flush()
    try:
        d.id.write(h5s.ALL, h5s.ALL, numpy.zeros(200_000, "S4"))
        print("written")
    except OSError: print("no conversion")
    # The program's own function ends it at the first number that is too large, far behind the beginning.
    big = numpy.arange(200_000, dtype="i8") + 7
    big[150_000] = 1 << 40
    hdf5 = ctypes.CDLL(next(line.split()[-1] for line in open("/proc/self/maps") if "/libhdf5.so" in line))
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    abort, plist = kind(lambda *_: -1), h5p.create(h5p.DATASET_XFER)
    hdf5.H5Pset_type_conv_cb.argtypes = [ctypes.c_int64, kind, ctypes.c_void_p]
    assert hdf5.H5Pset_type_conv_cb(plist.id, abort, None) >= 0
    try:
        d.id.write(h5s.ALL, h5s.ALL, big, dxpl=plist)
        print("written")
    except OSError: print("ended")
    f.flush()
    f["after"] = [1, 2]
with h5py.File("convert.h5", "r") as f: print(f["x"][199_990:].tolist(), f["after"][...].tolist())
""",
    # It was stored, and read as the fill value after the next flush.
    "the last of 2^62 elements is read right, or refused when it is written": """
import h5py
with h5py.File("last.h5", "w") as f:
    d = f.create_dataset("x", (2**62,), "i4", chunks=(100,), maxshape=(None,))
    try:
        d[2**62 - 1] = 7
        f.flush()
        print("refused or right" if d[2**62 - 1] == 7 else "wrong")
    except OSError as error:
        print("refused or right" if "step index ends" in str(error) else error)
    d[2**62 - 2] = 6
with h5py.File("last.h5", "r") as f: print(f["x"][2**62 - 2])
""",
    # No path leads to it, so it counted as deleted, and read as zeros.
    "a dataset in a group that holds itself stays when no path leads to it": """
import h5py
with h5py.File("cycle.h5", "w") as f:
    f["g/g"] = f.create_group("g")
    f["g/d"] = list(range(50))
    f.attrs["ref"] = f["g/d"].ref
with h5py.File("cycle.h5", "r+") as f: del f["g"]
with h5py.File("cycle.h5", "r") as f: print(f[f.attrs["ref"]][...].tolist())
with h5py.File("copied.h5", "w") as f:
    f["a/g/g"] = f.create_group("a/g")
    f["a/g/d"] = list(range(50))
    f.copy("a", "b")
    f.attrs["ref"] = f["b/g/d"].ref
with h5py.File("copied.h5", "r+") as f: del f["b"]
with h5py.File("copied.h5", "r") as f: print(f[f.attrs["ref"]][...].tolist())
""",
    # What the links lead to lost its data: it was declared anew, as if it were a copy.
    "a copied group's soft and external links lead to datasets that stay": """
import h5py, numpy
with h5py.File("beyond.h5", "w") as f: f["x"] = numpy.arange(6)
with h5py.File("links.h5", "w") as f:
    f["a"] = numpy.arange(5)
    f["g/own"] = numpy.arange(3)
    f["g/soft"] = h5py.SoftLink("/a")
    f["g/external"] = h5py.ExternalLink("beyond.h5", "/x")
    f.copy("g", "copied")
    f.copy("g", "expanded", expand_soft=True, expand_external=True)
    for name in ("a", "g/soft", "g/external"): f[name][0] = 9
for name in ("links.h5", "beyond.h5"):
    with h5py.File(name, "r") as f:
        f.visit(lambda path: print(path, f[path][...]) if isinstance(f[path], h5py.Dataset) else None)
        if "g" in f: print([f[f"{g}/{n}"][...].tolist() for g in ("g", "copied", "expanded") for n in ("soft", "external")])
""",
    # HDF5 never ended its close.
    "small pages with free space that persists": """
import h5py
with h5py.File("pages.h5", "w", fs_strategy="page", fs_persist=True, fs_page_size=512) as f:
    for i in range(40): f[f"x{i}"] = [i] * 100
    for i in range(0, 40, 2): del f[f"x{i}"]
with h5py.File("pages.h5", "r") as f: print(len(f), f["x5"][...].sum())
""",
    # The library looked for chunks that the skeleton does not have; two extents were left.
    "filtered partial chunks may stay unfiltered, and the dataset grows": """
import h5py, numpy
space = h5py.h5s.create_simple((27,), (h5py.h5s.UNLIMITED,))
dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
dcpl.set_chunk((10,))
dcpl.set_deflate(4)
import ctypes
hdf5 = ctypes.CDLL(h5py.h5p.__file__)
assert hdf5.H5Pset_chunk_opts(ctypes.c_int64(dcpl.id), 2) >= 0
with h5py.File("partial.h5", "w") as f:
    d = h5py.Dataset(h5py.h5d.create(f.id, b"d", h5py.h5t.NATIVE_INT32, space, dcpl))
    d[...] = numpy.arange(27)
    d.resize((45,))
    d[30:35] = 7
    options = ctypes.c_uint(0)
    hdf5.H5Pget_chunk_opts(ctypes.c_int64(d.id.get_create_plist().id), ctypes.byref(options))
    print(options.value, d[...].tolist())
with h5py.File("partial.h5", "r+") as f:
    f["d"].resize((12,))
    f["d"].resize((31,))
    print(f["d"][...].tolist())
""",
    # The close said that all was well, and no later open succeeded.
    "shared header messages and an image of the metadata cache": """
import ctypes, h5py, numpy
class Image(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), ("generate", ctypes.c_bool), ("resize", ctypes.c_bool), ("ageout", ctypes.c_int)]
hdf5 = ctypes.CDLL(h5py.h5p.__file__)
fapl = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
fcpl = h5py.h5p.create(h5py.h5p.FILE_CREATE)
fapl.set_libver_bounds(h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)
assert hdf5.H5Pset_mdc_image_config(ctypes.c_int64(fapl.id), ctypes.byref(Image(1, True, False, -1))) >= 0
assert hdf5.H5Pset_shared_mesg_nindexes(ctypes.c_int64(fcpl.id), 1) >= 0
assert hdf5.H5Pset_shared_mesg_index(ctypes.c_int64(fcpl.id), 0, 0x1f, 16) >= 0
assert hdf5.H5Pset_shared_mesg_phase_change(ctypes.c_int64(fcpl.id), 4, 2) >= 0
with h5py.File(h5py.h5f.create(b"shared.h5", h5py.h5f.ACC_TRUNC, fcpl, fapl)) as f:
    for i in range(80):
        f.create_dataset(f"d{i}", data=numpy.arange(100) * 3 + i, maxshape=(None,), chunks=(16,)).attrs["a"] = numpy.arange(100) + i
for mode in ("r+", "r"):
    with h5py.File("shared.h5", mode) as f:
        print(sum(int(f[f"d{i}"][...].sum()) * (i + 1) + int(f[f"d{i}"].attrs["a"].sum()) for i in range(80)))
        if mode == "r+":
            for i in range(0, 80, 3): f[f"d{i}"][50:] = -i
""",
    # Elements are converted while their record is written: another one in the middle came to the same place.
    "a write from inside a type conversion": """
import ctypes, h5py, numpy
hdf5 = ctypes.CDLL(h5py.h5p.__file__)
small, large = numpy.arange(1 << 18, dtype="f8"), numpy.arange(1 << 18, dtype="f8")
large[[7, 1 << 17]] = 1e300
said = []
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64, *[ctypes.c_void_p] * 3)
def overflow(kind, from_, to, source, target, data):
    said.append("")
    f[f"inner{len(said)}"][...] = small
    f.flush()
    ctypes.cast(target, ctypes.POINTER(ctypes.c_float))[0] = -1
    return 1
dxpl = h5py.h5p.create(h5py.h5p.DATASET_XFER)
assert hdf5.H5Pset_type_conv_cb(ctypes.c_int64(dxpl.id), overflow, None) >= 0
with h5py.File("nested.h5", "w") as f:
    f.create_dataset("x", (1 << 18,), "f4")
    for i in (1, 2): f.create_dataset(f"inner{i}", (1 << 18,), "f8")
    f.flush()
    f["x"].id.write(h5py.h5s.ALL, h5py.h5s.ALL, large, dxpl=dxpl)
large[[7, 1 << 17]] = -1
with h5py.File("nested.h5", "r") as f:
    print((f["x"][...] == large.astype("f4")).all())
    print(len(said), [bool((f[f"inner{i}"][...] == small).all()) for i in (1, 2)])
""",
    # It was read into the program's buffer first, and found out there that it cannot be converted.
    "a read that cannot be converted leaves the buffer as it was": """
import h5py, numpy
opaque = h5py.h5t.create(h5py.h5t.OPAQUE, 4)
text = h5py.h5t.C_S1.copy()
text.set_size(8)
with h5py.File("f.h5", "w") as f:
    f["written"] = numpy.arange(100, dtype="i4")
    f.create_dataset("unwritten", (100,), "i4")
    for name in "written", "unwritten":
        for kind in opaque, text:
            buffer = numpy.full(100, -9, "i8")
            try:
                f[name].id.read(h5py.h5s.ALL, h5py.h5s.ALL, buffer, kind)
                print("read")
            except Exception:
                print(name, "refused, buffer kept:", bool((buffer == -9).all()))
""",
    # A chunk too small for one element made the writer skip through all blocks a file may have.
    "an element larger than a chunk is refused at once, naming the key": """
import h5py, numpy
try:
    with h5py.File("big.h5", "w") as f:
        f.create_dataset("x", (2,), dtype="S100000")[...] = b"y"
    print("written or refused")
except Exception as error:
    print("written or refused" if "chunk=" in str(error) else error)
""",
    # HDF5 holds a chunk against a fixed dimension only where a dataset is created with elements in it: the file had no view.
    "stock HDF5 sees a dataset whose chunk is larger than it can ever be": """
import h5py, numpy, os, subprocess
from h5py import h5d, h5p, h5s, h5t
with h5py.File("g.h5", "w") as f:
    f["other"] = numpy.arange(5)
    text = h5t.py_create(h5py.string_dtype(), logical=True)
    for name, kind, value in (("grown", h5t.NATIVE_INT32, 7), ("texts", text, "seven"), ("never", h5t.NATIVE_INT32, None)):
        chunked = h5p.create(h5p.DATASET_CREATE)
        chunked.set_chunk((2,))
        one = h5d.create(f.id, name.encode(), kind, h5s.create_simple((0,), (1,)), chunked)
        one.set_extent((1,))
        if value is not None:
            h5py.Dataset(one)[0] = value
READ = "import h5py; f = h5py.File('g.h5'); print({name: f[name][()].tolist() for name in f}, f['grown'].chunks)"
env = {key: value for key, value in os.environ.items() if not key.startswith("HDF5_")}
print(subprocess.run([os.environ["H5BENTO_PYTHON_NATIVE"], "-c", READ], env=env, capture_output=True, text=True).stdout)
""",
}


def run_all():
    """Each of them finds no variable of another one, and no file."""
    top = os.getcwd()
    for number, program in enumerate(BUGS.values()):
        print(f"== {number}", flush=True)
        os.mkdir(str(number))
        os.chdir(str(number))
        exec(compile(program, f"program {number}", "exec"), {"__name__": "__main__"})
        sys.stdout.flush()
        os.chdir(top)


def printed(folder, env):
    """What each of them prints."""
    os.mkdir(folder)
    result = run([python(), "-B", os.path.abspath(__file__), "--run"], env, cwd=folder, timeout=120)
    parts = re.split(r"^== (\d+)\n", result.out, flags=re.M)[1:]
    check(parts[::2] == [str(number) for number in range(len(BUGS))], f"{folder}: {parts[::2]} were run")
    return parts[1::2]


def test():
    natively = printed("native", native_env())
    under = printed("bento", bento_env(stats="stats", string="bento chunk=64K"))
    for number, name in enumerate(BUGS):
        check(natively[number].strip(), f"{name}: prints nothing")
        check(under[number] == natively[number], f"{name}: natively\n{natively[number]}\nunder the connector\n{under[number]}")
        folder = os.path.join("bento", str(number))
        made = [path for path in os.listdir(folder) if is_container(os.path.join(folder, path))]
        check(made or REHEARSAL, f"{name}: no file was a container")
        say(f"{name}: as natively")
    check_containers("stats")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run_all()
        sys.exit(0)
    run_test(test, containers=20, unfinished={"big.h5": "its only dataset was refused"})
