#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Random sequences of operations on datasets, natively and under the connector, compared.

    random_ops.py [--seconds S] [--first-seed N]      the serial test
    random_ops.py --mpi RANKS [--seconds S] ...       its parallel twin: disjoint boxes
    random_ops.py --seed N [--ops K] [--without A,B] [--mpi RANKS]
        one sequence again, K operations of it, with its log

A sequence and the connector's settings are a function of the seed; .ci/run adds another number to it each time
(H5BENTO_TEST_SEED). While it runs, results of reads go into a log; afterwards the
logs and the files must be equal. Of a failing seed the smallest number of operations that still
fails is found.
"""

import argparse
import itertools
import os
import random
import sys
import time
import zlib

OPERATIONS = 40  # in a sequence
LARGE = 70000  # elements: of datasets above, records have 64 KiB up to a few MiB
RECORD = 150000  # doubles: more than 1 MiB, written at the beginning of every third sequence by each rank
ENOUGH = 12  # sequences, of which some still have such a record at their end


# ---- types ---------------------------------------------------------------------------------------


def make_types():
    import h5py
    import numpy as np

    compound = np.dtype(
        [("a", "i4"), ("b", "f8", (2,)), ("s", "S3"), ("c", [("x", "u1"), ("y", ">f4")])]
    )
    aligned = np.dtype([("flag", "i1"), ("value", "f8")], align=True)
    colour = h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 300}, basetype="i2")
    return [
        "i1",
        "u1",
        "i2",
        "<i4",
        ">i4",
        "u8",
        "f2",
        "f4",
        "f8",
        ">f8",
        "c8",
        "c16",
        "?",
        "S1",
        "S9",
        "V3",
        np.dtype(("i2", (3,))),
        compound,
        aligned,
        colour,
    ]


def random_values(random, dtype, shape):
    """Random values of a type; small whole numbers where a conversion must keep them."""
    import h5py
    import numpy as np

    dtype = np.dtype(dtype)
    if dtype.names:
        result = np.zeros(shape, dtype)
        for name in dtype.names:
            result[name] = random_values(random, dtype[name], shape)
        return result
    if dtype.subdtype:
        return random_values(random, dtype.subdtype[0], tuple(shape) + dtype.subdtype[1])
    if h5py.check_enum_dtype(dtype) is not None:
        return random.choice(np.array([0, 1, 300], dtype), size=shape)
    if dtype.kind == "b":
        return random.integers(0, 2, size=shape).astype(bool)
    if dtype.kind in "iu":
        return random.integers(0, 100, size=shape).astype(dtype)
    if dtype.kind == "f":
        return random.integers(-64, 64, size=shape).astype(dtype) / dtype.type(4)
    if dtype.kind == "c":
        return (
            random.integers(-64, 64, size=shape) + 1j * random.integers(-64, 64, size=shape)
        ).astype(dtype)
    raw = random.integers(97, 123, size=tuple(shape) + (dtype.itemsize,)).astype("u1")
    return np.ascontiguousarray(raw).view(dtype).reshape(shape)


def is_numeric(dtype):
    import h5py

    return dtype.kind in "iuf" and h5py.check_enum_dtype(dtype) is None


# ---- selections ----------------------------------------------------------------------------------


def random_slice(random, length, strided=True):
    if length == 0:
        return slice(0, 0)
    start = int(random.integers(0, length))
    stop = int(random.integers(start, length + 1))
    step = int(random.integers(1, 5)) if strided and random.random() < 0.4 else 1
    return slice(start, stop, step)


def random_selection(random, shape, strided=True):
    """What h5py takes in brackets: boxes, strides, single indices, all, lists on one axis."""
    import numpy as np

    kind = random.random()
    if not shape or kind < 0.15:
        return np.s_[...]
    selection = []
    for length in shape:
        if length and random.random() < 0.15:
            selection.append(int(random.integers(0, length)))
        elif random.random() < 0.2:
            selection.append(slice(None))
        else:
            selection.append(random_slice(random, length, strided))
    if strided and kind > 0.85:
        axis = int(random.integers(0, len(shape)))
        if shape[axis]:
            count = int(random.integers(1, shape[axis] + 1))
            selection[axis] = sorted(random.choice(shape[axis], size=count, replace=False).tolist())
    return tuple(selection)


def random_space(random, shape):
    """A dataspace with a union of boxes or a list of points in it, or None."""
    import numpy as np
    from h5py import h5s

    if not shape or 0 in shape:
        return None
    space = h5s.create_simple(shape)
    if random.random() < 0.5:
        count = int(random.integers(1, 1 + min(30, int(np.prod(shape)))))
        points = np.stack([random.integers(0, n, size=count) for n in shape], axis=1).astype("u8")
        # The order of points is the order of values; a point that occurs twice would leave it open
        # which counts.
        space.select_elements(points[np.sort(np.unique(points, axis=0, return_index=True)[1])])
    else:
        for number in range(int(random.integers(2, 5))):
            slices = [random_slice(random, n, strided=False) for n in shape]
            if any(s.stop == s.start for s in slices):
                continue
            operation = (
                h5s.SELECT_SET
                if number == 0
                else random.choice([h5s.SELECT_OR, h5s.SELECT_OR, h5s.SELECT_NOTB, h5s.SELECT_XOR])
            )
            start, count = tuple(s.start for s in slices), tuple(s.stop - s.start for s in slices)
            space.select_hyperslab(start, count, op=int(operation))
    return space if 0 < space.get_select_npoints() and space.select_valid() else None


# ---- settings ------------------------------------------------------------------------------------


def settings_of(seed, ranks):
    """Settings of the connector for a sequence: {key: value}."""
    chance = random.Random(f"settings {seed}")
    choices = {
        "CHUNK": [None, None, "64K", "1M", "8M", "8M"],
        "BUFFER": [None, "64K", "256K"],
        "ALIGN": [None, "1", "64", "16K"],
        "DURABILITY": [None, None, None, "power"],
        "MINMAX": [None, "on"],
        "FILES": [None, "2"] if ranks > 1 else [None],
    }
    picked = {key: chance.choice(values) for key, values in choices.items()}
    if seed % 3 == 0:
        picked["CHUNK"] = "8M"
    return {key: value for key, value in picked.items() if value}


def choose_settings(seed, ranks):
    """For the containers that this process opens from here on."""
    for key in ("CHUNK", "BUFFER", "ALIGN", "DURABILITY", "MINMAX", "FILES"):
        os.environ.pop(f"H5BENTO_{key}", None)
    for key, value in settings_of(seed, ranks).items():
        os.environ[f"H5BENTO_{key}"] = value


# ---- a sequence ----------------------------------------------------------------------------------


class Sequence:
    """One random sequence; every decision comes from the seed, and none from what is read."""

    def __init__(self, path, seed, without, log):
        import numpy as np

        self.path, self.random, self.log, self.without = (
            path,
            np.random.default_rng(seed),
            log,
            without,
        )
        self.begins_large = seed % 3 == 0
        self.types = make_types()
        self.next_name = 0
        self.file = None

    def open(self, mode):
        import h5py

        self.file = h5py.File(self.path, mode, libver=self.libver, track_order=None)

    def run(self, operations):
        self.libver = [None, "latest"][int(self.random.integers(0, 2))]
        self.open("w")
        weights = self.operations()
        names = list(weights)
        share = [weights[name] / sum(weights.values()) for name in names]
        for number in range(operations):
            # A stream of its own for each operation: leaving one out does not change the others.
            stream = self.random.spawn(1)[0]
            name = "create" if number < 2 else str(stream.choice(names, p=share))
            if number == 0 and self.begins_large:
                name = "large"
            if name in self.without:
                continue
            # Errors are results, too: they must be the same on both sides.
            try:
                getattr(self, f"do_{name}")(stream)
            except (OSError, ValueError, RuntimeError, KeyError, TypeError) as error:
                self.log(f"{name}: {type(error).__name__}")
        self.read_all()
        self.file.close()

    @staticmethod
    def operations():
        return {
            "create": 12,
            "write": 34,
            "write_space": 12,
            "write_mask": 3,
            "read": 20,
            "read_space": 8,
            "resize": 14,
            "reopen": 6,
            "flush": 3,
            "attribute": 5,
            "delete": 3,
            "rename": 3,
            "link": 2,
            "copy": 2,
            "strings": 2,
            "chunks": 5,
        }

    # -- helpers

    def datasets(self):
        import h5py

        found = []
        self.file.visititems(
            lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None
        )
        return sorted(name for name in found if not name.startswith("strings"))

    def pick(self, random, chunked=False):
        names = [name for name in self.datasets() if not chunked or self.file[name].chunks]
        return self.file[names[int(random.integers(0, len(names)))]] if names else None

    def note(self, what, array):
        import numpy as np

        array = np.ascontiguousarray(array)
        data = array.tobytes() if not array.dtype.hasobject else repr(array.tolist()).encode()
        if array.dtype.names:  # without padding
            data = repr(array.tolist()).encode()
        self.log(
            f"{what} {array.dtype.str if not array.dtype.names else 'compound'} {array.shape} {zlib.crc32(data):08x}"
        )

    def new_name(self, random, kind="d"):
        self.next_name += 1
        return f"{random.choice(['', 'g/', 'g/h/'])}{kind}{self.next_name}"

    def read_all(self):
        for name in self.datasets():
            self.note(f"all of {name}", self.file[name][...])

    # -- operations

    def creation(self, random):
        """Arguments of create_dataset. The fill value is always defined, or written at allocation:
        what stock HDF5 leaves in elements nobody wrote is otherwise chance."""
        import numpy as np

        dtype = self.types[int(random.integers(0, len(self.types)))]
        array_type = np.dtype(dtype).subdtype is not None
        # h5py forgets the fill time of scalars, and takes no fill value of array types.
        rank = int(random.choice([1, 2, 3] if array_type else [0, 1, 1, 2, 2, 3]))
        shape = tuple(
            int(n)
            for n in random.integers(
                0 if random.random() < 0.1 else 1, [60, 60, 20, 10][rank], size=rank
            )
        )
        options = {"shape": shape, "dtype": dtype}
        if random.random() < 0.15:
            return self.large(random)
        if not array_type and (rank == 0 or random.random() < 0.7):
            options["fillvalue"] = random_values(random, dtype, ())[()]
        else:
            options["fill_time"] = "alloc"
        if rank and random.random() < 0.6:
            options["chunks"] = tuple(
                int(n) for n in random.integers(1, [0, 20, 9, 6][rank], size=rank)
            )
            options["maxshape"] = tuple(
                None if random.random() < 0.6 else n + int(random.integers(0, 20)) for n in shape
            )
            if random.random() < 0.35:
                self.add_filters(random, options, rank)
        return options

    def large(self, random):
        """Arguments of create_dataset, for records of 64 KiB and more; half of the datasets in chunks."""
        dtype = str(random.choice(["u1", "<i4", ">i4", "f8", "f8"]))
        elements = int(LARGE * 9 ** random.random())
        shape = (elements,)
        if random.random() < 0.4:
            rows = int(random.integers(2, 40))
            shape = (rows, elements // rows + 1)
        options = {"shape": shape, "dtype": dtype, "fillvalue": random_values(random, dtype, ())[()]}
        if random.random() < 0.5:
            options["chunks"] = tuple(int(random.integers(1 + n // 3, n + 1)) for n in shape)
            options["maxshape"] = tuple(None if random.random() < 0.6 else n for n in shape)
            if random.random() < 0.3:
                options["compression"], options["compression_opts"] = "gzip", 1
        return options

    def add_filters(self, random, options, rank):
        """Lossless filters; half of the time a dataset whose chunks are large enough to be kept compressed."""
        import h5py
        import numpy as np

        dtype = np.dtype(options["dtype"])
        if random.random() < 0.5 and dtype.subdtype is None:
            # Of these some are large enough for the connector to keep parts of chunks compressed, too.
            options["shape"] = tuple(int(n) for n in random.integers(1, [0, 9000, 160, 40][rank], size=rank))
            options["chunks"] = tuple(
                int(n) for n in random.integers(1 + [0, 300, 20, 8][rank], [0, 4000, 90, 24][rank], size=rank)
            )
            options["maxshape"] = tuple(
                None if random.random() < 0.6 else n + int(random.integers(0, 200)) for n in options["shape"]
            )
        kind = random.random()
        integer = dtype.kind in "iu" and h5py.check_enum_dtype(dtype) is None
        if kind < 0.6:
            options["compression"] = "gzip"
        elif kind < 0.75:
            options["compression"] = "lzf"
        elif kind < 0.85 and integer:
            options["scaleoffset"] = 0
            return  # it takes no other filter beside it
        options["shuffle"] = bool(random.random() < 0.5)
        options["fletcher32"] = bool(random.random() < 0.3)

    def do_create(self, random):
        name, options = self.new_name(random), self.creation(random)
        if random.random() < 0.3 and not hasattr(options["dtype"], "subdtype"):
            options["data"] = random_values(random, options["dtype"], options["shape"])
        self.log(f"create {name} {options['shape']} {options.get('chunks')}")
        dataset = self.file.create_dataset(name, **options)
        if random.random() < 0.3:
            self.note(f"new {name}", dataset[...])

    def do_large(self, random):
        """A record above 1 MiB; parts of it are overwritten later."""
        self.log("large")
        self.file.create_dataset(self.new_name(random), (RECORD,), "f8", fillvalue=1)[...] = random.random(RECORD)

    def do_write(self, random):
        import numpy as np

        dataset = self.pick(random)
        if dataset is None:
            return
        selection = random_selection(random, dataset.shape, dataset.size < LARGE)
        shape = np.empty(dataset.shape, "i1")[selection].shape
        memory = dataset.dtype
        if is_numeric(memory) and random.random() < 0.4:
            memory = np.dtype(random.choice(["i4", "f8", "i8", "u1", ">i4"]))
        values = random_values(random, memory, shape)
        if is_numeric(dataset.dtype) and dataset.dtype.kind == "u" and memory.kind == "f":
            values = abs(values)
        # HDF5 converts -0.25 to the smallest integer where the byte order differs. A chunk in which the scale-offset filter
        # meets that one besides others cannot be read again (HDF5's issue 5861).
        if dataset.scaleoffset is not None and memory.kind == "f":
            values = np.trunc(values) + 0.0  # not -0
        if (
            random.random() < 0.1
            and values.size
            and not dataset.dtype.subdtype
            and not dataset.dtype.names
        ):
            values = values.reshape(-1)[0]  # broadcast
        self.log(f"write {dataset.name} {shape}")
        dataset[selection] = values

    def do_write_space(self, random):
        self.through_space(random, writing=True)

    def do_read_space(self, random):
        self.through_space(random, writing=False)

    def through_space(self, random, writing):
        """Unions of boxes and points, with memory that is itself strided or one-dimensional."""
        import numpy as np
        from h5py import h5s

        dataset = self.pick(random)
        if dataset is None or dataset.dtype.subdtype:
            return
        space = random_space(random, dataset.shape)
        if space is None:
            return
        count = space.get_select_npoints()
        stride = int(random.choice([1, 1, 2, 3]))
        memory = h5s.create_simple((count * stride + 2,))
        memory.select_hyperslab((1,), (count,), (stride,))
        buffer = np.zeros(count * stride + 2, dataset.dtype)
        if writing:
            buffer[1 : 1 + count * stride : stride] = random_values(random, dataset.dtype, (count,))
            self.log(f"write_space {dataset.name} {count}")
            dataset.id.write(memory, space, buffer)
        else:
            dataset.id.read(memory, space, buffer)
            self.note(f"read_space {dataset.name}", buffer)

    def do_write_mask(self, random):
        dataset = self.pick(random)
        if dataset is None or dataset.dtype.subdtype or not dataset.shape or dataset.size >= LARGE:
            return
        mask = random.random(dataset.shape) < 0.3
        self.log(f"write_mask {dataset.name} {int(mask.sum())}")
        if mask.any():
            dataset[mask] = random_values(random, dataset.dtype, (int(mask.sum()),))

    def do_read(self, random):
        dataset = self.pick(random)
        if dataset is None:
            return
        selection = random_selection(random, dataset.shape, dataset.size < LARGE)
        if is_numeric(dataset.dtype) and random.random() < 0.3:
            self.note(f"read {dataset.name} as f8", dataset.astype("f8")[selection])
        else:
            self.note(f"read {dataset.name}", dataset[selection])

    def do_resize(self, random):
        dataset = self.pick(random, chunked=True)
        # Natively, a single filtered chunk cannot be read any more after it was resized to nothing and back.
        if dataset is None or dataset.chunks == dataset.maxshape:
            return
        shape = []
        for now, most in zip(dataset.shape, dataset.maxshape):
            limit = most if most is not None else now + 25
            shape.append(now if random.random() < 0.4 else int(random.integers(0, limit + 1)))
        self.log(f"resize {dataset.name} {shape}")
        dataset.resize(tuple(shape))
        if random.random() < 0.3:
            self.note(f"resized {dataset.name}", dataset[...])

    def do_reopen(self, random):
        self.log("reopen")
        self.file.close()
        if random.random() < 0.3:
            self.open("r")
            self.read_all()
            self.file.close()
        self.open("r+")

    def do_flush(self, random):
        self.log("flush")
        self.file.flush()

    def do_attribute(self, random):
        target = self.pick(random) if random.random() < 0.7 else self.file
        if target is None:
            return
        name = f"a{int(random.integers(0, 4))}"
        if name in target.attrs and random.random() < 0.3:
            self.log(f"delete attribute {target.name} {name}")
            del target.attrs[name]
            return
        dtype = self.types[int(random.integers(0, 14))]
        self.log(f"attribute {target.name} {name}")
        target.attrs[name] = random_values(random, dtype, (int(random.integers(1, 20)),))

    def do_delete(self, random):
        dataset = self.pick(random)
        if dataset is not None:
            self.log(f"delete {dataset.name}")
            del self.file[dataset.name]

    def do_rename(self, random):
        dataset = self.pick(random)
        if dataset is not None:
            name = self.new_name(random, "m")
            self.log(f"rename {dataset.name} {name}")
            self.file.move(dataset.name, name)

    def do_link(self, random):
        import h5py

        dataset = self.pick(random)
        if dataset is not None:
            name = self.new_name(random, "l")
            self.log(f"link {dataset.name} {name}")
            self.file[name] = dataset if random.random() < 0.5 else h5py.SoftLink(dataset.name)

    def do_copy(self, random):
        dataset = self.pick(random)
        if dataset is not None:
            name = self.new_name(random, "c")
            self.log(f"copy {dataset.name} {name}")
            self.file.copy(dataset, name)

    def do_chunks(self, random):
        """A dataset of its own, filled in part; then its chunks as they are stored, and copies of them."""
        import h5py
        import numpy as np

        dtype = np.dtype(str(random.choice(["u1", "i2", ">i4", "f8"])))
        rank = int(random.integers(1, 4))
        options = {"dtype": dtype, "fillvalue": 7, "shape": (1,) * rank, "chunks": True}
        while options["chunks"] is True or "scaleoffset" in options:
            options = {"dtype": dtype, "fillvalue": 7, "chunks": True}
            options["shape"] = tuple(int(n) for n in random.integers(1, [0, 60, 20, 10][rank], size=rank))
            options["chunks"] = tuple(int(n) for n in random.integers(1, [0, 20, 9, 6][rank], size=rank))
            self.add_filters(random, options, rank)
        options["maxshape"] = options["shape"]
        options["chunks"] = tuple(min(pair) for pair in zip(options["chunks"], options["shape"]))
        name = self.new_name(random, "k")
        dataset = self.file.create_dataset(name, **options)
        for _ in range(int(random.integers(1, 4))):
            where = tuple(random_slice(random, n, strided=False) for n in options["shape"])
            if random.random() < 0.3:
                where = np.s_[...]
            shape = np.empty(options["shape"], "i1")[where].shape
            count = int(np.prod(shape)) * dtype.itemsize
            noise = random.integers(0, 256, size=count).astype("u1").view(dtype).reshape(shape)
            dataset[where] = noise if random.random() < 0.4 else random_values(random, dtype, shape)
        self.file.flush()
        # What LZF makes of the same bytes depends on what lay in memory: it does not clear its table.
        repeatable = dataset.compression != "lzf"
        # The connector deflates by itself then, to other bytes than zlib: what it unpacks to is the same.
        creation = dataset.id.get_create_plist()
        last = creation.get_nfilters() - 1
        deflated = dataset.compression == "gzip" and creation.get_filter(last)[0] == h5py.h5z.FILTER_DEFLATE
        repeatable = repeatable and not deflated
        self.log(f"chunks {name} {dataset.id.get_num_chunks()} {dataset.id.get_storage_size() if repeatable else ''}")
        target = self.file.create_dataset(f"{name}t", **options)
        grid = [range(0, n, c) for n, c in zip(options["shape"], options["chunks"])]
        for offset in itertools.product(*grid):
            info = dataset.id.get_chunk_info_by_coord(offset)
            if info.size == 0:
                continue
            mask, stored = dataset.id.read_direct_chunk(offset)
            content = f"{info.size} {zlib.crc32(stored):08x}" if repeatable else ""
            if deflated and not mask >> last & 1:
                content = f"{zlib.crc32(zlib.decompress(stored)):08x}"
            self.log(f"{offset} {info.filter_mask} {mask} {content}")
            # Natively, a read in the same session takes a mask written so for another one.
            if mask == 0:
                target.id.write_direct_chunk(offset, stored, mask)
        self.file.flush()
        self.log(f"target {target.id.get_num_chunks()} {target.id.get_storage_size() if repeatable else ''}")
        self.note(f"target {name}", target[...])
        # Resizing a single chunk that was written so is not safe natively.
        del self.file[f"{name}t"]

    def do_strings(self, random):
        """Variable-length data: kept elsewhere than the rest, and to be kept apart from it."""
        import h5py
        import numpy as np

        if "strings" not in self.file:
            self.file.create_dataset(
                "strings", (0,), h5py.string_dtype(), maxshape=(None,), chunks=(4,)
            )
        dataset = self.file["strings"]
        count = len(dataset)
        dataset.resize((count + 3,))
        texts = ["x" * int(n) for n in random.integers(0, 40, size=3)]
        dataset[count:] = np.array(texts, dtype=object)
        self.note("strings", dataset[...])


class ParallelSequence(Sequence):
    """Of what every rank does alike, all ranks take the same decisions; data are written in boxes
    of which each rank has its own."""

    def __init__(self, path, seed, without, log):
        super().__init__(path, seed, without, log)
        from mpi4py import MPI

        self.comm = MPI.COMM_WORLD
        self.rank, self.size = self.comm.rank, self.comm.size

    def open(self, mode):
        import h5py

        self.file = h5py.File(self.path, mode, driver="mpio", comm=self.comm, libver=self.libver)

    @staticmethod
    def operations():
        return {
            "create": 14,
            "write": 48,
            "read": 14,
            "resize": 12,
            "reopen": 5,
            "flush": 4,
            "attribute": 4,
            "delete": 2,
            "rename": 2,
        }

    def creation(self, random):
        # Natively without filters: stock HDF5 1.14.5 misplaces some collective writes of parts of filtered
        # chunks, and refuses independent ones. The values must be the same.
        options = super().creation(random)
        if "HDF5_VOL_CONNECTOR" not in os.environ:
            for name in ("compression", "compression_opts", "shuffle", "fletcher32", "scaleoffset"):
                options.pop(name, None)
        return options

    def do_create(self, random):
        # Natively, data that all ranks write at creation would overlap.
        name, options = self.new_name(random), self.creation(random)
        self.log(f"create {name} {options['shape']} {options.get('chunks')}")
        self.file.create_dataset(name, **options)

    def do_large(self, random):
        """A record above 1 MiB of each rank."""
        import numpy as np

        self.log("large")
        dataset = self.file.create_dataset(self.new_name(random), (self.size * RECORD,), "f8", fillvalue=1)
        mine = np.random.default_rng([int(random.integers(0, 2**31)), self.rank])
        where = slice(self.rank * RECORD, (self.rank + 1) * RECORD)
        self.write_selection(dataset, (where,), random.random() < 0.5, mine)
        self.exchange()

    def do_write(self, random):
        import numpy as np

        dataset = self.pick(random)
        if dataset is None:
            return
        collective = random.random() < 0.5
        small = dataset.size < LARGE
        box = [random_slice(random, n, strided=small) for n in dataset.shape]
        axis = int(random.integers(0, len(box))) if box else 0
        seed = int(random.integers(0, 2**31))
        self.log(
            f"write {dataset.name} {box} along {axis} {'collective' if collective else 'independent'}"
        )
        if box:
            # Cut at random places: parts are of different sizes, some empty.
            cuts = np.sort(random.integers(0, dataset.shape[axis] + 1, size=self.size - 1))
            edges = [0, *cuts.tolist(), dataset.shape[axis]]
            if random.random() < 0.5 or not small:
                box[axis] = slice(edges[self.rank], edges[self.rank + 1])
            else:
                box[axis] = slice(
                    min(self.rank, dataset.shape[axis]), dataset.shape[axis], self.size
                )
            selection = tuple(box)
        else:
            selection = () if self.rank == seed % self.size else None
        mine = np.random.default_rng([seed, self.rank])
        self.write_selection(dataset, selection, collective, mine)
        # What was written before by others may be overwritten next: a collective call separates the
        # two.
        if random.random() < 0.7:
            self.file.flush()
        else:
            self.file.attrs["turn"] = seed
        self.comm.Barrier()

    def write_selection(self, dataset, selection, collective, random):
        import numpy as np
        from h5py import h5fd, h5p, h5s

        transfer = h5p.create(h5p.DATASET_XFER)
        transfer.set_dxpl_mpio(h5fd.MPIO_COLLECTIVE if collective else h5fd.MPIO_INDEPENDENT)
        space = dataset.id.get_space()
        if selection is None:
            space.select_none()
        elif selection:
            counts = tuple(len(range(s.start, s.stop, s.step or 1)) for s in selection)
            if 0 in counts:
                space.select_none()
            else:
                space.select_hyperslab(
                    tuple(s.start for s in selection), counts, tuple(s.step or 1 for s in selection)
                )
        count = space.get_select_npoints()
        if count == 0 and not collective:
            return
        memory = h5s.create_simple((count,))
        if count == 0:
            memory.select_none()
        dataset.id.write(
            memory,
            space,
            np.ascontiguousarray(random_values(random, dataset.dtype, (count,))),
            mtype=dataset.id.get_type(),
            dxpl=transfer,
        )

    def do_resize(self, random):
        self.exchange()  # it may read
        super().do_resize(random)
        self.comm.Barrier()

    def exchange(self):
        """Others' writes are visible after a flush."""
        self.file.flush()
        self.comm.Barrier()

    def do_read(self, random):
        import numpy as np

        dataset = self.pick(random)
        if dataset is None:
            return
        self.exchange()

        mine = np.random.default_rng([int(random.integers(0, 2**31)), self.rank])
        selection = random_selection(mine, dataset.shape, strided=False)
        self.note(f"read {dataset.name}", dataset[selection])
        self.comm.Barrier()

    def read_all(self):
        self.exchange()
        super().read_all()
        self.comm.Barrier()

    def do_attribute(self, random):
        dataset = self.pick(random)
        if dataset is not None:
            self.log(f"attribute {dataset.name}")
            dataset.attrs[f"a{int(random.integers(0, 4))}"] = random_values(random, "f8", (3,))


