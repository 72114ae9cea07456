#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""One program for each bug that was found and fixed; each failed before its fix. The same program runs natively, and
prints the same."""

from harness import bento_env, check, check_containers, native_env, python, run, run_test, say

BUGS = {
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
    # Such reads gave fill values in place of the source's data.
    "a virtual dataset over a container is read right or refused": """
import h5py, numpy
with h5py.File("source.h5", "w") as f: f["x"] = numpy.arange(1, 5)
layout = h5py.VirtualLayout((4,), "i8")
layout[:] = h5py.VirtualSource("source.h5", "x", (4,))
with h5py.File("virtual.h5", "w") as f: f.create_virtual_dataset("v", layout, fillvalue=-1)
try:
    with h5py.File("virtual.h5", "r") as f: right = f["v"][...].tolist() == [1, 2, 3, 4]
except OSError as error:
    right = "container" in str(error)
print(right)
""",
    # A transform of the transfer list was left out: the elements came as they are.
    "a data transform is applied or refused": """
import ctypes, h5py, numpy
twice = h5py.h5p.create(h5py.h5p.DATASET_XFER)
assert ctypes.CDLL(h5py.h5p.__file__).H5Pset_data_transform(ctypes.c_int64(twice.id), b"2*x") >= 0
with h5py.File("t.h5", "w") as f:
    d = f.create_dataset("x", data=numpy.arange(4.0))
    got = numpy.zeros(4)
    try:
        d.id.read(d.id.get_space(), d.id.get_space(), got, dxpl=twice)
        print("right" if got.tolist() == [0, 2, 4, 6] else got)
    except OSError as error:
        print("right" if "H5Pset_data_transform" in str(error) else error)
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
}


def test():
    for number, (name, program) in enumerate(BUGS.items()):
        natively = run([python(), "-c", program], native_env())
        under = run([python(), "-c", program], bento_env(stats=f"stats-{number}", string="bento chunk=64K"))
        check(under.out == natively.out, f"{name}: natively\n{natively.out}\nunder the connector\n{under.out}")
        check_containers(f"stats-{number}")
        say(f"{name}: as natively")


if __name__ == "__main__":
    run_test(test)
