#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""One dataset that cannot be read costs the native view that dataset, and no other: a damaged small one, one whose filter the
program has not. One that HDF5 cannot read where nobody wrote is there, and so is one that HDF5 refuses to open again.

    native_view_damage.py
"""

import os
import struct
import sys

from harness import ANY, bento_env, built, check, native_env, python, run, run_test

WRITE = """
import h5py, numpy as np
with h5py.File("a.h5", "w") as f:
    for i in range(20):
        f[f"d{i}"] = np.arange(200.0) + 1000 * i + 0.5
    f["big"] = np.arange(1e6)
    f.create_dataset("chunked", data=np.arange(300.0) + 0.25, chunks=(100,))
"""
APPEND = """
import h5py
with h5py.File("a.h5", "r+") as f:
    f["new"] = 1
"""
# Stock HDF5, without the plugin.
READ = """
import h5py, numpy as np, sys
damaged = sys.argv[1:]
with h5py.File("a.h5", "r") as f:
    for i in range(20):
        if f"d{i}" not in damaged:
            assert np.array_equal(f[f"d{i}"][...], np.arange(200.0) + 1000 * i + 0.5), i
    assert np.array_equal(f["big"][...], np.arange(1e6)) and f["new"][()] == 1
    if "chunked" not in damaged:
        assert np.array_equal(f["chunked"][...], np.arange(300.0) + 0.25)
    for name in damaged:
        link = f.get(name, getlink=True)
        assert isinstance(link, h5py.SoftLink) and "cannot be read" in link.path, link
        assert f.get(name) is None
"""


# Text of any length stays in the skeleton, and natively what nobody wrote of "notes" cannot be read.
WRITE_TEXT = """
import h5py, numpy as np
with h5py.File("t.h5", "w") as f:
    f["other"] = np.arange(1000)
    notes = f.create_dataset("notes", (1000, 3), maxshape=(None, 3), chunks=(100, 2), dtype=h5py.string_dtype(), fillvalue="n/a")
    notes[3, 0] = "here"
    notes[950:, 2] = "there"
    packed = f.create_dataset("group/packed", data=["text"] * 300, dtype=h5py.string_dtype(), chunks=(30,), compression="lzf")
    f["second"] = packed
    f["group/über"] = packed
    f["references"] = np.array([packed.ref, notes.ref], dtype=h5py.ref_dtype)
"""
READ_TEXT = """
import h5py, numpy as np, sys
with h5py.File("t.h5", "r") as f:
    assert np.array_equal(f["other"][...], np.arange(1000))
    wanted = np.full((1000, 3), b"n/a", dtype=object)
    wanted[3, 0] = b"here"
    wanted[950:, 2] = b"there"
    assert (f["notes"][...] == wanted).all()
    assert f["notes"].chunks == (100, 2) and f["notes"].maxshape == (None, 3)
    assert f[f["references"][1]].name == "/notes"
    for name in ("group/packed", "second", "group/über"):
        if sys.argv[1] == "all":
            assert (f[name][...] == b"text").all()
            continue
        link = f.get(name, getlink=True)
        assert isinstance(link, h5py.SoftLink) and "lzf" in link.path, link.path
    assert bool(f["references"][0]) == (sys.argv[1] == "all")
"""


# HDF5 1.14.5 makes such a dataset, and takes it for damaged when it is opened again.
WRITE_NARROW = """
import h5py, numpy as np
with h5py.File("n.h5", "w") as f:
    f["good"] = np.arange(1000)
    narrow = h5py.h5t.STD_I32LE.copy()
    narrow.set_precision(12)
    space = h5py.h5s.create_simple((4,))
    made = h5py.h5d.create(f.id, b"narrow", h5py.h5t.array_create(narrow, (1,)), space)
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([[1], [2], [3], [4]]), h5py.h5t.array_create(h5py.h5t.NATIVE_INT64, (1,)))
"""
READ_NARROW = """
import h5py, numpy as np, sys
for name in sys.argv[1:]:
    with h5py.File(name, "r") as f:
        assert np.array_equal(f["good"][...], np.arange(1000)), name
        assert f.get("narrow", getlink=True).__class__ is h5py.HardLink, name