# ---- the worker ----------------------------------------------------------------------------------


def work(options):
    """Runs sequences from options.first_seed on; files and logs go to options.folder."""
    import warnings

    warnings.simplefilter("ignore")
    kind, rank, comm = Sequence, 0, None
    if options.mpi:
        from mpi4py import MPI

        kind, comm = ParallelSequence, MPI.COMM_WORLD
        rank = comm.rank
    begin, seed = time.monotonic(), options.first_seed
    without = set(filter(None, options.without.split(",")))
    while True:
        path = os.path.join(options.folder, f"{seed}.h5")
        choose_settings(seed, options.mpi)
        with open(f"{path}.log.{rank}", "w", buffering=1) as log:  # line by line: it may crash
            kind(path, seed, without, lambda text: print(text, file=log)).run(options.ops)
        seed += 1
        done = (
            seed - options.first_seed >= options.count
            if options.count
            else time.monotonic() - begin > options.seconds
        )
        if comm is not None:
            done = comm.bcast(done)
        if done:
            break
    if rank == 0:
        print(f"sequences: {seed - options.first_seed}")


# ---- the test ------------------------------------------------------------------------------------


def start_worker(options, env, folder, first_seed, operations, seconds=0.0, count=0):
    os.makedirs(folder, exist_ok=True)
    command = [
        python(),
        os.path.abspath(__file__),
        "--work",
        "--folder",
        folder,
        "--first-seed",
        first_seed,
    ]
    command += [
        "--ops",
        operations,
        "--seconds",
        seconds,
        "--count",
        count,
        "--without",
        options.without,
    ]
    command += ["--mpi", options.mpi] if options.mpi else []
    timeout = 60 + 10 * seconds + 20 * count
    return (
        mpirun(options.mpi, command, env, timeout=timeout, ok=ANY)
        if options.mpi
        else run(command, env, timeout=timeout, ok=ANY)
    )


