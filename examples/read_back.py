#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Prints what is in an HDF5 file, or compares two files value for value.

    read_back.py FILE                  tree with shapes, types, attributes, checksums of datasets
    read_back.py --compare A B         everything a reader can see; differences are listed
    read_back.py --ignore-layout --skip .h5bento --compare A B
                                       the same where B is a closed container, read without h5bento
    mpirun -n 3 read_back.py --mpi ... the same, each rank reading its share through the mpio driver

Ordinary h5py: which connector and driver read the files is decided outside. A checksum depends on
the values and their positions alone, not on the number of ranks, the byte order or the layout.

Exit status: 0 done or equal, 1 the files differ, 2 a file cannot be read or the usage is wrong.
"""

import argparse
import sys
import zlib

import h5py
import numpy as np
from h5py import h5a, h5d, h5l, h5o, h5r, h5s

BLOCK_BYTES = 8 << 20  # read at a time


class World:
    """The ranks of this run; one if there is no MPI."""

    def __init__(self, use_mpi, skip=()):
        self.comm = None
        self.skip = [name.encode() for name in skip]  # links of the root that are not looked at
        self.rank, self.size = 0, 1
        if use_mpi:
            from mpi4py import MPI

            self.comm = MPI.COMM_WORLD
            self.rank, self.size = self.comm.rank, self.comm.size

    def open(self, path):
        if self.comm is None:
            return h5py.File(path, "r")
        return h5py.File(path, "r", driver="mpio", comm=self.comm)

    def sum(self, value):
        return value if self.comm is None else self.comm.allreduce(value)

    def join(self, lists):
        """Concatenation over ranks, without repetitions."""
        parts = [lists] if self.comm is None else self.comm.allgather(lists)
        return list(dict.fromkeys(item for part in parts for item in part))

    def abort(self, status):
        if self.comm is not None and self.size > 1:
            sys.stdout.flush()
            sys.stderr.flush()
            self.comm.Abort(status)
        sys.exit(status)


# ---- values --------------------------------------------------------------------------------------


def canonical(array, count):
    """Bytes of `count` elements, shape (count, bytes of one), little-endian, without padding."""
    dtype = array.dtype
    if dtype.names is not None:
        parts = [canonical(array[name], count) for name in dtype.names]
        return np.concatenate(parts, axis=1) if parts else np.zeros((count, 0), np.uint8)
    if dtype.hasobject:
        codes = [zlib.crc32(describe_object(item).encode()) for item in array.reshape(-1)]
        array = np.array(codes, dtype="<u4")
    elif dtype.kind != "V":
        array = array.astype(dtype.newbyteorder("<"), copy=False)
    flat = np.ascontiguousarray(array).reshape(-1)
    width = flat.nbytes // count if count else 0
    return np.frombuffer(flat.tobytes(), dtype=np.uint8).reshape(count, width)


def describe_object(item):
    """A text, equal for equal values: of strings, sequences, references and arrays of such."""
    if isinstance(item, np.ndarray):
        values = (
            [describe_object(x) for x in item.reshape(-1)]
            if item.dtype.hasobject
            else item.tolist()
        )
        return f"{'' if item.dtype.hasobject else item.dtype.str + ' '}{values}"
    if isinstance(item, np.generic):
        return repr(item.item())
    if isinstance(item, h5py.Empty):
        return f"empty {item.dtype.str}"
    if isinstance(item, h5py.RegionReference):
        return "region reference" if item else "null region reference"
    if isinstance(item, h5py.Reference):
        return "reference" if item else "null reference"
    return repr(item)


def mix(x):
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def checksum_of(array, count, first):
    """Sum over `count` elements of a hash of (index, bytes), so that ranks can add theirs."""
    if count == 0:
        return 0
    data = canonical(array, count)
    words = np.zeros((count, (data.shape[1] + 7) // 8 * 8), np.uint8)
    words[:, : data.shape[1]] = data
    words = words.view("<u8")
    value = mix(np.arange(first, first + count, dtype=np.uint64))
    for column in range(words.shape[1]):
        value = mix(value ^ words[:, column])
    return int(np.sum(value, dtype=np.uint64))


def find_different(a, b, count):
    """Which of `count` elements differ. NaNs are equal to NaNs of the same bits."""
    if count == 0:
        return np.arange(0)
    bytes_a, bytes_b = canonical(a, count), canonical(b, count)
    if a.shape != b.shape or bytes_a.shape != bytes_b.shape:
        return np.arange(count)
    return np.flatnonzero(np.any(bytes_a != bytes_b, axis=1))


def blocks(dataset, world):
    """(selection, number of elements, index of the first) of the pieces of this rank's share."""
    shape = dataset.shape
    if shape is None:
        return
    if shape == ():
        if world.rank == 0:
            yield (), 1, 0
        return
    row = int(np.prod(shape[1:], dtype=np.int64))
    begin, end = (shape[0] * r // world.size for r in (world.rank, world.rank + 1))
    step = max(1, BLOCK_BYTES // max(1, row * max(1, dataset.dtype.itemsize)))
    for start in range(begin, end, step):
        stop = min(start + step, end)
        yield np.s_[start:stop], (stop - start) * row, start * row


def dataset_checksum(dataset, world):
    total = sum(
        checksum_of(np.asarray(dataset[where]), count, first)
        for where, count, first in blocks(dataset, world)
    )
    return world.sum(total) % 2**64


# ---- tree ----------------------------------------------------------------------------------------


def object_key(object_id):
    info = h5o.get_info(object_id)
    return info.fileno, info.addr


def links_of(group, skip=()):
    """(name, link info) in the order of names."""
    names = []
    group.id.links.iterate(names.append, idx_type=h5py.h5.INDEX_NAME, order=h5py.h5.ITER_INC)
    return [(name, group.id.links.get_info(name)) for name in sorted(names) if name not in skip]


def text(name):
    return name.decode("utf-8", "surrogateescape")


def attribute_names(object_id):
    names = []
    h5a.iterate(object_id, names.append)
    return sorted(names)


def type_text(type_id):
    try:
        dtype = type_id.dtype
    except (TypeError, ValueError):
        return f"class {type_id.get_class()}, {type_id.get_size()} bytes"
    kind = ""
    if h5py.check_enum_dtype(dtype) is not None:
        kind = "enum "
    elif h5py.check_string_dtype(dtype) is not None:
        return f"string[{h5py.check_string_dtype(dtype).length or 'variable'}]"
    return kind + (str(dtype) if dtype.names is None else f"compound({', '.join(dtype.names)})")


def shape_text(dataset):
    if dataset.shape is None:
        return "null"
    if dataset.shape == ():
        return "scalar"
    sides = []
    for now, most in zip(dataset.shape, dataset.maxshape):
        sides.append(f"{now}" if now == most else f"{now}/{'inf' if most is None else most}")
    return "(" + ", ".join(sides) + ")"


def print_attributes(item, depth, out):
    for name in attribute_names(item.id):
        value = item.attrs[text(name)]
        shown = describe_object(value)
        if len(shown) > 60:
            shown = shown[:57] + "..."
        out(f"{'  ' * depth}@{text(name)} = {shown}")


def print_tree(path, world):
    lines = []
    with world.open(path) as file:
        seen = {object_key(file.id): "/"}
        print_attributes(file, 0, lines.append)
        print_group(file, "", 0, seen, world, lines.append)
    if world.rank == 0:
        print("\n".join([path] + lines))


def print_group(group, prefix, depth, seen, world, out):
    for name, info in links_of(group, () if prefix else world.skip):
        pad, full = "  " * depth, f"{prefix}/{text(name)}"
        if info.type == h5l.TYPE_SOFT:
            out(f"{pad}{text(name)} -> {text(group.id.links.get_val(name))}")
        elif info.type == h5l.TYPE_EXTERNAL:
            target = group.id.links.get_val(name)
            out(f"{pad}{text(name)} -> {text(target[0])}:{text(target[1])}")
        elif info.type != h5l.TYPE_HARD:
            out(f"{pad}{text(name)} user-defined link, class {info.type}")
        else:
            item = group[name]
            key = object_key(item.id)
            if key in seen:
                out(f"{pad}{text(name)} = {seen[key]}")
                continue
            seen[key] = full
            if isinstance(item, h5py.Group):
                out(f"{pad}{text(name)}/")
                print_attributes(item, depth + 1, out)
                print_group(item, full, depth + 1, seen, world, out)
            elif isinstance(item, h5py.Dataset):
                out(
                    f"{pad}{text(name)}  {shape_text(item)}  {type_text(item.id.get_type())}"
                    f"  {dataset_checksum(item, world):016x}"
                )
                print_attributes(item, depth + 1, out)
            else:
                out(f"{pad}{text(name)}  type {type_text(item.id)}")
                print_attributes(item, depth + 1, out)


# ---- comparison ----------------------------------------------------------------------------------


class Comparison:
    """All differences between two files that a reader can see."""

    def __init__(self, world, layout=True):
        self.world = world
        self.layout = layout  # also chunk shapes and filters
        self.differences = []
        self.datasets = self.values = self.attributes = self.links = 0

    def differ(self, where, what):
        self.differences.append(f"{where}: {what}")

    def check(self, where, what, a, b):
        if a != b:
            self.differ(where, f"{what}: {a!r} and {b!r}")
            return False
        return True

    def files(self, path_a, path_b):
        with self.world.open(path_a) as a, self.world.open(path_b) as b:
            seen_a, seen_b = {object_key(a.id): "/"}, {object_key(b.id): "/"}
            self.compare_attributes("/", a, b)
            self.compare_groups("", a, b, seen_a, seen_b)
        self.differences = self.world.join(self.differences)
        return not self.differences

    def compare_groups(self, prefix, a, b, seen_a, seen_b):
        skip = () if prefix else self.world.skip
        links_a, links_b = dict(links_of(a, skip)), dict(links_of(b, skip))
        for name in sorted(set(links_a) | set(links_b)):
            where = f"{prefix}/{text(name)}"
            if name not in links_a or name not in links_b:
                self.differ(where, f"only in the {'first' if name in links_a else 'second'} file")
                continue
            self.links += 1
            info_a, info_b = links_a[name], links_b[name]
            if not self.check(where, "link type", info_a.type, info_b.type):
                continue
            self.check(where, "character set of the name", info_a.cset, info_b.cset)
            if info_a.corder_valid and info_b.corder_valid:
                self.check(where, "creation order", info_a.corder, info_b.corder)
            if info_a.type != h5l.TYPE_HARD:
                self.check(where, "link target", a.id.links.get_val(name), b.id.links.get_val(name))
                if info_a.type == h5l.TYPE_EXTERNAL:
                    self.compare_external(where, name, a, b, seen_a, seen_b)
                continue
            self.compare_objects(where, a[name], b[name], seen_a, seen_b)

    def compare_external(self, where, name, a, b, seen_a, seen_b):
        # In the usual parallel case nobody has the target open, and the library opens it serially.
        reached = []
        for group in (a, b):
            try:
                reached.append(group[name])
            except (KeyError, OSError):
                reached.append(None)
        if self.check(
            where, "external target can be opened", reached[0] is not None, reached[1] is not None
        ):
            if reached[0] is not None:
                self.compare_objects(where, reached[0], reached[1], seen_a, seen_b)

    def compare_objects(self, where, a, b, seen_a, seen_b):
        key_a, key_b = object_key(a.id), object_key(b.id)
        if (
            not self.check(where, "same object as", seen_a.get(key_a), seen_b.get(key_b))
            or key_a in seen_a
        ):
            return
        seen_a[key_a] = seen_b[key_b] = where
        if not self.check(where, "kind", type(a).__name__, type(b).__name__):
            return
        self.check(where, "number of links to it", h5o.get_info(a.id).rc, h5o.get_info(b.id).rc)
        self.compare_attributes(where, a, b)
        if isinstance(a, h5py.Group):
            self.compare_groups(where, a, b, seen_a, seen_b)
        elif isinstance(a, h5py.Dataset):
            self.compare_datasets(where, a, b)
        elif not a.id.equal(b.id):
            self.differ(where, f"type: {type_text(a.id)} and {type_text(b.id)}")

    def compare_attributes(self, where, a, b):
        names_a, names_b = attribute_names(a.id), attribute_names(b.id)
        for name in sorted(set(names_a) | set(names_b)):
            at = f"{where}@{text(name)}"
            if name not in names_a or name not in names_b:
                self.differ(at, f"only in the {'first' if name in names_a else 'second'} file")
                continue
            self.attributes += 1
            id_a, id_b = h5a.open(a.id, name), h5a.open(b.id, name)
            if not id_a.get_type().equal(id_b.get_type()):
                self.differ(
                    at, f"type: {type_text(id_a.get_type())} and {type_text(id_b.get_type())}"
                )
                continue
            space_a, space_b = id_a.get_space(), id_b.get_space()
            if not self.check(
                at,
                "kind of space",
                space_a.get_simple_extent_type(),
                space_b.get_simple_extent_type(),
            ):
                continue
            if space_a.get_simple_extent_type() == h5s.NULL or not self.check(
                at, "shape", id_a.shape, id_b.shape
            ):
                continue
            count = int(np.prod(id_a.shape, dtype=np.int64))
            values = [self.dereferenced(np.asarray(x.attrs[text(name)]), x.file) for x in (a, b)]
            if find_different(*values, count).size:
                self.differ(at, f"values: {a.attrs[text(name)]!r} and {b.attrs[text(name)]!r}")

    def compare_datasets(self, where, a, b):
        self.datasets += 1
        type_a, type_b = a.id.get_type(), b.id.get_type()
        if not type_a.equal(type_b):
            self.differ(where, f"type: {type_text(type_a)} and {type_text(type_b)}")
            return
        if not self.check(where, "extent", a.shape, b.shape):
            return
        if a.shape is not None:
            self.check(where, "greatest extent", a.maxshape, b.maxshape)
        self.compare_creation(where, a, b)
        wrong, first_wrong = 0, None
        for selection, count, first in blocks(a, self.world):
            values = [self.dereferenced(np.asarray(x[selection]), x.file) for x in (a, b)]
            self.values += count
            found = find_different(*values, count)
            if found.size:
                wrong += found.size
                first_wrong = first + int(found[0]) if first_wrong is None else first_wrong
        if wrong:
            who = f" (rank {self.world.rank} of {self.world.size})" if self.world.size > 1 else ""
            self.differ(
                where, f"{wrong} of {a.size} values, first that of element {first_wrong}{who}"
            )

    @staticmethod
    def dereferenced(array, file):
        """With names instead of references, whose bits differ from file to file."""
        if array.dtype.kind != "O":
            return array
        items = [
            h5r.get_name(x, file.id) if isinstance(x, h5py.Reference) and x else x
            for x in array.reshape(-1)
        ]
        result = np.empty(len(items), dtype=object)
        result[:] = items
        return result.reshape(array.shape)

    def compare_creation(self, where, a, b):
        plist_a, plist_b = a.id.get_create_plist(), b.id.get_create_plist()
        defined = plist_a.fill_value_defined(), plist_b.fill_value_defined()
        if (
            self.check(where, "definition of the fill value", *defined)
            and defined[0] == h5d.FILL_VALUE_USER_DEFINED
        ):
            fills = a.fillvalue, b.fillvalue
            if describe_object(fills[0]) != describe_object(fills[1]):
                self.differ(where, f"fill value: {fills[0]!r} and {fills[1]!r}")
        self.check(where, "fill time", plist_a.get_fill_time(), plist_b.get_fill_time())
        if not self.layout:
            return
        if (
            self.check(where, "layout", plist_a.get_layout(), plist_b.get_layout())
            and plist_a.get_layout() == h5d.CHUNKED
        ):
            self.check(where, "chunk", plist_a.get_chunk(), plist_b.get_chunk())
        filters = [[p.get_filter(i) for i in range(p.get_nfilters())] for p in (plist_a, plist_b)]
        self.check(where, "filters", *filters)


def compare(path_a, path_b, world, layout=True, most=20):
    """Compares, prints and returns whether the files are equal."""
    result = Comparison(world, layout)
    equal = result.files(path_a, path_b)
    values = world.sum(result.values)
    if world.rank == 0:
        for line in result.differences[:most]:
            print(line)
        if len(result.differences) > most:
            print(f"... and {len(result.differences) - most} more")
        print(
            f"{'equal' if equal else 'DIFFERENT'}: {result.datasets} datasets, {values} values, "
            f"{result.attributes} attributes, {result.links} links"
        )
    return equal


def main():
    parser = argparse.ArgumentParser(
        description="Print an HDF5 file, or compare two value for value."
    )
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument(
        "--compare", nargs=2, metavar=("A", "B"), help="compare all that a reader can see"
    )
    parser.add_argument(
        "--ignore-layout", action="store_true", help="do not compare chunk shapes and filters"
    )
    parser.add_argument(
        "--skip", action="append", default=[], metavar="NAME", help="leave this link of the root out"
    )
    parser.add_argument(
        "--mpi", action="store_true", help="read with the mpio driver, each rank its share"
    )
    arguments = parser.parse_args()
    if bool(arguments.compare) == bool(arguments.files):
        parser.error("give files to print, or --compare A B")
    world = World(arguments.mpi, arguments.skip)
    try:
        if arguments.compare:
            status = (
                0 if compare(*arguments.compare, world, layout=not arguments.ignore_layout) else 1
            )
        else:
            for path in arguments.files:
                print_tree(path, world)
            status = 0
    except OSError as error:
        print(f"read_back.py: {error}", file=sys.stderr)
        world.abort(2)
    except BaseException:
        # Other ranks may be waiting for this one.
        import traceback

        traceback.print_exc()
        world.abort(2)
    sys.exit(status)


if __name__ == "__main__":
    main()
