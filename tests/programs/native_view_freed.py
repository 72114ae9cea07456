#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Native views of small datasets whose copies make HDF5 free space again, beside data that is shown where it lies. What the
library has freed must not be taken for the place of such data.

    native_view_freed.py cases          what was found
    native_view_freed.py random [SEEDS] chunks, filters, allocation times and fill values by chance
"""

import os
import random
import sys

from harness import bento_env, built, check, native_env, python, run, run_test, say
from native_view_check import stock_env, stock_python

WRITE = """
import sys
import h5py, numpy as np
from h5py import h5d, h5p, h5s, h5t
TIMES = {"early": h5d.ALLOC_TIME_EARLY, "late": h5d.ALLOC_TIME_LATE, "incr": h5d.ALLOC_TIME_INCR}

def create(file, name, shape, chunk=None, time=None, filters=False, fill=None, grows=False, type=h5t.NATIVE_INT32):
    plist = h5p.create(h5p.DATASET_CREATE)
    if chunk:
        plist.set_chunk((chunk,))
        if filters:
            plist.set_shuffle()
            plist.set_deflate(1)
    if time:
        plist.set_alloc_time(TIMES[time])
    if fill is not None:
        plist.set_fill_value(np.array(fill, "i4"))
    space = h5s.create_simple((shape,), (h5s.UNLIMITED,) if grows else None)
    return h5py.Dataset(h5d.create(file.id, name.encode(), type, space, plist))

for number, body in enumerate(sys.argv[2:]):
    print(f"program {number}", flush=True)
    with h5py.File(f"{sys.argv[1]}{number}.h5", "w") as file:
        exec(body)
"""

# The copy of "a" frees some bytes, and one element of "b" would fit in there.
FILTERED = """
a = create(file, "a", 1400, 700, "{time}", True, type=h5t.NATIVE_INT8)
b = file.create_dataset("b", (50000,), "i4")
a[200:328] = np.random.default_rng(1).integers(1, 99, 128, dtype="i1")
b[40000] = 7
"""
# Of the large chunk, which is not kept in memory, a part is written.
LARGE = """
create(file, "a", 1400, 106504, "{time}", grows=True)[200:328] = 5
"""
READ = """
import sys
import h5py, numpy as np
for number in range(int(sys.argv[1])):
    for kind in ("ours", "exported"):
        with h5py.File(f"{kind}{number}.h5") as ours, h5py.File(f"native{number}.h5") as native:
            assert sorted(name for name in ours if not name.startswith(".")) == sorted(native), (kind, number, sorted(ours))
            for name, dataset in native.items():
                got, wanted = ours[name][...], dataset[...]
                assert (got == wanted).all(), (kind, number, name, got[got != wanted][:5], wanted[got != wanted][:5])
"""


def compare(programs):
    """Of {what: program}, each of which writes a file of its own."""
    numbered = ", ".join(f"{number}: {what}" for number, what in enumerate(programs))
    say(f"programs {numbered}")
    run([python(), "-c", WRITE, "native", *programs.values()], native_env())
    said = run([python(), "-c", WRITE, "ours", *programs.values()], bento_env())
    check(said.err == "", f"{said.out}{said.err}")
    for number in range(len(programs)):
        run([built("bin", "h5bento"), "export", f"ours{number}.h5", f"exported{number}.h5"], native_env())
    run([stock_python(), "-c", READ, len(programs)], stock_env())
    for number in range(len(programs)):
        for kind in ("ours", "exported", "native"):
            os.remove(f"{kind}{number}.h5")


def cases():
    programs = {}
    for time in ("early", "late", "incr"):
        programs[f"filters, {time}"] = FILTERED.format(time=time)
        programs[f"a large chunk, {time}"] = LARGE.format(time=time)
    compare(programs)
    say("plain HDF5 reads all")


def program_of(seed):
    rng = random.Random(seed)
    lines = [f"rng = np.random.default_rng({seed})"]
    for number in range(rng.randint(2, 12)):
        extent = rng.choice((1, 30, 1400, 5000, 50000, 120000))
        # Natively, what nobody has written of such a dataset is whatever was in the file unless there is a fill value.
        settings = ", fill=0"
        if rng.random() < 0.8:
            chunk = rng.choice((7, 100, 700, 5000, 70000, 106504))
            grows = rng.random() < 0.3
            settings = f", {chunk if grows else min(chunk, extent)}, {rng.choice(('early', 'late', 'incr', None))!r}, {rng.random() < 0.5}"
            settings += f", {rng.choice((None, 3))}, {grows}"
        lines.append(f'd = create(file, "d{number}", {extent}{settings})')
        for _ in range(rng.randint(0, 4)):
            count = min(extent, rng.choice((1, 1, 2, 20, 128, 4000, 60000)))
            start = rng.randint(0, extent - count)
            lines.append(f'd[{start}:{start + count}] = rng.integers(1, {rng.choice((3, 99, 1 << 30))}, {count}, dtype="i4")')
    return "\n".join(lines)


def chance(count):
    first = random.randrange(1 << 30)
    print(f"seeds from {first}", flush=True)
    for some in range(first, first + count, 10):
        compare({f"seed {seed}": program_of(seed) for seed in range(some, min(some + 10, first + count))})
    say(f"{count} programs from seed {first}: plain HDF5 reads all")


if __name__ == "__main__":
    if sys.argv[1:] == ["cases"]:
        run_test(cases, containers=0)
    elif sys.argv[1:2] == ["random"] and len(sys.argv) < 4:
        run_test(lambda: chance(int(sys.argv[2]) if len(sys.argv) > 2 else 20), containers=0)
    else:
        sys.exit(__doc__)