def differences(options, seeds, native, found):
    """{seed: what differs}, by the logs and then by the files."""
    bad = {}
    for seed in seeds:
        for rank in range(options.mpi or 1):
            logs = []
            for folder in (native, found):
                path = os.path.join(folder, f"{seed}.h5.log.{rank}")
                with open(path) as file:
                    logs.append(file.read().splitlines())
            if logs[0] != logs[1]:
                at = next((i for i, (a, b) in enumerate(zip(*logs)) if a != b), min(map(len, logs)))
                a, b = ([*log, "the end"][min(at, len(log))] for log in logs)
                bad[seed] = (
                    f"log of rank {rank}, line {at + 1}: natively {a!r}, under the connector {b!r}"
                )
                break
    pairs = [f"{seed}" for seed in seeds if seed not in bad]
    result = run(
        [python(), os.path.abspath(__file__), "--mpi", options.mpi, "--compare", native, found, *pairs],
        bento_env(),
        timeout=600,
        ok=(0, 1),
    )
    for match in parse_lines(r"seed (\d+): (.*)", result.out):
        bad.setdefault(int(match[1]), match[2])
    check(result.status == 0 or bad, f"the comparison failed:\n{result.tail()}")
    return bad


def compare_files(native, found, seeds, ignored):
    """In a process of its own, under the connector."""
    sys.path.insert(0, os.path.dirname(READ_BACK))
    import read_back

    world, bad = read_back.World(False), 0
    for seed in seeds:
        comparison = read_back.Comparison(world)
        try:
            comparison.files(os.path.join(native, f"{seed}.h5"), os.path.join(found, f"{seed}.h5"))
        except Exception as error:  # a file that cannot be read is a difference
            comparison.differences.append(f"{type(error).__name__}: {error}".splitlines()[0])
        comparison.differences = [
            text for text in comparison.differences if not ignored or ignored not in text
        ]
        if comparison.differences:
            bad += 1
            print(f"seed {seed}: {'; '.join(comparison.differences[:3])}")
    sys.exit(1 if bad else 0)


