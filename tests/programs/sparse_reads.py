#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Selections that leave out most of a dataset, of records that were written step by step or as a whole: the right values,
and not many more reads than natively.

    sparse_reads.py               the test
    sparse_reads.py --run NAME... some of its programs
"""

import os
import resource
import sys

from harness import bento_env, check, native_env, python, run, run_test, say

SEEDS = 40 if os.environ.get("H5BENTO_TEST_ALL") else 16  # all kinds of selections are among them
STEPS = 120  # of 180 x 360 numbers: 30 MB in records of 259 KB, more than are kept


class Cost:
    """What this process has asked files for since."""

    def __init__(self):
        self.before = self.now()

    @staticmethod
    def now():
        with open("/proc/self/io") as file:
            words = dict(line.split(": ") for line in file)
        return int(words["syscr"]), int(words["rchar"])

    def __str__(self):
        calls, taken = (now - before for now, before in zip(self.now(), self.before))
        return f"{calls} {taken}"


def written(layout):
    """A file with values that say where they are; gives them, too."""
    import h5py
    import numpy as np

    values = np.arange(STEPS * 180 * 360, dtype="f4").reshape(STEPS, 180, 360)
    with h5py.File(f"{layout}.h5", "w") as file:
        if layout == "steps":
            data = file.create_dataset("u", values.shape, "f4")
            for i in range(STEPS):
                data[i] = values[i]
        elif layout == "columns":
            data = file.create_dataset("u", values.shape, "f4", chunks=(STEPS, 18, 36))
            for i in range(0, 180, 18):
                for j in range(0, 360, 36):
                    data[:, i : i + 18, j : j + 36] = values[:, i : i + 18, j : j + 36]
        elif layout == "filtered":
            data = file.create_dataset("u", values.shape, "f4", chunks=(8, 90, 180), compression="lzf")
            data[...] = values
        else:
            data = file.create_dataset("u", data=values)
        data = file.create_dataset("holes", values.shape, "f4", fillvalue=-1)
        values[::7] = -1
        for i in range(STEPS):
            if i % 7:
                data[i] = values[i]
        del data
    return h5py.File(f"{layout}.h5", "r")


def every_tenth():
    import numpy as np

    with written("steps") as file:
        cost = Cost()
        found = file["u"][:, ::10, ::10]
        print("cost", cost)
    wanted = np.arange(STEPS * 180 * 360, dtype="f4").reshape(STEPS, 180, 360)[:, ::10, ::10]
    assert (found == wanted).all()


def lines():
    """One element of each step, again and again."""
    import numpy as np

    values = np.arange(STEPS * 180 * 360, dtype="f4").reshape(STEPS, 180, 360)
    with written("steps") as file:
        data = file["u"]
        for k in range(-1, 40):
            if k == 0:
                cost = Cost()
            y, x = (k * 37) % 180, (k * 101) % 360
            assert (data[:, y, x] == values[:, y, x]).all(), (y, x)
        print("cost", cost)


def selections():
    """Random ones, of all layouts."""
    import random

    import numpy as np
    from h5py import h5s

    values = np.arange(STEPS * 180 * 360, dtype="f4").reshape(STEPS, 180, 360)
    holes = values.copy()
    holes[::7] = -1
    # Natively they show that the values are the wanted ones, in one layout as in another.
    for layout in ("steps", "columns", "filtered", "whole") if os.environ.get("HDF5_VOL_CONNECTOR") else ("steps",):
        with written(layout) as file:
            for seed in range(SEEDS):
                rng = random.Random(seed)
                name, wanted = rng.choice((("u", values), ("holes", holes)))
                data = file[name]
                space = data.id.get_space()
                kind = rng.choice(("regular", "regular", "lists", "points", "union"))
                if kind == "regular":
                    start, count, step, block = [], [], [], []
                    for extent in data.shape:
                        gap = rng.choice((1, 2, 5, 10, 40))
                        block.append(rng.randint(1, rng.choice((1, 3, gap + 1, extent))))
                        step.append(block[-1] + gap - 1)
                        start.append(rng.randint(0, extent - block[-1]))
                        most = (extent - start[-1] - block[-1]) // step[-1] + 1
                        count.append(rng.choice((1, most, rng.randint(1, most))))
                    space.select_hyperslab(tuple(start), tuple(count), tuple(step), tuple(block))
                    at = np.ix_(*[
                        [s + i * t + k for i in range(c) for k in range(b)]
                        for s, c, t, b in zip(start, count, step, block)
                    ])
                    right = wanted[at].ravel()
                    said = (start, count, step, block)
                elif kind == "lists":
                    axis = rng.randrange(3)
                    some = sorted(rng.sample(range(data.shape[axis]), 20))
                    at = [slice(None, None, rng.choice((1, 9, 30))) for _ in range(3)]
                    at[axis] = some
                    said = tuple(at)
                    assert (data[said] == wanted[said]).all(), (layout, name, seed, said)
                    continue
                elif kind == "points":
                    points = [[rng.randrange(extent) for extent in data.shape] for _ in range(200)]
                    if rng.random() < 0.5:
                        points.sort()
                    space.select_elements(points)
                    right = np.array([wanted[tuple(point)] for point in points])
                    said = points
                else:
                    mask = np.zeros(data.shape, "?")
                    space.select_none()
                    for _ in range(rng.randint(2, 8)):
                        first = [rng.randrange(extent) for extent in data.shape]
                        size = [rng.randint(1, min(20, e - f)) for e, f in zip(data.shape, first)]
                        space.select_hyperslab(tuple(first), tuple(size), op=h5s.SELECT_OR)
                        mask[tuple(slice(f, f + s) for f, s in zip(first, size))] = True
                    right = wanted[mask]
                    said = "union"
                found = np.empty(len(right), "f4")
                data.id.read(h5s.create_simple((len(right),)), space, found)
                assert (found == right).all(), (layout, name, seed, kind, said)
    print("right")


def table_columns():
    """Single columns, in no order, of tables that were written as a whole, with chunks of a column or two."""
    import h5py
    import numpy as np

    rows, columns = 60000, 40
    values = np.arange(rows * columns, dtype="f8").reshape(rows, columns)
    kinds = {"one": ("f8", (1000, 1)), "two": ("f8", (999, 2)), "converted": ("i4", (1000, 3))}
    with h5py.File("table.h5", "w") as file:
        for name, (kind, chunk) in kinds.items():
            file.create_dataset(name, data=values.astype(kind) if name != "converted" else None, shape=values.shape,
                                dtype=kind, chunks=chunk)
        file["converted"][...] = values
        file["one"][...] = values  # again, over what is there
        file["two"][7:19, 3:8] = -1
    wanted = {name: values.copy() for name in kinds}
    wanted["two"][7:19, 3:8] = -1
    rng = np.random.default_rng(3)
    with h5py.File("table.h5", "r") as file:
        cost = None
        for name in kinds:
            data = file[name]
            assert (data[:, 5] == wanted[name][:, 5]).all(), name
            cost = cost or Cost()
            for column in rng.permutation(columns)[:20]:
                assert (data[:, column] == wanted[name][:, column]).all(), (name, column)
        print("cost", cost)
        for name in kinds:
            data, all_of_it = file[name], wanted[name]
            assert (data[...] == all_of_it).all() and (data[1000:30000:7, 1:39] == all_of_it[1000:30000:7, 1:39]).all(), name
            for row in rng.integers(rows, size=50):
                assert (data[row] == all_of_it[row]).all(), (name, row)
    # A conversion takes no memory for all of the table.
    values = np.arange(400000 * 40, dtype="f8").reshape(400000, 40)
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with h5py.File("converted.h5", "w") as file:
        data = file.create_dataset("d", values.shape, "f4", chunks=(1000, 1))
        before = peak()
        data[...] = values
        assert peak() - before < 64 << 10, f"{peak() - before} KiB"
        assert (data[:, 11] == values[:, 11].astype("f4")).all() and (data[399998:] == values[399998:].astype("f4")).all()


# First the one that measures the largest memory that this process has had.
PROGRAMS = {p.__name__: p for p in (table_columns, every_tenth, lines, selections)}


def test():
    # Every element of every_tenth would be a read of its own, lines would read 30 MB for each line, and table_columns 10 or 19 MB
    # for each column. (The columns are 24 MB in all.)
    most = {"every_tenth": (2000, 70 << 20), "lines": (40 * STEPS * 2, 60 << 20), "table_columns": (1000, 80 << 20)}
    for env in (native_env(), bento_env()):  # which leaves containers
        found = run([python(), "-B", os.path.abspath(__file__), "--run", *PROGRAMS], env, timeout=120)
        said = dict(line.split(": ") for line in found.out.splitlines())
        check(list(said) == list(PROGRAMS), found.tail())
        for name, (calls, taken) in most.items() if env.get("HDF5_VOL_CONNECTOR") else ():
            cost = [int(word) for word in said[name].split()[1:3]]
            check(cost[0] < calls and cost[1] < taken, f"{name}: {cost[0]} reads, {cost[1]} bytes")
    say(f"{', '.join(PROGRAMS)}: the right values")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        for name in sys.argv[2:]:
            print(f"{name}: ", end="", flush=True)
            PROGRAMS[name]()
        sys.exit(0)
    run_test(test, containers=4)
