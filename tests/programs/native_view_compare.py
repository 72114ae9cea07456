#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Compares two HDF5 files name by name, for all that a reader can see, and prints what it compared.

    native_view_compare.py [--except PATH]... NATIVE VIEW [NATIVE VIEW]...

--except: an object that is not looked at. The second file of each pair may have a group /.h5bento, which is skipped. Run by an h5py that knows
nothing of the connector. Not compared: layout, chunks, filters, times of objects, and comments, which
h5py reads wrongly.

Exit status: 0 equal, 1 differences (listed), 2 a file cannot be read.
"""

import collections
import os
import sys
import zlib

import h5py
import numpy as np
from h5py import h5a, h5d, h5g, h5l, h5o, h5s, h5t

from native_view_values import Values, key_of, same_elements, short, type_text

HIDDEN = b".h5bento"
ALL = bool(os.environ.get("H5BENTO_TEST_ALL"))
MANY_MAPPINGS = 500  # of a virtual dataset: each read takes long, whatever it reads
# Classes of types whose elements are bytes that mean the same in each file, unless they are of variable length.
AS_BYTES = (h5t.INTEGER, h5t.FLOAT, h5t.BITFIELD, h5t.OPAQUE, h5t.ENUM, h5t.STRING)


def partial_reads(layout, mappings):
    """Selections of a dataset that are read, besides the whole."""
    if ALL:
        return 6
    return 2 if layout == h5d.CHUNKED or (layout == h5d.VIRTUAL and mappings <= MANY_MAPPINGS) else 1


def text(name):
    return name.decode("utf-8", "surrogateescape")


def link_names(group, index=h5py.h5.INDEX_NAME):
    names = []
    group.id.links.iterate(names.append, idx_type=index, order=h5py.h5.ITER_INC)
    return [name for name in names if not (name == HIDDEN and group.name == "/")]


def attribute_names(object_id, index=h5py.h5.INDEX_NAME):
    names = []
    h5a.iterate(object_id, names.append, index_type=index)
    return names


def open_member(group, name):
    """By bytes: not every link name is UTF-8."""
    object_id = h5o.open(group.id, name)
    kinds = {h5g.GroupID: h5py.Group, h5d.DatasetID: h5py.Dataset}
    return kinds.get(type(object_id), h5py.Datatype)(object_id)


class Member:
    """What a hard link leads to."""

    def __init__(self, item):
        self.item = item
        info = h5o.get_info(item.id)
        self.key, self.links = (info.fileno, info.addr), info.rc


class Side:
    """One file, with a path for each object that can be reached by hard links."""

    def __init__(self, path):
        self.path = path
        self.file = h5py.File(path, "r")
        self.paths = {}
        self.names = {}  # {path of a group: {name: (information on the link, Member or None)}}
        self.root = Member(self.file["/"])
        self.walk(self.root, "/")
        self.values = Values(self.file, self.paths)

    def walk(self, member, path):
        todo = collections.deque([(member, path)])
        while todo:
            member, path = todo.popleft()
            if self.paths.setdefault(member.key, path) != path or not isinstance(member.item, h5py.Group):
                continue
            names = self.names[path] = {}
            for name in sorted(link_names(member.item)):
                info = member.item.id.links.get_info(name)
                below = Member(open_member(member.item, name)) if info.type == h5l.TYPE_HARD else None
                names[name] = info, below
                if below:
                    todo.append((below, path.rstrip("/") + "/" + text(name)))


class Comparison:
    def __init__(self, side_a, path_b, excepted):
        self.excepted = excepted
        self.a, self.b = side_a, Side(path_b)
        self.differences = []
        self.counts = collections.Counter()
        self.done = set()
        self.now = "/"  # for messages
        self.random = np.random.default_rng(1)

    def differ(self, where, what):
        self.differences.append(f"{where}: {what}")

    def check(self, where, what, a, b):
        if a != b:
            self.differ(where, f"{what}: {short(a)} and {short(b)}")
        return a == b

    def run(self):
        self.a.values.references = 0
        self.objects("/", self.a.root, self.b.root)
        self.check("/", "objects", sorted(self.a.paths.values()), sorted(self.b.paths.values()))
        self.counts["references"] = self.a.values.references
        return self

    # ---- objects ----

    def objects(self, where, *members):
        a, b = (member.item for member in members)
        path_a, path_b = (side.paths[member.key] for side, member in zip((self.a, self.b), members))
        if not self.check(where, "same object as", path_a, path_b) or path_a in self.done or path_a in self.excepted:
            return
        self.done.add(path_a)
        if not self.check(where, "kind", type(a).__name__, type(b).__name__):
            return
        self.counts["objects"] += 1
        self.now = where
        self.check(where, "hard links to it", *(member.links for member in members))
        self.attributes(where, a, b)
        if isinstance(a, h5py.Group):
            self.groups(where, a, b, self.a.names[path_a], self.b.names[path_b])
        elif isinstance(a, h5py.Dataset):
            self.datasets(where, a, b)
        else:
            self.counts["committed types"] += 1
            self.check(where, "type", type_text(a.id, self.a.paths), type_text(b.id, self.b.paths))

    def groups(self, where, a, b, links_a, links_b):
        self.counts["groups"] += 1
        lists = [x.id.get_create_plist() for x in (a, b)]
        orders = [x.get_link_creation_order() for x in lists]
        self.check(where, "tracking of link order", *orders)
        self.check(where, "tracking of attribute order", *(x.get_attr_creation_order() for x in lists))
        if orders[0] and orders[0] == orders[1] and links_a:
            self.counts["ordered groups"] += 1
            self.check(where, "order of links", *(link_names(x, h5py.h5.INDEX_CRT_ORDER) for x in (a, b)))
        for name in sorted(links_a.keys() | links_b.keys()):
            at = where.rstrip("/") + "/" + text(name)
            if name not in links_a or name not in links_b:
                self.differ(at, f"only in the {'first' if name in links_a else 'second'} file")
                continue
            self.link(at, name, a, b, links_a[name], links_b[name])

    def link(self, where, name, a, b, link_a, link_b):
        self.counts["links"] += 1
        (info_a, member_a), (info_b, member_b) = link_a, link_b
        if not self.check(where, "kind of link", info_a.type, info_b.type):
            return
        self.check(where, "character set of the name", info_a.cset, info_b.cset)
        self.check(where, "validity of the order", info_a.corder_valid, info_b.corder_valid)
        if info_a.type == h5l.TYPE_HARD:
            self.objects(where, member_a, member_b)
            return
        self.counts["soft and external links"] += 1
        self.check(where, "target", a.id.links.get_val(name), b.id.links.get_val(name))
        self.check(where, "can be followed", *(self.reached(x, name) for x in (a, b)))

    @staticmethod
    def reached(group, name):
        """What a soft or external link leads to; of numbers also a checksum (a sum could be NaN, which equals nothing)."""
        try:
            item = open_member(group, name)
        except (KeyError, OSError, RuntimeError, ValueError) as error:
            return type(error).__name__
        if isinstance(item, h5py.Dataset) and item.dtype.kind in "if":
            return "Dataset", item.shape, zlib.crc32(item[...].astype("f8").tobytes())
        return type(item).__name__

    # ---- attributes ----

    def attributes(self, where, a, b):
        names = [sorted(attribute_names(x.id)) for x in (a, b)]
        if names[0] and names[0] == names[1] and not isinstance(a, (h5py.Datatype, h5py.File)):
            orders = [x.id.get_create_plist().get_attr_creation_order() for x in (a, b)]
            self.check(where, "tracking of attribute order", *orders)
            if orders[0] and orders[1]:
                self.check(where, "order of attributes", *(attribute_names(x.id, h5py.h5.INDEX_CRT_ORDER) for x in (a, b)))
        for name in sorted(set(names[0]) | set(names[1])):
            at = f"{where}@{text(name)}"
            if name not in names[0] or name not in names[1]:
                self.differ(at, f"only in the {'first' if name in names[0] else 'second'} file")
                continue
            self.counts["attributes"] += 1
            self.attribute(at, name, a, b)

    def attribute(self, where, name, a, b):
        ids = [h5a.open(x.id, name) for x in (a, b)]
        kinds = [x.get_type() for x in ids]
        types = [type_text(x, side.paths) for x, side in zip(kinds, (self.a, self.b))]
        self.counts["of committed types"] += "committed" in types[0]
        self.check(where, "character set of the name", *(h5a.get_info(x.id, name).cset for x in (a, b)))
        if not self.check(where, "type", *types):
            return
        spaces = [x.get_space() for x in ids]
        if not self.check(where, "kind of space", *(x.get_simple_extent_type() for x in spaces)):
            return
        self.check(where, "greatest extent", *(space_limits(x) for x in spaces))
        if kinds[0].get_class() in AS_BYTES:
            values = [attribute_elements(*x) for x in zip(ids, kinds, spaces)]
        else:
            values = [side.values.plain(read_attribute(x, name)) for x, side in zip((a, b), (self.a, self.b))]
        self.check(where, "value", *values)

    # ---- datasets ----

    def datasets(self, where, a, b):
        self.counts["datasets"] += 1
        types = [type_text(x.id.get_type(), side.paths) for x, side in zip((a, b), (self.a, self.b))]
        self.counts["of committed types"] += "committed" in types[0]
        if not self.check(where, "type", *types):
            return
        spaces = [x.id.get_space() for x in (a, b)]
        if not self.check(where, "kind of space", *(x.get_simple_extent_type() for x in spaces)):
            return
        self.check(where, "greatest extent", *(space_limits(x) for x in spaces))
        shape = a.shape
        if not self.check(where, "extent", shape, b.shape):
            return
        lists = [x.id.get_create_plist() for x in (a, b)]
        self.fills(where, a, b, lists)
        layouts = [x.get_layout() for x in lists]
        sources = lists[1].get_virtual_count() if layouts[1] == h5d.VIRTUAL else 0
        if layouts[1] == h5d.VIRTUAL and layouts[0] != h5d.VIRTUAL:
            self.counts["virtual in the view only"] += 1
            self.counts["mappings"] += sources
            self.counts["most mappings of one"] = max(self.counts["most mappings of one"], sources)
        elif layouts[0] == h5d.VIRTUAL:
            self.counts["virtual in both"] += 1
        if shape is None:
            return
        size = int(np.prod(shape))
        self.counts["elements"] += size
        whole = [read_dataset(x) for x in (a, b)]
        if a.dtype.hasobject or whole[0].shape == ():
            plain = [side.values.plain(x) for x, side in zip(whole, (self.a, self.b))]
            self.check(where, "values", *plain)
            return
        wrong = same_elements(*(x.reshape((size,) + x.shape[len(shape) :]) for x in whole))
        if wrong.size:
            place = np.unravel_index(int(wrong[0]), shape)
            self.differ(where, f"{wrong.size} of {size} values, first at {tuple(map(int, place))}: "
                        f"{whole[0][place]!r} and {whole[1][place]!r}")
            return
        if not read_raw(b):
            self.parts(where, b, whole[0], partial_reads(layouts[1], sources))

    def parts(self, where, dataset, whole, number):
        """A reader of a part sees that part of the whole."""
        shape = dataset.shape
        if 0 in shape:
            return
        for _ in range(number):
            begin = [int(self.random.integers(0, side)) for side in shape]
            selection = tuple(
                slice(first, int(self.random.integers(first + 1, side + 1)), int(self.random.integers(1, 4)))
                for first, side in zip(begin, shape)
            )
            self.counts["partial reads"] += 1
            wanted, found = whole[selection], dataset[selection]
            count = int(np.prod(wanted.shape[: len(shape)]))
            if same_elements(*(x.reshape((count,) + x.shape[len(shape) :]) for x in (wanted, found))).size:
                self.differ(where, f"values of the selection {selection}")

    def fills(self, where, a, b, lists):
        defined = [x.fill_value_defined() for x in lists]
        if not self.check(where, "definition of the fill value", *defined):
            return
        if defined[0] == h5d.FILL_VALUE_USER_DEFINED:
            self.counts["fill values"] += 1
            fills = []
            for item, side in zip((a, b), (self.a, self.b)):
                try:
                    fills.append(side.values.plain(item.fillvalue))
                except (TypeError, ValueError, OSError, NotImplementedError) as error:
                    fills.append(type(error).__name__)  # of a kind that h5py cannot fetch
            self.check(where, "fill value", *fills)


def space_limits(space):
    return space.get_simple_extent_dims(maxdims=True) if space.get_simple_extent_type() == h5s.SIMPLE else None


def read_attribute(item, name):
    value = item.attrs[name]
    return value if not isinstance(value, str) else value.encode("utf-8", "surrogateescape")


def attribute_elements(attribute, kind, space):
    """As h5py finds them, or without a conversion of the bytes; its own way takes several times as long."""
    if space.get_simple_extent_type() == h5s.NULL:
        return None
    shape = space.get_simple_extent_dims()
    if kind.get_class() == h5t.STRING and kind.is_variable_str():
        buffer = np.empty(shape, kind.dtype)
        attribute.read(buffer)
        return shape, buffer.reshape(-1).tolist()
    buffer = np.zeros(shape, f"V{kind.get_size()}")
    attribute.read(buffer, mtype=kind)
    return shape, buffer.tobytes()


def read_raw(dataset):
    """h5py's memory types have no tags, and no bitfields."""
    return dataset.id.get_type().get_class() in (h5t.OPAQUE, h5t.BITFIELD)