def run_both(options, seed, operations, folder):
    """One seed with fewer operations; returns what differs, or None."""
    env = {"native": native_env(), "bento": bento_env()}
    pair = [os.path.join(folder, name) for name in env]
    for path, name in zip(pair, env):
        result = start_worker(options, env[name], path, seed, operations, count=1)
        if result.status != 0:
            return f"{name}: exit status {result.status}: {result.tail(3)}"
    return differences(options, [seed], *pair).get(seed)


def shrink(options, seed, reason):
    """The smallest number of operations of a seed that still fails."""
    low, high = 1, options.ops
    end = time.monotonic() + 60
    while low < high and time.monotonic() < end:
        middle = (low + high) // 2
        folder = f"shrink-{seed}-{middle}"
        smaller = run_both(options, seed, middle, folder)
        shutil.rmtree(folder, ignore_errors=True)
        if smaller:
            high, reason = middle, smaller
        else:
            low = middle + 1
    parallel = f" --mpi {options.mpi}" if options.mpi else ""
    said = " ".join(f"{key.lower()}={value}" for key, value in settings_of(seed, options.mpi).items())
    return f"seed {seed} ({said}): {reason}\n  again: tests/programs/random_ops.py --seed {seed} --ops {high}{parallel}"


def check_views(seeds):
    """Stock HDF5 sees in each container what it sees in the file that was written natively."""
    pairs = [tuple(os.path.join(name, f"{seed}.h5") for name in ("native", "bento")) for seed in seeds]
    for first in range(0, len(pairs), 40):
        compare(pairs[first : first + 40])


