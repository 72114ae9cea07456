#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Random H5Dwrite and H5Dread calls: selections of the file with and without gaps, memory that is one run, a box in a larger array, or every
other element, other types in memory than in the file, some members of a compound. All that is read is what native HDF5 reads.

    random_transfers.py SEEDS        the test
    random_transfers.py --run SEED   one sequence of calls; prints a hash of each thing read
"""

import hashlib
import os
import sys

COMPOUND = [("a", "f8"), ("b", "i4"), ("c", "f4", (2,)), ("d", "u1")]
IN_MEMORY = {"a": ("a", "f4"), "b": ("b", "i8"), "c": ("c", "f8", (2,)), "d": ("d", "u2")}
CALLS = 40


class Calls:
    """What one sequence does with its file."""

    def __init__(self, seed):
        import h5py
        import numpy

        self.h5py, self.np, self.random = h5py, numpy, numpy.random.default_rng(seed)
        self.elements = 1 << (14 + seed % 9)  # up to four million

    def create(self, file):
        n = self.elements
        file.create_dataset("one", (n,), "f4")
        file.create_dataset("two", (n // 64, 64), "i2", fillvalue=5)
        file.create_dataset("members", (n // 4,), self.np.dtype(COMPOUND))
        file.create_dataset("three", (n // 1024, 32, 32), "f8")
        file.create_dataset("packed", (n // 64, 64), "f4", chunks=(16, 64), compression=1)
        file.flush()

    def one_call(self, file):
        dataset = file[["one", "two", "members", "three", "packed"][self.random.integers(5)]]
        in_file, count = self.selection(dataset.shape)
        in_memory, shape = self.memory(count)
        memory_type = self.memory_type(dataset)
        data = self.np.zeros(shape, memory_type)
        values = self.random.integers(0, 100, data.size).reshape(shape)
        for name in memory_type.names or ():
            data[name] = values.reshape(shape + (1,) * (data[name].ndim - data.ndim))
        if not memory_type.names:
            data[...] = values
        arguments = (in_memory, in_file, data, self.h5py.h5t.py_create(memory_type))
        if self.random.random() < 0.6:
            dataset.id.write(*arguments)
        else:
            dataset.id.read(*arguments)
            show(data)
        if self.random.random() < 0.1:
            file.flush()

    def selection(self, shape):
        start = [int(self.random.integers(0, size)) for size in shape]
        end = [int(self.random.integers(first + 1, size + 1)) for first, size in zip(start, shape)]
        stride = tuple(int(self.random.integers(1, 4)) if self.random.random() < 0.3 else 1 for _ in shape)
        count = tuple((last - first + step - 1) // step for first, last, step in zip(start, end, stride))
        space = self.h5py.h5s.create_simple(shape)
        space.select_hyperslab(tuple(start), count, stride)
        return space, count

    def memory(self, count):
        form = self.random.integers(3)
        if form == 0:
            return self.h5py.h5s.create_simple(count), count
        if form == 1:
            shape = tuple(size + int(self.random.integers(0, 5)) for size in count)
            start = tuple(int(self.random.integers(0, all_ - size + 1)) for all_, size in zip(shape, count))
            stride = (1,) * len(count)
        else:
            shape, start, stride = tuple(2 * size for size in count), (0,) * len(count), (2,) * len(count)
        space = self.h5py.h5s.create_simple(shape)
        space.select_hyperslab(start, count, stride)
        return space, shape

    def memory_type(self, dataset):
        if not dataset.dtype.names:
            return self.np.dtype(["f4", "f8", "i2", "i4"][self.random.integers(4)])
        names = [name for name in dataset.dtype.names if self.random.random() < 0.5] or ["b"]
        self.random.shuffle(names)
        return self.np.dtype([IN_MEMORY[name] for name in names])


def show(data):
    print(data.dtype, data.shape, hashlib.sha256(data.tobytes()).hexdigest())


def run_calls(seed):
    calls = Calls(seed)
    path = f"{seed}.h5"
    with calls.h5py.File(path, "w") as file:
        calls.create(file)
        for _ in range(CALLS):
            calls.one_call(file)
    with calls.h5py.File(path, "r") as file:
        for name in file:
            show(file[name][...])


def test(seeds):
    for seed in range(1, seeds + 1):
        command = [python(), "-B", os.path.abspath(__file__), "--run", str(seed)]
        natively = run(command, native_env())
        # Records of several chunks, and of one; with a range of values for each record, all of it is looked at first.
        for string in ("bento chunk=1M", "bento minmax=on") if seed % 4 == 0 else ("bento chunk=1M",):
            under = run(command, bento_env(string=string, stats=f"stats-{seed}"))
            check(under.out == natively.out, f"seed {seed}, {string}: natively\n{natively.out}\nunder the connector\n{under.out}")
            check_containers(f"stats-{seed}")
    say(f"{seeds} sequences of {CALLS} calls: as natively")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"] and len(sys.argv) == 3:
        run_calls(int(sys.argv[2]))
        sys.exit(0)
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2)
    from harness import bento_env, check, check_containers, native_env, python, run, run_test, say

    run_test(test, int(sys.argv[1]), containers=1)