def read_dataset(dataset):
    if not read_raw(dataset) or dataset.size == 0:
        return np.asarray(dataset[()])
    kind = dataset.id.get_type()
    buffer = np.zeros(dataset.shape, f"V{kind.get_size()}")
    dataset.id.read(h5s.ALL, h5s.ALL, buffer, mtype=kind)
    return buffer


def compare(side_a, path_b, excepted):
    result = Comparison(side_a, path_b, excepted)
    try:
        result.run()
    except Exception as error:
        result.differ(result.now, f"{type(error).__name__}: {error}")
    for line in result.differences[:40]:
        print(line)
    if len(result.differences) > 40:
        print(f"... and {len(result.differences) - 40} more")
    counts = ", ".join(f"{number} {what}" for what, number in sorted(result.counts.items()) if number)
    print(f"{'DIFFERENT' if result.differences else 'equal'}: {counts}", flush=True)
    return not result.differences


def main():
    paths, excepted = sys.argv[1:], []
    while paths[:1] == ["--except"]:
        excepted.append(paths[1])
        paths = paths[2:]
    if paths[:1] in (["-h"], ["--help"]) or not paths or len(paths) % 2:
        print(__doc__.strip())
        return 0 if paths[:1] in (["-h"], ["--help"]) else 2
    try:
        equal, side = [], None
        for path_a, path_b in zip(paths[::2], paths[1::2]):
            if not side or side.path != path_a:
                side = Side(path_a)
            equal.append(compare(side, path_b, excepted))
    except OSError as error:
        print(f"cannot be read: {error}")
        return 2
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())