"""


def refused_again():
    said = run([python(), "-c", WRITE_NARROW], bento_env())
    check("native view" not in said.text, said.text)
    tool = built("bin", "h5bento")
    for words in ("view build n.h5", "export n.h5 exported.h5", "defrag n.h5 copied.h5"):
        said = run([tool, *words.split()], native_env())
        check("not in the native view" not in said.text and "left out" not in said.text, said.text)
    run([os.environ["H5BENTO_PYTHON_NATIVE"], "-c", READ_NARROW, "n.h5", "exported.h5", "copied.h5"], native_env())


def unreadable():
    """The program h5bento has no LZF, which h5py brings with it."""
    stock = [os.environ["H5BENTO_PYTHON_NATIVE"], "-c", READ_TEXT]
    said = run([python(), "-c", WRITE_TEXT], bento_env())
    check("native view" not in said.text, said.text)
    run([*stock, "all"], native_env())
    said = run([built("bin", "h5bento"), "view", "build", "t.h5"], native_env())
    check("'/group/packed' is not in the native view" in said.text or "'/second' is not" in said.text, said.text)
    check("lzf" in said.text, said.text)
    run([*stock, "some"], native_env())


def damage(value):
    """Flips a bit of a value that is in the file once in its stream, and perhaps in the view."""
    with open("a.h5", "r+b") as file:
        data = file.read()
        pattern = struct.pack("<4d", *(value + i for i in range(4)))
        at = data.find(pattern)
        check(at >= 0, f"{value} is not in the file")
        file.seek(at)
        file.write(bytes([data[at] ^ 4]))


# HDF5 1.14.5 stores integers that use all their bits so that it cannot read them back. In pieces that overlap, and larger
# than what is copied at once; view_maps=1 makes the view a copy of it.
SCALED = '''
import h5py, numpy as np
with h5py.File("scaled.h5", "w") as f:
    values = np.random.default_rng(1).integers(0, 256, (400, 735))
    scaled = f.create_dataset("scaled", values.shape, "u1", chunks=(20, 105), scaleoffset=0)
    scaled[:] = values
    f.flush()
    scaled[17:33, 50:120] = 7
    f["a/again"] = f["z"] = scaled
    f["other"] = np.arange(100000)
'''
READ_SCALED = '''
import h5py, numpy as np
with h5py.File("scaled.h5", "r") as f:
    assert np.array_equal(f["other"][...], np.arange(100000))
    for name in ("scaled", "a/again", "z"):
        assert isinstance(f.get(name, getlink=True), h5py.SoftLink) and f.get(name) is None, name
'''


def unreadable_pieces():
    said = run([python(), "-c", SCALED], bento_env(string="bento view_maps=1"))
    check("is not in the native view" in said.text and "do not pass the dataset's filters" in said.text, said.text)
    run([os.environ["H5BENTO_PYTHON_NATIVE"], "-c", READ_SCALED], native_env())


def main():
    unreadable_pieces()
    refused_again()
    unreadable()
    for damaged, value in ((["d5"], 5000.5), (["chunked"], 0.25)):
        run([python(), "-c", WRITE], bento_env())
        damage(value)
        said = run([python(), "-c", APPEND], bento_env())
        check(f"'/{damaged[0]}' is not in the native view" in said.text and "cannot be read" in said.text, said.text)
        run([os.environ["H5BENTO_PYTHON_NATIVE"], "-c", READ, *damaged], native_env())
        found = run([built("bin", "h5bento"), "verify", "a.h5"], native_env(), ok=ANY)
        check(found.status == 1, found.text)
    run([python(), "-c", WRITE], bento_env())  # for the checks at the end


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run_test(main, *sys.argv[1:], containers=3)
