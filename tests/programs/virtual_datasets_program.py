# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Random virtual datasets over random sources: what is read, and what the sources are after writes through them, against numpy.

    virtual_datasets_program.py HOLDER SOURCES FIRST COUNT

HOLDER and SOURCES are `plain` (under the connector: ordinary files) or `default` (containers there). Prints a line for each
seed, the same in every run with the same seeds."""

import hashlib
import os
import random
import sys

import h5py
import numpy as np

KINDS = {"plain": {"userblock_size": 512}, "default": {}}
OPEN = h5py.h5f.OBJ_FILE | h5py.h5f.OBJ_DATASET | h5py.h5f.OBJ_GROUP | h5py.h5f.OBJ_ATTR
TYPES = ("i2", "i4", "u4", "f4", "f8", ">i4")


def selection(rng, shape, counts=None):
    """A box with strides, of so many elements in each dimension; as many as it happens to be without. None if none fits."""
    out = []
    for d, extent in enumerate(shape):
        count = counts[d] if counts else rng.randint(1, extent)
        if count > extent:
            return None
        step = rng.randint(1, (extent - 1) // (count - 1)) if count > 1 else 1
        step = min(step, 3)
        start = rng.randint(0, extent - ((count - 1) * step + 1))
        out.append(slice(start, start + (count - 1) * step + 1, step))
    return tuple(out)


def counts_of(chosen):
    return tuple(len(range(s.start, s.stop, s.step)) for s in chosen)


def regular_or_not(space):
    """HDF5 1.14.5 takes some unions for regular ones of other elements; its iterator then leaves the extent."""
    if not space.is_regular_hyperslab():
        return True
    _, _, count, block = space.get_regular_hyperslab()
    return np.prod(count) * np.prod(block) == space.get_select_npoints()


def space_of(shape, parts):
    """The dataspace with the union of such boxes selected."""
    space = h5py.h5s.create_simple(shape)
    space.select_none()
    for part in parts:
        space.select_hyperslab(
            tuple(s.start for s in part), counts_of(part), tuple(s.step for s in part), op=h5py.h5s.SELECT_OR)
    return space


def union(rng, shape):
    """A few boxes with strides, which may overlap, and the mask of their elements."""
    while True:
        parts = [selection(rng, shape) for _ in range(rng.randint(2, 3))]
        if not regular_or_not(space_of(shape, parts)):
            continue
        mask = np.zeros(shape, bool)
        for part in parts:
            mask[part] = True
        return parts, mask


def stretch(shape, first, count):
    """So many elements in row-major order, as a union of rows, and their mask."""
    mask = np.zeros(shape, bool)
    mask.ravel()[first : first + count] = True
    parts = []
    for row in np.ndindex(shape[:-1]):
        along = np.flatnonzero(mask[row])
        if along.size:
            parts.append((*(slice(i, i + 1, 1) for i in row), slice(int(along[0]), int(along[-1]) + 1, 1)))
    return parts, mask


class Case:
    def __init__(self, seed, holder, sources):
        self.rng = rng = random.Random(seed)
        self.holder = f"v{seed}.h5"
        self.kinds = holder, sources
        self.digest = hashlib.sha256()
        self.shape = tuple(rng.randint(1, (60, 14, 8)[d]) for d in range(rng.randint(1, 3)))
        self.type = rng.choice(TYPES)
        self.fill = rng.randint(1, 9) if rng.random() < 0.7 else None
        self.sources = {}
        for i in range(rng.randint(1, 3)):
            name = f"s{seed}-{i}.h5" if rng.random() < 0.8 else "."
            for j in range(rng.randint(1, 2)):
                shape = self.shape if rng.random() < 0.3 else tuple(rng.randint(1, 20) for _ in range(rng.randint(1, 3)))
                self.sources[name, f"d{i}{j}"] = np.empty(0, rng.choice(TYPES)), shape
        for number, (key, (array, shape)) in enumerate(sorted(self.sources.items())):
            values = 100 * (number + 1) + np.arange(int(np.prod(shape))) % 97
            self.sources[key] = values.reshape(shape).astype(array.dtype)
        self.mappings = [m for m in (self.mapping() for _ in range(rng.randint(0, 6))) if m]
        self.missing = {("nowhere.h5", "x"), (sorted(self.sources)[0][0], "no such")}

    def mapping(self):
        rng = self.rng
        if rng.random() < 0.15:
            key = rng.choice([("nowhere.h5", "x"), (sorted(self.sources)[0][0], "no such")])
            chosen = selection(rng, self.shape)
            return chosen, key, tuple(slice(0, n, 1) for n in counts_of(chosen)), counts_of(chosen)
        key = rng.choice(sorted(self.sources))
        source = self.sources[key].shape
        if rng.random() < 0.3:
            return self.irregular_mapping(key, source)
        if len(source) == len(self.shape) and rng.random() < 0.7:
            chosen = selection(rng, tuple(min(a, b) for a, b in zip(source, self.shape)))
            chosen = selection(rng, self.shape, counts_of(chosen))
            there = selection(rng, source, counts_of(chosen))
        else:  # of another rank: a run of as many elements along the last dimension
            count = rng.randint(1, min(source[-1], self.shape[-1]))
            chosen = selection(rng, self.shape, (1,) * (len(self.shape) - 1) + (count,))
            there = selection(rng, source, (1,) * (len(source) - 1) + (count,))
        return chosen, key, there, source

    def irregular_mapping(self, key, source):
        """A union of boxes of the source."""
        size = int(np.prod(self.shape))
        parts, there = union(self.rng, source)
        count = int(there.sum())
        if count > size:
            return None
        to_parts, chosen = stretch(self.shape, self.rng.randint(0, size - count), count)
        to_space = space_of(self.shape, to_parts)
        return (chosen, key, there, source, to_space, space_of(source, parts)) if regular_or_not(to_space) else None

    def make(self):
        by_file = {}
        for (name, path), array in self.sources.items():
            by_file.setdefault(self.holder if name == "." else name, []).append((path, array))
        for name in {self.holder, *by_file}:
            with h5py.File(name, "w", **KINDS[self.kinds[0 if name == self.holder else 1]]) as file:
                for path, array in by_file.get(name, ()):
                    chunks = tuple(max(1, n // 2) for n in array.shape) if self.rng.random() < 0.3 else None
                    file.create_dataset(path, data=array, chunks=chunks)
                if name == self.holder:
                    self.create_virtual(file)

    def create_virtual(self, file):
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if not self.mappings:
            plist.set_layout(h5py.h5d.VIRTUAL)
        if self.fill is not None:
            plist.set_fill_value(np.array(self.fill, self.type))
        whole = h5py.h5s.create_simple(self.shape)
        for chosen, (name, path), there, source, *spaces in self.mappings:
            spaces = spaces or [space_of(self.shape, [chosen]), space_of(source, [there])]
            plist.set_virtual(spaces[0], name.encode(), b"/" + path.encode(), spaces[1])
        h5py.h5d.create(file.id, b"v", h5py.h5t.py_create(np.dtype(self.type)), whole, plist)

    def expected(self, kind):
        """As float: every value of every type is one."""
        out = np.full(self.shape, self.fill or 0, "f8")
        for chosen, key, there, *_ in self.mappings:
            if key in self.sources:
                out[chosen] = self.sources[key][there].astype("f8").reshape(out[chosen].shape)
        return out.astype(kind)

    def overlaps(self):
        times = np.zeros(self.shape, "i4")
        for chosen, key, *_ in self.mappings:
            if key in self.sources:
                times[chosen] += 1
        return times

    def read(self, data):
        rng = self.rng
        kind = rng.choice(TYPES)
        wanted = self.expected(kind)
        chosen = tuple(slice(None) for _ in self.shape) if rng.random() < 0.3 else selection(rng, self.shape)
        found = data.astype(kind)[chosen]
        # HDF5 itself gives no fill value where it counts an element that several mappings have several times.
        clean = self.overlaps()[chosen] <= 1
        if self.kinds != ("native", "native") or clean.all():
            assert (found == wanted[chosen]).all(), (chosen, kind, found, wanted[chosen])
        if clean.all():
            self.digest.update(found.astype("f8").tobytes())

    def read_irregular(self, data):
        """A union of boxes into a part of a larger array."""
        rng = self.rng
        parts, mask = union(rng, self.shape)
        space = space_of(self.shape, parts)
        count = int(mask.sum())
        memory = h5py.h5s.create_simple((2 * count + 3,))
        memory.select_hyperslab((1,), (count,), (2,))
        found = np.full(2 * count + 3, -7.0)
        data.id.read(memory, space, found)
        if self.kinds == ("native", "native") and (self.overlaps()[mask] > 1).any():
            return
        assert (found[1 : 2 * count : 2] == self.expected("f8")[mask]).all(), found
        assert (found[0::2] == -7).all() and (found[2 * count :] == -7).all()

    def read_into_irregular(self, data):
        """Into a union of boxes of an array of other dimensions."""
        rng = self.rng
        size = int(np.prod(self.shape))
        parts, into = union(rng, tuple(rng.randint(1, 8) for _ in range(rng.randint(2, 3))))
        count = int(into.sum())
        if count > size:
            return
        rows, mask = stretch(self.shape, rng.randint(0, size - count), count)
        space = space_of(self.shape, rows)
        if not regular_or_not(space) or (self.kinds == ("native", "native") and (self.overlaps()[mask] > 1).any()):
            return
        found = np.full(into.shape, -7.0)
        data.id.read(space_of(into.shape, parts), space, found)
        assert (found[into] == self.expected("f8")[mask]).all(), (parts, rows, found)
        assert (found[~into] == -7).all(), (parts, found)

    def read_points(self, data):
        """In any order, some of them twice: HDF5 itself gives those of a source in ascending order."""
        rng = self.rng
        points = [tuple(rng.randrange(n) for n in self.shape) for _ in range(rng.randint(1, 12))]
        if rng.random() < 0.5:
            points += rng.sample(points, 1) * 2
        backwards = rng.random() < 0.5
        if self.kinds == ("native", "native"):
            return
        space = h5py.h5s.create_simple(self.shape)
        space.select_elements(np.array(points))
        memory = h5py.h5s.create_simple((len(points),))
        if backwards:
            memory.select_elements(np.arange(len(points))[::-1].reshape(-1, 1))
        found = np.zeros(len(points))
        data.id.read(memory, space, found)
        if backwards:
            found = found[::-1]
        wanted = self.expected("f8")
        assert found.tolist() == [wanted[p] for p in points], (points, found)

    def write(self, data):
        """Where every element has one source; elsewhere nothing is written, and that is said."""
        rng = self.rng
        chosen = selection(rng, self.shape)
        for _ in range(30):
            if (self.overlaps()[chosen] == 1).all():
                break
            chosen = selection(rng, self.shape)
        times = self.overlaps()[chosen]
        values = (1 + rng.randrange(90) + np.arange(times.size) % 31).reshape(times.shape).astype(self.type)
        if (times == 0).any():
            if self.kinds == ("native", "native") and (times > 1).any():
                return  # it counts an element that two mappings have twice, and finds as many as there shall be
            try:
                data[chosen] = values
                raise AssertionError(f"elements without a source were written: {chosen}")
            except OSError as error:
                assert "unmapped portion" in str(error), error
            return
        if (times > 1).any() or {c[1] for c in self.mappings if (c[1] in self.sources)} == set():
            return
        if self.clashes(chosen):
            return
        memory = self.irregular_memory(values.size)
        if memory:
            parts, into = memory
            spread = np.zeros(into.shape, self.type)
            spread[into] = values.ravel()
            data.id.write(space_of(into.shape, parts), space_of(self.shape, [chosen]), spread)
        else:
            data[chosen] = values
        whole = np.zeros(self.shape)
        whole[chosen] = values
        touched = np.zeros(self.shape, bool)
        touched[chosen] = True
        for part, key, there, *_ in self.mappings:
            if key not in self.sources:
                continue
            source = self.sources[key][there].copy()
            here = touched[part].reshape(source.shape)
            source[here] = whole[part].reshape(source.shape)[here].astype(source.dtype)
            self.sources[key][there] = source
        self.digest.update(values.astype("f8").tobytes())

    def irregular_memory(self, count):
        for _ in range(20):
            parts, into = union(self.rng, tuple(self.rng.randint(1, 6) for _ in range(3)))
            if into.sum() == count:
                return parts, into
        return None

    def clashes(self, chosen):
        """Do two of the written elements have the same one of a source? Which of them counts is nobody's promise."""
        touched = np.zeros(self.shape, bool)
        touched[chosen] = True
        for key, array in self.sources.items():
            times = np.zeros(array.shape, "i4")
            for part, other, there, *_ in self.mappings:
                if other == key:
                    times[there] += touched[part].reshape(times[there].shape)
            if (times > 1).any():
                return True
        return False

    def check_sources(self):
        for (name, path), array in self.sources.items():
            with h5py.File(self.holder if name == "." else name, "r") as file:
                found = file[path][...]
                assert found.dtype == array.dtype and (found == array).all(), (name, path, found, array)

    def run(self):
        self.make()
        for mode in ("r", "r+", "r"):
            with h5py.File(self.holder, mode) as file:
                data = file["v"]
                assert data.shape == self.shape and data.is_virtual
                for _ in range(6):
                    self.read(data)
                    self.read_irregular(data)
                    self.read_into_irregular(data)
                    self.read_points(data)
                    if mode == "r+":
                        self.write(data)
                del data
            left = h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, OPEN)
            assert left == 0, f"{left} objects are left open"
            self.check_sources()
        return self.digest.hexdigest()[:16]


def main():
    holder, sources, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    for seed in range(first, first + count):
        try:
            print(seed, Case(seed, holder, sources).run(), flush=True)
        except BaseException:
            print(f"seed {seed}", file=sys.stderr)
            raise
        for name in os.listdir("."):
            if name.startswith((f"v{seed}.h5", f"s{seed}-")) and seed + 1 < first + count:
                os.remove(name)


KINDS["native"] = {}
if __name__ == "__main__":
    main()
