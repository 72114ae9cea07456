#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""One damaged small dataset costs the native view that dataset, and no other.

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
        assert isinstance(link, h5py.SoftLink) and "damaged" in link.path, link
        assert f.get(name) is None
"""


def damage(value):
    """Flips a bit of a value that is in the file once in its stream, and perhaps in the view."""
    with open("a.h5", "r+b") as file:
        data = file.read()
        pattern = struct.pack("<4d", *(value + i for i in range(4)))
        at = data.find(pattern)
        check(at >= 0, f"{value} is not in the file")
        file.seek(at)
        file.write(bytes([data[at] ^ 4]))


def main():
    for damaged, value in ((["d5"], 5000.5), (["chunked"], 0.25)):
        run([python(), "-c", WRITE], bento_env())
        damage(value)
        said = run([python(), "-c", APPEND], bento_env())
        check(f"'/{damaged[0]}' is not in the native view" in said.text and "damaged" in said.text, said.text)
        run([os.environ["H5BENTO_PYTHON_NATIVE"], "-c", READ, *damaged], native_env())
        found = run([built("bin", "h5bento"), "verify", "a.h5"], native_env(), ok=ANY)
        check(found.status == 1, found.text)
    run([python(), "-c", WRITE], bento_env())  # for the checks at the end


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run_test(main, *sys.argv[1:], containers=1)
