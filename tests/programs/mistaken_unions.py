#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Unions of hyperslabs that HDF5 1.14.5 takes for other elements (docs/hdf5-traps.md), in file and memory, of numbers, strings,
references to objects and to regions, and in virtual datasets: against numpy, and natively where HDF5 has the union right.

    mistaken_unions.py serial SEEDS     SEEDS random ones, and those of CASES
    mistaken_unions.py ranks SEEDS      the same in a file of two ranks
    mistaken_unions.py --NAME ...       their programs

Elements go through H5Dwrite and H5Dread by ctypes: h5py packs strings and references itself, by the library's own iterator."""

import ctypes
import json
import os
import random
import sys

KINDS = ("number", "string", "object", "region")
POOL = 40


# ---- unions and their masks ----------------------------------------------------------------------

# Each of them is mistaken. The second has a box around what HDF5 takes with as many elements as were selected, the third is
# such a box itself. Operation, start, stride, count, block; of each dimension the same.
CASES = (
    ((12,), (("or", (0,), (1,), (1,), (1,)), ("or", (0,), (3,), (2,), (1,)))),
    ((12,), (("or", (3,), (3,), (1,), (1,)), ("or", (0,), (3,), (4,), (1,)))),
    ((12,), (("or", (0,), (1,), (1,), (1,)), ("or", (0,), (3,), (3,), (1,)), ("xor", (1,), (1,), (1,), (4,)))),
    ((9, 7), (("or", (1, 0), (1, 1), (1, 1), (1, 1)), ("or", (1, 0), (1, 3), (1, 3), (1, 1)))),
    ((9, 7), (("or", (0, 2), (1, 1), (1, 1), (2, 3)), ("or", (0, 2), (3, 1), (3, 1), (2, 3)))),
)


