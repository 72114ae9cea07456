#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Small pieces with gaps between them, each written by a call of its own, in one process: rows, points and blocks at regular distances or
at any, forwards, backwards or mixed. What they are stored as must not show: values, chunks and sizes are those of native HDF5.

    pieces_with_gaps.py SEEDS                  the test
    pieces_with_gaps.py --run SEED             one program; prints a hash of each thing read
    pieces_with_gaps.py --sizes                writes every second row of some datasets
"""

import hashlib
import json
import os
import sys

COMPOUND = [("a", "f8"), ("b", "i2")]
STEPS = 4


def create(file, name, shape, random):
    """A dataset of any type, layout and fill value."""
    import h5py
    import numpy as np
    from h5py import h5d, h5p, h5s, h5t

    dtype = np.dtype(("f8", "i2", "u1", COMPOUND)[random.integers(4)])
    plist = h5p.create(h5p.DATASET_CREATE)
    layout = random.integers(4)
    if layout:
        plist.set_chunk(tuple(int(random.integers(1, size + 1)) for size in shape))
    if layout == 3:
        plist.set_deflate(1)
    fill = random.integers(4)
    if fill == 1:
        plist.set_fill_value(np.zeros((), dtype) if dtype.names else np.array(7, dtype))
    elif fill == 2 and dtype.names:
        plist.set_fill_value(np.array((2.5, -3), dtype))
    elif fill == 3:
        plist.set_fill_time(h5d.FILL_TIME_ALLOC)
    limits = tuple(h5s.UNLIMITED if layout else size for size in shape)
    space = h5s.create_simple(shape, limits)
    return h5py.Dataset(h5d.create(file.id, name.encode(), h5t.py_create(dtype, logical=True), space, plist))


def pieces_of(shape, random):
    """Boxes as (start, count) of one size at multiples of a distance, or anywhere."""
    block = [int(random.integers(1, 4)) for _ in shape]
    if len(shape) > 1 and random.integers(2):
        block[-1] = shape[-1]
    distance = [size + int(random.integers(0, 12)) if size < extent else extent for size, extent in zip(block, shape)]
    boxes = [()]
    for size, step, extent in zip(block, distance, shape):
        boxes = [box + ((start, min(size, extent - start)),) for box in boxes for start in range(0, extent, step)]
    boxes = [tuple(zip(*box)) for box in boxes]
    kind = random.integers(5)
    if kind == 1:
        boxes.reverse()
    if kind >= 2:
        random.shuffle(boxes)
    if kind == 3:
        boxes = boxes[: len(boxes) // 3]
    if kind == 4:  # some of them over others
        for _ in range(10):
            start = tuple(int(random.integers(0, extent)) for extent in shape)
            boxes.append((start, tuple(min(3, extent - at) for at, extent in zip(start, shape))))
    return boxes[:400]


def values(dtype, count, random):
    import numpy as np

    def numbers(kind):
        return random.integers(0, 100, count).astype(kind)

    if not dtype.names:
        return numbers(dtype)
    out = np.empty(count, dtype)
    for name in dtype.names:
        out[name] = numbers(dtype[name])
    return out


def show(file, cut):
    """Of `cut` datasets nothing about chunks: natively one stays that has lost all that was written to it."""
    for name in sorted(file):
        data = file[name]
        read = data[...]
        print(name, data.dtype, data.shape, hashlib.sha256(b"".join(read[part].tobytes() for part in read.dtype.names or (...,))).hexdigest())
        if name not in cut and data.chunks:
            print(data.id.get_num_chunks(), data.id.get_storage_size() if not data.compression else 0, data.id.get_space_status())


def run_program(seed):
    import h5py
    import numpy as np

    random = np.random.default_rng(seed)
    path = f"{seed}.h5"
    cut = set()
    shapes = ((int(random.integers(50, 3000)),), (int(random.integers(20, 300)), int(random.integers(2, 30))), (20, 9, 11))
    for session in range(2):
        with h5py.File(path, "a" if session else "w", libver=("v110", "latest") if seed % 2 else None) as file:
            if session == 0:
                for i, shape in enumerate(shapes):
                    create(file, f"x{i}", shape, random)
            for _ in range(STEPS):
                turns = []
                for data in (file[f"x{i}"] for i in range(len(shapes))):
                    turns += [(data, *box) for box in pieces_of(data.shape, random)]
                if random.integers(2):
                    random.shuffle(turns)
                for data, start, count in turns:
                    where = data.id.get_space()
                    where.select_hyperslab(start, count)
                    data.id.write(h5py.h5s.create_simple(count), where, values(data.dtype, count, random))
                data = file["x1"]
                if data.chunks and random.integers(2):
                    cut.add("x1")
                    rows = data.shape[0]
                    data.resize(int(random.integers(1, rows)), 0)
                    if random.integers(2):
                        data.resize(rows, 0)
                if random.integers(2):
                    show(file, cut)
                else:
                    file.flush()
        with h5py.File(path, "r") as file:
            show(file, cut)


def run_sizes():
    """A gap as long as a chunk must not be stored: it may be a chunk that nobody has touched."""
    import h5py
    import numpy as np

    with h5py.File("sizes.h5", "w") as file:
        kinds = {
            "contiguous": {},
            "fill value": {"fillvalue": 4.5},
            "chunked": {"chunks": (64, 16)},
            "chunks of a row": {"chunks": (1, 16)},
        }
        for name, kind in kinds.items():
            data = file.create_dataset(name, (1000, 16), "f8", **kind)
            for row in range(0, 1000, 2):
                data[row] = np.arange(16) + row
    with h5py.File("sizes.h5", "r") as file:
        for name, kind in kinds.items():
            wanted = np.full((1000, 16), kind.get("fillvalue", 0.0))
            wanted[::2] = np.arange(16) + np.arange(0, 1000, 2)[:, None]
            assert (file[name][...] == wanted).all(), name


def test(seeds):
    for seed in range(1, seeds + 1):
        command = [python(), "-B", os.path.abspath(__file__), "--run", str(seed)]
        natively = run(command, native_env())
        string = ("bento", "bento minmax=on", "bento buffer=64K", "bento view=off")[seed % 4]
        under = run(command, bento_env(string=string, stats=f"stats-{seed}"))
        check(under.out == natively.out, f"seed {seed}, {string}: natively\n{natively.out}\nunder the connector\n{under.out}")
        check_containers(f"stats-{seed}")
    say(f"{seeds} programs: as natively")
    run([python(), "-B", os.path.abspath(__file__), "--sizes"], bento_env(stats="stats"))
    told = json.loads(run([built("bin", "h5bento"), "ls", "-l", "--json", "sizes.h5"], native_env()).out)
    pieces = {one["path"][1:]: one["pieces"] for one in told["objects"]}
    wanted = {"contiguous": 1, "fill value": 1, "chunked": 1, "chunks of a row": 500}
    check(pieces == wanted, f"every second row of 1000 is so many records: {pieces}, not {wanted}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"] and len(sys.argv) == 3:
        run_program(int(sys.argv[2]))
        sys.exit(0)
    if sys.argv[1:] == ["--sizes"]:
        run_sizes()
        sys.exit(0)
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2)
    from harness import bento_env, built, check, check_containers, native_env, python, run, run_test, say

    run_test(test, int(sys.argv[1]), containers=1)