def test(options):
    seeds = []
    # In rounds, so that disk space stays bounded.
    begin, first, number = time.monotonic(), first_seed(options.first_seed), 0
    while not seeds or (not options.count and time.monotonic() - begin < options.seconds):
        budget = max(1.0, min(options.seconds / 4, 20.0))
        natively = start_worker(options, native_env(), "native", first, options.ops, count=options.count, seconds=budget)
        check(natively.status == 0, f"natively, exit status {natively.status}:\n{natively.tail()}")
        count = int(parse_lines(r"sequences: (\d+)", natively.out)[0][1])
        stats = f"stats-{number}"
        result = start_worker(
            options, bento_env(stats=stats), "bento", first, options.ops, count=count
        )
        if result.status != 0:
            # The last log tells which sequence it was.
            logs = [
                int(name.split(".")[0]) for name in os.listdir("bento") if name.endswith(".log.0")
            ]
            last = max(logs, default=first)
            reason = f"exit status {result.status}:\n{result.tail(20)}"
            raise Failure(shrink(options, last, reason))
        check_diverted(stats, only=False, processes=options.mpi or 1)
        new = list(range(first, first + count))
        for seed in new:
            check_container(os.path.join("bento", f"{seed}.h5"))
        bad = differences(options, new, "native", "bento")
        if bad:
            seed = min(bad)
            raise Failure(
                f"{len(bad)} of {count} sequences differ: {sorted(bad)[:20]}\n{shrink(options, seed, bad[seed])}"
            )
        check_all_containers("bento")
        check_views(new)
        seeds += new
        first, number = first + count, number + 1
        for folder in ("native", "bento"):
            shutil.rmtree(folder)
    checked, largest = Leaves.checked, Leaves.largest
    check(checked >= len(seeds) or REHEARSAL, f"{checked} containers of {len(seeds)} sequences were checked")
    check(largest > 1 << 20 or len(seeds) < ENOUGH or REHEARSAL, f"the largest record has {largest} bytes")
    say(f"largest record: {largest} bytes")
    say(
        f"{len(seeds)} sequences of {options.ops} operations, seeds {seeds[0]} to {seeds[-1]}: equal"
    )