def operations_of(rng, shape):
    """Random ones along one dimension mostly, with the same strides: HDF5 tries to keep these regular. Often one that
    begins before an earlier one and ends behind it: that is where it counts wrongly."""
    along = rng.randrange(len(shape))
    extent = shape[along]
    fixed = [(s := rng.randrange(max(1, n // 2)), rng.randint(1, n - s)) for n in shape]
    same_block = rng.choice((1, 1, 2)) if extent > 3 else 1
    same_stride = same_block + rng.choice((1, 1, 2))
    first = rng.randrange(min(extent - same_block + 1, same_stride))
    found = []
    for number in range(rng.randint(2, 4)):
        start = [s for s, _ in fixed]
        block = [n for _, n in fixed]
        stride, count = [1] * len(shape), [1] * len(shape)
        block[along], stride[along] = same_block, same_stride
        start[along] = first + same_stride * rng.randrange((extent - same_block - first) // same_stride + 1)
        other = rng.randrange(len(shape))
        if rng.random() < 0.15:
            start[other], block[other], stride[other] = rng.randrange(shape[other]), 1, rng.randint(1, 3)
            count[other] = rng.randint(1, (shape[other] - start[other] - 1) // stride[other] + 1)
        if number == 1 and rng.random() < 0.7:
            start[along] = first
        most = (extent - start[along] - block[along]) // stride[along] + 1
        count[along] = rng.randint(1, most) if number != 1 else max(rng.randint(1, most) for _ in range(2))
        if max(count) == 1 and number > 1:  # one block, which may join others
            block[along] = rng.randint(1, extent - start[along])
        operation = "or" if number == 0 else rng.choice(("or", "or", "or", "xor", "xor", "notb"))
        found.append((operation, start, stride, count, block))
    return found


def union(shape, operations):
    """The dataspace and the mask of its elements."""
    import h5py
    import numpy as np

    code = {"or": h5py.h5s.SELECT_OR, "xor": h5py.h5s.SELECT_XOR, "notb": h5py.h5s.SELECT_NOTB}
    space = h5py.h5s.create_simple(shape)
    space.select_none()
    mask = np.zeros(shape, bool)
    for operation, start, stride, count, block in operations:
        space.select_hyperslab(tuple(start), tuple(count), tuple(stride), tuple(block), op=code[operation])
        part = regular_mask(shape, start, stride, count, block)
        mask = {"or": mask | part, "xor": mask ^ part, "notb": mask & ~part}[operation]
    return space, mask


def regular_mask(shape, start, stride, count, block):
    import numpy as np

    part = np.ones(shape, bool)
    for d, extent in enumerate(shape):
        chosen = np.zeros(extent, bool)
        for i in range(count[d]):
            chosen[start[d] + i * stride[d] : start[d] + i * stride[d] + block[d]] = True
        along = [1] * len(shape)
        along[d] = extent
        part &= chosen.reshape(along)
    return part


def mistaken(space, mask):
    """Does HDF5 take it for other elements?"""
    assert space.get_select_npoints() == mask.sum(), (space.get_select_npoints(), mask)
    if not mask.any() or not space.is_regular_hyperslab():
        return False
    found = regular_mask(mask.shape, *(tuple(map(int, part)) for part in space.get_regular_hyperslab()))
    return bool((found != mask).any())


# ---- elements in memory --------------------------------------------------------------------------


class Memory:
    """Elements of one kind, which are indices of the pool to the model, in a buffer as the library has it. -1: untouched."""

    def __init__(self, program, kind, count):
        self.kind, self.count, self.program = kind, count, program
        self.bytes = {"number": 4, "string": 8, "object": 8, "region": 12}[kind]
        self.none = b"\xff" * self.bytes if kind == "number" else bytes(self.bytes)
        self.buffer = ctypes.create_string_buffer(self.none * count, self.bytes * count)
        self.kept = []

    def raw(self, index):
        if self.kind == "number":
            return int(index).to_bytes(4, "little")
        if self.kind == "string":
            self.kept.append(ctypes.create_string_buffer(text_of(index)))
            return ctypes.addressof(self.kept[-1]).to_bytes(8, "little")
        return self.program.pool[self.kind][index]

    def set(self, at, index):
        ctypes.memmove(ctypes.addressof(self.buffer) + at * self.bytes, self.raw(index), self.bytes)

    def get(self, at):
        raw = self.buffer.raw[at * self.bytes : (at + 1) * self.bytes]
        if raw == self.none:
            return -1
        if self.kind == "number":
            return int.from_bytes(raw, "little")
        if self.kind == "string":
            return int(ctypes.string_at(int.from_bytes(raw, "little")).decode().split()[1])
        return self.program.pool[self.kind].index(raw)

    def values(self, shape):
        import numpy as np

        return np.array([self.get(at) for at in range(self.count)]).reshape(shape)

    def give_back(self):
        """The strings that were read."""
        if self.kind == "string":
            for at in range(self.count):
                text = int.from_bytes(self.buffer.raw[at * 8 : at * 8 + 8], "little")
                if text:
                    assert self.program.library.H5free_memory(text) >= 0


def text_of(index):
    return (f"value {index} " + "x" * (index % 30)).encode()


# ---- the program ---------------------------------------------------------------------------------


class Program:
    def __init__(self, name, native, comm=None):
        import h5py

        self.native, self.comm = native, comm
        self.name = name
        self.rank = comm.rank if comm else 0
        # That which h5py is linked with, as it is loaded already.
        self.library = ctypes.CDLL(loaded_hdf5())
        for function in (self.library.H5Dwrite, self.library.H5Dread):
            function.argtypes = [ctypes.c_int64] * 5 + [ctypes.c_void_p]
        self.library.H5free_memory.argtypes = [ctypes.c_void_p]
        self.library.H5Dvlen_get_buf_size.argtypes = [ctypes.c_int64] * 3 + [ctypes.c_void_p]
        more = {"driver": "mpio", "comm": comm} if comm else {}
        self.file = h5py.File(name, "w", **more)
        self.types = {
            "number": h5py.h5t.STD_I32LE,
            "string": h5py.h5t.py_create(h5py.string_dtype(), logical=True),
            "object": h5py.h5t.STD_REF_OBJ,
            "region": h5py.h5t.STD_REF_DSETREG,
        }
        self.times = dict.fromkeys(("mistaken", "right"), 0)
        self.make_pool()

    def make_pool(self):
        import h5py
        import numpy as np

        self.pool = {"object": [], "region": []}
        target = self.file.create_dataset("target", (POOL, 3), "i4")
        groups = [self.file.create_group(f"g{i}") for i in range(POOL)]
        for kind, references in (
            ("object", [group.ref for group in groups]),
            ("region", [target.regionref[i, 1:3] for i in range(POOL)]),
        ):
            dtype = h5py.ref_dtype if kind == "object" else h5py.regionref_dtype
            pool = self.file.create_dataset(f"pool of {kind}", (POOL,), dtype)
            if self.rank == 0:
                pool[...] = np.array(references, dtype)
            if self.comm:
                self.comm.Barrier()
            memory = Memory(self, kind, POOL)
            whole = pool.id.get_space()
            self.read(pool, memory, whole, whole)
            self.pool[kind] = [memory.buffer.raw[i * memory.bytes : (i + 1) * memory.bytes] for i in range(POOL)]
            assert len(set(self.pool[kind])) == POOL

    def call(self, function, data, memory, memory_space, file_space):
        done = function(data.id.id, self.types[memory.kind].id, memory_space.id, file_space.id, 0, memory.buffer)
        assert done >= 0, (memory.kind, memory_space, file_space)

    def read(self, data, *rest):
        self.call(self.library.H5Dread, data, *rest)

    def write(self, data, *rest):
        self.call(self.library.H5Dwrite, data, *rest)

    def skips(self, space, mask):
        wrong = mistaken(space, mask)
        self.times["mistaken" if wrong else "right"] += 1
        return (wrong and self.native) or not mask.any()

    def whole(self, data, kind, shape):
        import h5py
        import numpy as np

        memory = Memory(self, kind, int(np.prod(shape)))
        space = h5py.h5s.create_simple(shape)
        self.read(data, memory, space, space)
        values = memory.values(shape)
        memory.give_back()
        return values

    def plain(self, count, rng):
        """One-dimensional memory, with gaps or without: its space and the places in it."""
        import h5py

        step = rng.choice((1, 2))
        space = h5py.h5s.create_simple((count * step + 1,))
        space.select_hyperslab((1,), (count,), (step,))
        return space, [1 + i * step for i in range(count)], count * step + 1

    def try_file_side(self, data, kind, model, space, mask, rng):
        import numpy as np

        count = int(mask.sum())
        memory_space, places, length = self.plain(count, rng)
        both = rng.random() < 0.3  # memory selected as the file is
        if both:
            memory_space, places, length = space, np.flatnonzero(mask.ravel()).tolist(), model.size
        values = [rng.randrange(POOL) for _ in range(count)]
        given = Memory(self, kind, length)
        for place, value in zip(places, values):
            given.set(place, value)
        self.write(data, given, memory_space, space)
        model[mask] = values
        assert (self.whole(data, kind, model.shape) == model).all(), (kind, mask)
        found = Memory(self, kind, length)
        self.read(data, found, memory_space, space)
        wanted = np.full(length, -1)
        wanted[places] = values
        assert found.values(length).tolist() == wanted.tolist(), (kind, mask)
        found.give_back()
        if kind == "number":
            self.check_multi(data, memory_space, space, wanted)
        if kind == "string":
            size = ctypes.c_uint64()
            done = self.library.H5Dvlen_get_buf_size(data.id.id, self.types[kind].id, space.id, ctypes.byref(size))
            assert done >= 0 and size.value == sum(len(text_of(value)) + 1 for value in values), (size, values)

    def check_multi(self, data, memory_space, space, wanted):
        """The same read beside one of another dataset."""
        other = self.file["target"]
        found = Memory(self, "number", wanted.size)
        beside = Memory(self, "number", other.size)
        whole = other.id.get_space()

        def ids(*values):
            return (ctypes.c_int64 * 2)(*values)

        number = self.types["number"].id
        done = self.library.H5Dread_multi(
            ctypes.c_size_t(2), ids(data.id.id, other.id.id), ids(number, number), ids(memory_space.id, whole.id),
            ids(space.id, whole.id), ctypes.c_int64(0), (ctypes.c_void_p * 2)(ctypes.addressof(found.buffer), ctypes.addressof(beside.buffer)),
        )
        assert done >= 0 and found.values(wanted.shape).tolist() == wanted.tolist(), (found.values(wanted.shape), wanted)
        assert set(beside.buffer.raw) == {0}

    def try_memory_side(self, data, kind, model, space, mask, rng):
        import h5py
        import numpy as np

        count = int(mask.sum())
        if count > model.size:
            return
        first = rng.randint(0, model.size - count)
        file_space = h5py.h5s.create_simple(model.shape)
        order = np.zeros(model.size, bool)
        order[first : first + count] = True
        file_space.select_elements(np.argwhere(order.reshape(model.shape)))
        if len(model.shape) == 1:
            file_space.select_hyperslab((first,), (count,))
        given = Memory(self, kind, mask.size)
        values = [rng.randrange(POOL) for _ in range(count)]
        for place, value in zip(np.flatnonzero(mask.ravel()), values):
            given.set(int(place), value)
        self.write(data, given, space, file_space)
        model.ravel()[first : first + count] = values
        assert (self.whole(data, kind, model.shape) == model).all(), (kind, mask)
        found = Memory(self, kind, mask.size)
        self.read(data, found, space, file_space)
        wanted = np.full(mask.shape, -1)
        wanted[mask] = values
        assert (found.values(mask.shape) == wanted).all(), (kind, mask)
        found.give_back()

    def dataset(self, name, kind, shape, rng):
        """Created by all ranks, and written whole by the one whose it is."""
        import h5py
        import numpy as np

        chunks = tuple(max(1, n // 2) for n in shape) if rng.random() < 0.5 else None
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if chunks:
            plist.set_chunk(chunks)
        data = h5py.Dataset(
            h5py.h5d.create(self.file.id, name.encode(), self.types[kind], h5py.h5s.create_simple(shape), plist)
        )
        model = np.array([rng.randrange(POOL) for _ in range(int(np.prod(shape)))]).reshape(shape)
        return data, model

    def fill(self, data, kind, model):
        import h5py

        given = Memory(self, kind, model.size)
        for at, value in enumerate(model.ravel()):
            given.set(at, value)
        space = h5py.h5s.create_simple(model.shape)
        self.write(data, given, space, space)

    def run(self, seeds):
        models = {}
        for seed in range(-len(CASES), seeds):
            for kind in KINDS:
                for owner in range(self.comm.size if self.comm else 1):
                    name = f"{kind} {seed} {owner}"
                    rng = random.Random(name)
                    if seed < 0:
                        shape, operations = CASES[seed]
                    else:
                        shape = tuple(rng.randint((6, 4, 1)[d], (40, 12, 6)[d]) for d in range(rng.randint(1, 3)))
                        operations = operations_of(rng, shape)
                    data, model = self.dataset(name, kind, shape, rng)
                    if owner == self.rank:
                        self.fill(data, kind, model)
                        self.one(data, kind, model, shape, operations, rng)
                        models[name] = model.tolist()
            if not self.comm:
                self.virtual(seed)
        return models

    def one(self, data, kind, model, shape, operations, rng):
        space, mask = union(shape, operations)
        if not self.skips(space, mask):
            self.try_file_side(data, kind, model, space, mask, rng)
            self.try_memory_side(data, kind, model, space, mask, rng)

    def virtual(self, seed):
        """A union in the source, in the virtual dataset, in what is read of it, and in memory."""
        import h5py
        import numpy as np

        rng = random.Random(f"virtual {seed}")
        shape, operations = CASES[seed] if seed < 0 else ((rng.randint(6, 40),), None)
        operations = operations or operations_of(rng, shape)
        space, mask = union(shape, operations)
        if self.skips(space, mask):
            return
        count = int(mask.sum())
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_fill_value(np.array(-1, "i4"))
        other = h5py.h5s.create_simple((1000,))
        other.select_hyperslab((7,), (count,))
        line = self.file.create_dataset(f"line {seed}", data=np.arange(1000, dtype="i4"))
        plist.set_virtual(space, b".", line.name.encode(), other)
        made = h5py.h5d.create(self.file.id, f"v{seed}".encode(), h5py.h5t.STD_I32LE, h5py.h5s.create_simple(shape), plist)
        wanted = np.full(shape, -1)
        wanted[mask] = np.arange(7, 7 + count)
        self.check_virtual(made, wanted)
        # The same elements of it, into the same elements of memory.
        found = np.full(shape, -5, "i4")
        made.read(space, space, found)
        assert (found[mask] == wanted[mask]).all() and (found[~mask] == -5).all(), (found, mask)
        back = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        back.set_fill_value(np.array(-1, "i4"))
        back.set_virtual(other, b".", b"/grid %d" % seed, space)
        self.file[f"grid {seed}"] = np.arange(int(np.prod(shape)), dtype="i4").reshape(shape)
        made = h5py.h5d.create(self.file.id, f"w{seed}".encode(), h5py.h5t.STD_I32LE, h5py.h5s.create_simple((1000,)), back)
        wanted = np.full(1000, -1)
        wanted[7 : 7 + count] = np.flatnonzero(mask.ravel())
        self.check_virtual(made, wanted)

    def check_virtual(self, made, wanted):
        import h5py
        import numpy as np

        found = np.zeros(wanted.shape, "i4")
        made.read(h5py.h5s.ALL, h5py.h5s.ALL, found)
        assert (found == wanted).all(), (found, wanted)
        self.virtual_ones = getattr(self, "virtual_ones", {})
        self.virtual_ones[h5py.h5i.get_name(made).decode()] = wanted.tolist()


def loaded_hdf5():
    import h5py  # noqa: F401

    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.split()[-1]
            if os.path.basename(path).startswith(("libhdf5.so", "libhdf5-", "libhdf5_openmpi.so")):
                return path
    raise AssertionError("h5py has loaded no HDF5")


def write_program(name, seeds, how):
    comm = None
    if how == "ranks":
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    program = Program(name, how == "native", comm)
    models = program.run(int(seeds))
    program.file.close()
    with open(f"{name}.{program.rank}.json", "w") as out:
        json.dump({"models": models, "virtual": getattr(program, "virtual_ones", {}), "times": program.times}, out)
    print("right")


def read_program(name, ranks):
    """By the names of the datasets, whatever reads them: the connector, or stock HDF5."""
    import h5py
    import numpy as np

    with h5py.File(name, "r") as file:
        for rank in range(int(ranks)):
            with open(f"{name}.{rank}.json") as known:
                known = json.load(known)
            for path, model in known["models"].items():
                kind = path.split()[0]
                model = np.array(model)
                found = file[path][...].ravel().tolist()
                if kind == "string":
                    found = [int(text.split()[1]) for text in found]
                elif kind == "object":
                    found = [int(file[to].name[2:]) for to in found]
                elif kind == "region":
                    found = [int(h5py.h5r.get_region(to, file.id).get_select_bounds()[0][0]) for to in found]
                assert found == model.ravel().tolist(), (path, found, model)
            for path, wanted in known["virtual"].items():
                assert file[path][...].tolist() == wanted, path
    print("right")


# ---- the tests -----------------------------------------------------------------------------------


def times_of(name, ranks):
    found = {"mistaken": 0, "right": 0}
    for rank in range(ranks):
        with open(f"{name}.{rank}.json") as known:
            for key, count in json.load(known)["times"].items():
                found[key] += count
    return found


def test(how, seeds):
    from harness import bento_env, check, mpirun, native_env, python, run, say

    here = [python(), "-B", os.path.abspath(__file__)]

    def once(env, *arguments, ranks=1):
        done = mpirun(ranks, [*here, *arguments], env, timeout=600) if ranks > 1 else run([*here, *arguments], env, timeout=600)
        check(done.out.count("right") == ranks, done.tail())

    ranks = 2 if how == "ranks" else 1
    if how == "serial":
        once(native_env(), "--write", "native.h5", str(seeds), "native")
    once(bento_env(), "--write", "f.h5", str(seeds), how, ranks=ranks)
    once(bento_env(), "--read", "f.h5", str(ranks))
    once(native_env(), "--read", "f.h5", str(ranks))
    times = times_of("f.h5", ranks)
    tried = (len(KINDS) + (how == "serial")) * ranks  # each of CASES, and each seed
    check(times["mistaken"] >= (len(CASES) + seeds // 40) * tried, f"{times} of {seeds} seeds")
    say(f"{times['mistaken']} unions that HDF5 mistakes, {times['right']} others: right")


if __name__ == "__main__":
    if sys.argv[1].startswith("--"):
        {"--write": write_program, "--read": read_program}[sys.argv[1]](*sys.argv[2:])
    else:
        from harness import run_test

        run_test(test, sys.argv[1], int(sys.argv[2]))
