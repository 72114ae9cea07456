#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Native views with very many objects, links or mappings; h5py from a wheel, without a plugin, walks all of it.

    native_view_many.py datasets COUNT [RANKS]    small datasets with an attribute each
    native_view_many.py links COUNT               links in one group of the old format, chunk=32K
    native_view_many.py attributes COUNT          attributes of one group of the latest format
    native_view_many.py maps COUNT                pieces of one dataset, view_maps=COUNT, chunk=32K

For the test itself: --write MODE COUNT, --stock MODE COUNT.
"""

import os
import sys

from launched import world

ELEMENTS = 128
WIDTH = 16  # of the table in pieces
DISTANCE = 40  # of its rows that are written: 2496 bytes lie between two
FILE = "many.h5"


def value_of(number):
    return number * 0.5


# ---- datasets ------------------------------------------------------------------------------------


def write_datasets(count):
    import h5py
    import numpy as np

    rank, size, access, _ = world()
    with h5py.File(FILE, "w", **access) as file:
        for number in range(count):
            dataset = file.create_dataset(f"d{number}", (ELEMENTS,), "f8")
            dataset.attrs["number"] = number
            if number % size == rank:
                dataset[...] = np.full(ELEMENTS, value_of(number))


def stock_datasets(count):
    import h5py

    with h5py.File(FILE, "r") as file:
        assert len(file) - (".h5bento" in file) == count, len(file)
        for number in range(count):
            dataset = file[f"d{number}"]
            assert dataset.attrs["number"] == number, number
            assert (dataset[...] == value_of(number)).all(), number


# ---- links ---------------------------------------------------------------------------------------


def write_links(count):
    import h5py

    with h5py.File(FILE, "w", libver=("earliest", "v110")) as file:
        group = file.create_group("group")
        target = file.create_dataset("target", data=range(10))
        for number in range(count):
            name = b"link %d" % number
            if number % 2:
                group.id.links.create_soft(name, b"/target")
            else:
                h5py.h5o.link(target.id, group.id, name)


def stock_links(count):
    import h5py

    with h5py.File(FILE, "r") as file:
        group = file["group"]
        found = 0

        def seen(name):
            nonlocal found
            assert name.startswith(b"link "), name
            found += 1

        group.id.links.iterate(seen)
        assert found == count, found
        for number in {0, 1, 2, count // 3, count // 2, count - 2, count - 1}:
            assert (group[f"link {number}"][...] == range(10)).all(), number


# ---- attributes ----------------------------------------------------------------------------------


def attribute(number):
    import numpy as np

    return "attribute %d of a group that has very many" % number, np.arange(20) + number


def write_attributes(count):
    import h5py

    with h5py.File(FILE, "w", libver="latest") as file:
        group = file.create_group("group")
        for number in range(count):
            group.attrs.create(*attribute(number))


def stock_attributes(count):
    import h5py

    with h5py.File(FILE, "r") as file:
        attributes = file["group"].attrs
        assert len(attributes) == count, len(attributes)
        for number in range(count):
            name, values = attribute(number)
            assert (attributes[name] == values).all(), number


# ---- mappings ------------------------------------------------------------------------------------


def rows_of(count):
    """Rows so far apart that the gaps between them are not stored, in an order that leaves no two side by side in the file."""
    import numpy as np

    return np.random.default_rng(5).permutation(count) * DISTANCE


def write_maps(count):
    import h5py
    import numpy as np

    with h5py.File(FILE, "w") as file:
        table = file.create_dataset("table", (DISTANCE * count, WIDTH), "i4")
        for row in rows_of(count):
            table[row, :] = np.arange(WIDTH) + row


def stock_maps(count):
    import h5py
    import numpy as np

    with h5py.File(FILE, "r") as file:
        table = file["table"]
        assert table.is_virtual, "the dataset is not virtual"
        assert table.id.get_create_plist().get_virtual_count() > count // 2
        values = table[: DISTANCE * min(count, 2000)]
        wanted = np.arange(len(values))[:, None] + np.arange(WIDTH)
        wanted[np.arange(len(values)) % DISTANCE != 0] = 0
        assert (values == wanted).all()


# ---- the test ------------------------------------------------------------------------------------


def test(mode, count, ranks="1"):
    script = os.path.abspath(__file__)
    string = {"datasets": "", "attributes": "", "links": "chunk=32K", "maps": f"chunk=32K;view_maps={count}"}[mode]
    string = (connector() or "") + ((";" if " " in (connector() or "") else " ") + string if string else "")
    env = bento_env(string=string)
    command = [python(), "-B", script, "--write", mode, count]
    written = mpirun(ranks, command, env, timeout=3600) if ranks != "1" else run(command, env, timeout=3600)
    say(f"written in {written.seconds:.1f} s")
    check("native view" not in written.err, written.tail())
    check_container(FILE)
    read = run([stock_python(), "-B", script, "--stock", mode, count], stock_env(), timeout=3600)
    say(f"{count} {mode}, seen by the wheel in {read.seconds:.1f} s")
    # Goes on behind the view, which stays as it is.
    run([python(), "-B", "-c", f"import h5py; h5py.File('{FILE}', 'r+').attrs['more'] = 1"], env, timeout=3600)
    run([stock_python(), "-B", script, "--stock", mode, count], stock_env(), timeout=3600)


if __name__ == "__main__":
    if sys.argv[1] in ("--write", "--stock"):
        globals()[f"{sys.argv[1][2:]}_{sys.argv[2]}"](int(sys.argv[3]))
    else:
        from harness import bento_env, check, check_container, connector, mpirun, python, run, run_test, say
        from native_view_check import stock_env, stock_python

        run_test(test, *sys.argv[1:])