def again(options):
    """One seed, with its log."""
    reason = run_both(options, options.seed, options.ops, "again")
    for name in ("native", "bento"):
        path = os.path.join("again", name, f"{options.seed}.h5.log.0")
        if os.path.exists(path):
            with open(path) as file:
                say(f"--- {name}\n{file.read()}")
    check(not reason, f"seed {options.seed}, {options.ops} operations: {reason}")
    say("equal")


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--ops", type=int, default=OPERATIONS)
    parser.add_argument("--without", default="", help="operations to leave out, e.g. copy,strings")
    parser.add_argument("--mpi", type=int, default=0, metavar="RANKS")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, default=0, help="so many sequences, however long they take")
    parser.add_argument("--compare", nargs="+", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    OPTIONS = parse()
    if OPTIONS.work:
        work(OPTIONS)
        sys.exit(0)
    import shutil

    from harness import (
        ANY,
        READ_BACK,
        REHEARSAL,
        Failure,
        Leaves,
        bento_env,
        check,
        check_all_containers,
        check_container,
        check_diverted,
        first_seed,
        mpirun,
        native_env,
        parse_lines,
        python,
        run,
        run_test,
        say,
    )
    from native_view_check import compare

    if OPTIONS.compare:
        compare_files(*OPTIONS.compare[:2], OPTIONS.compare[2:], ": filters: " if OPTIONS.mpi else "")
    run_test(again if OPTIONS.seed is not None else test, OPTIONS)
