#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Groups of the old format with many small datasets: their object headers, the texts of their attributes and the groups' symbol
tables come into the native view as bytes that the library did not write. Stock HDF5, an h5py wheel and the version of the tests,
must find in them what is in a natively written file, and must be able to change them.

    native_view_tables.py [LARGEST]     links of the largest group (default 300)

For the test itself: --write FILE LARGEST, --change FILE...
"""

import os
import random
import shutil
import sys

# Around the ends of a leaf (8 links), of a node (256), and of what gets a table of its own (32).
SIZES = (1, 8, 9, 31, 32, 33, 256, 257)


# ---- what is written -----------------------------------------------------------------------------


def write(path, largest):
    import h5py
    import numpy as np

    def attributes(made, number):
        kind = number % 7
        if kind == 0:
            made.attrs["number"] = number
        elif kind == 1:
            made.attrs["text"] = "of dataset %d" % number
            made.attrs["no text"] = ""
        elif kind == 2:
            made.attrs.create("texts", ["one", "", "three" * 10, "vier \u00fc"], dtype=h5py.string_dtype())
            made.attrs["fixed"] = np.bytes_("fixed %d" % number)
        elif kind == 3:
            made.attrs["long"] = "long text " * (1000 if number % 21 == 3 else 20)
        elif kind == 4:
            for i in range(12):
                made.attrs["a%d" % i] = "%d " % i * 30
        elif kind == 5:
            made.attrs["none"] = h5py.Empty("f4")

    def fill(group, count):
        order = list(range(count))
        random.Random(count).shuffle(order)
        for number in order:
            name = "%s%d" % ("x" * (number % 40), number)
            if number % 11 == 10:
                made = group.create_dataset(name, data=np.float32(number))
            elif number % 13 == 12:
                made = group.create_dataset(name, (3, 0), "i2")
            else:
                made = group.create_dataset(name, data=np.arange(number % 60 + 1) + number)
            attributes(made, number)

    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        file.attrs["title"] = "of the root group"
        fill(file, 60)
        for count in SIZES:
            fill(file.create_group("group%d" % count), count)
        large = file.create_group("large")
        large.attrs["kind"] = "the largest"
        fill(large, largest)
        # Links that the library makes, between those that it does not.
        large["soft"] = h5py.SoftLink("/group33/0")
        large["soft, leading nowhere"] = h5py.SoftLink("/nowhere")
        large["second link"] = large["x1"]
        large["link to elsewhere"] = file["group32/xx2"]
        file["from elsewhere"] = file["large/xxx3"]
        for number in (0, 5, 40):
            fill(large.create_group("sub%d" % number), number)
        large.create_dataset("large", data=np.arange(20000).reshape(100, 200))
        large.create_dataset("chunked", data=np.arange(5000), chunks=(70,), compression="gzip")
        large.create_dataset("growing", data=np.arange(50), maxshape=(None,))
        large.create_dataset("compound", data=np.zeros(4, [("a", "i4"), ("b", "f8")]))
        # What makes a group one of the new format.
        fill(file.create_group("ordered", track_order=True), 40)
        named = file.create_group("named")
        fill(named, 50)
        named["\u00fcber"] = 1
        external = file.create_group("external")
        fill(external, 50)
        external["out"] = h5py.ExternalLink("other.h5", "/x")
        # References to objects that have no link yet when they are asked for.
        places = [file["large/xx2"].ref, file["group257/x1"].ref, file["large"].ref, file["x1"].ref]
        file.create_dataset("references", data=places, dtype=h5py.ref_dtype)
        file["large"].attrs["see"] = file["group9/0"].ref


# ---- what a stock program changes ----------------------------------------------------------------


def change(path):
    """The same on each copy: links go, come and move, attributes change."""
    import h5py

    draw = random.Random(4)
    with h5py.File(path, "r+") as file:
        for place in ("/", "large", "group257", "group8"):
            group = file[place]
            hard = [x for x in group if group.get(x, getclass=True, getlink=True) is h5py.HardLink]
            names = sorted(x for x in hard if isinstance(group[x], h5py.Dataset))
            gone = draw.sample(names, len(names) * 2 // 3)
            for name in gone:
                del group[name]
            left = [x for x in names if x not in gone]
            for number in range(300):
                group["%snew %d" % (draw.choice("aAxz"), number)] = number
            for name in left[::3]:
                group.move(name, "moved " + name)
            for name in left[1::3]:
                group[name].attrs["text"] = "another text " * 20
                group[name].attrs["added"] = "by stock HDF5"
        for name in list(file["group33"]):
            del file["group33"][name]
        file["group33/again"] = 1


# ---- the test ------------------------------------------------------------------------------------


def test(largest="300"):
    script = os.path.abspath(__file__)
    for folder, env in (("native", native_env()), ("view", bento_env())):
        os.makedirs(folder)
        run([python(), "-B", script, "--write", os.path.join(folder, "tables.h5"), largest], env, timeout=600)
    check_container("view/tables.h5")
    counts = examine("native", "view", ["tables.h5"], "as it was closed")
    check(counts["objects"] > 1000, f"too little was compared: {counts}")
    compare([("native/tables.h5", "view/tables.h5")], interpreter=python())
    check_old_format("view/tables.h5")
    interpreters = stock_python(), python()
    cases = [(writer, reader) for writer in interpreters for reader in interpreters]
    changed = None
    for writer, reader in some(1, cases):
        if writer != changed:
            for folder in ("native", "view"):
                shutil.copy(f"{folder}/tables.h5", f"{folder}/changed.h5")
            run([writer, "-B", script, "--change", "native/changed.h5", "view/changed.h5"], stock_env(), timeout=600)
            changed = writer
        compare([("native/changed.h5", "view/changed.h5")], interpreter=reader)
    # Data in place that was deleted there is overwritten: no container to be checked any more.
    os.remove("view/changed.h5")
    # A later session makes a new view behind the old one.
    more = "import h5py; f = h5py.File('{}', 'r+'); f['large/later'] = 5; del f['group256/0']; f['x1'].attrs['more'] = 'text'"
    for folder, env in (("native", native_env()), ("view", bento_env())):
        run([python(), "-B", "-c", more.format(f"{folder}/tables.h5")], env)
    examine("native", "view", ["tables.h5"], "after one more session")


def check_old_format(path):
    """Otherwise this would be no test of them."""
    largest = re.search(r"B-tree/List: (\d+)", run([hdf5_tool("h5stat"), "-g", "-F", path], stock_env()).out)
    check(harness.REHEARSAL or (largest and int(largest[1]) > 10000), f"no symbol tables: {largest and largest[1]} bytes")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1:2] == ["--change"]:
        for path in sys.argv[2:]:
            change(path)
    else:
        import re

        import harness
        from harness import bento_env, check, check_container, hdf5_tool, native_env, python, run, run_test, some
        from native_view_check import compare, examine, stock_env, stock_python

        run_test(test, *sys.argv[1:])
