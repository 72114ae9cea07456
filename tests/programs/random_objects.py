#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Random sequences of what programs do with objects: groups, links, copies between files, references, committed types,
attributes, dimension scales, data of variable length. Natively and under the connector: every call ends alike, every walk
through the file shows the same, and stock HDF5 without the plugin sees it in the container, too.

    random_objects.py [--driver] [--count N | --seconds S] [--first-seed K]   the test; of the file driver, not the connector
    random_objects.py --show SEED                                             the log of one sequence, natively

For the test itself: --work FOLDER SEED..., --walk FOLDER SEED...
"""

import argparse
import hashlib
import os
import random
import sys
import time

OPERATIONS = 60
WALK_EVERY = 15
BROKEN = "HDF5 cannot walk it"
KEPT = "kept"  # a group with links to what references lead to
BATCH = 10  # seeds of one process


class Sequence:
    """Every decision comes from the seed and from what the file should hold; never from an address."""

    def __init__(self, folder, seed, log):
        import h5py
        import numpy as np

        self.folder, self.seed, self.log = folder, seed, log
        self.random, self.values = random.Random(seed), np.random.default_rng(seed)
        self.path = os.path.join(folder, f"{seed}.h5")
        self.version = self.random.choice([None, "latest", ("v108", "v110"), "v112"])
        self.types = [
            np.dtype(one)
            for one in ("i4", ">f8", "u1", "S7", "V5", "c16", "?", "f2", ("i2", (3,)), [("u", "<u2"), ("v", "S3")],
                        [("a", "i2"), ("b", "f4", (2,)), ("c", [("x", "u1"), ("y", ">i8")])])
        ]  # fmt: skip
        self.types.append(h5py.enum_dtype({"red": 0, "green": 5, "blue": 300}, basetype="i2"))
        self.text = h5py.string_dtype()
        self.file = h5py.File(self.path, "w", libver=self.version, track_order=self.random.random() < 0.3)
        self.other = h5py.File(self.beyond(), "w")

    def beyond(self):
        return os.path.join(self.folder, f"{self.seed}-other.h5")

    # ---- what an operation works on --------------------------------------------------------------

    def paths(self, kind=None, where=lambda one: True):
        found = []
        self.file.visititems(lambda path, one: found.append(path) if (kind is None or isinstance(one, kind)) and where(one) else None)
        return sorted(path for path in found if not path.startswith(KEPT))

    def pick(self, kind=None, where=lambda one: True):
        found = self.paths(kind, where)
        return self.random.choice(found) if found else None

    def dataset(self, where=lambda one: True):
        import h5py

        path = self.pick(h5py.Dataset, where)
        return self.file[path] if path else None

    def new_path(self):
        import h5py

        return f"{self.random.choice(['', *self.paths(h5py.Group)])}/n{self.random.randrange(40)}"

    def chance(self, probability):
        return self.random.random() < probability

    def value(self, kind, shape):
        import h5py
        import numpy as np

        count = int(np.prod(shape))
        if h5py.check_enum_dtype(kind):
            return self.values.choice([0, 5, 300], size=shape).astype("i2")
        if kind.subdtype:
            return self.values.integers(-99, 99, size=(*shape, *kind.subdtype[1])).astype(kind.subdtype[0])
        if kind.kind == "b":
            return self.values.integers(0, 2, size=shape) == 1
        if kind.kind in "iufc":
            return self.values.integers(0, 99, size=shape).astype(kind)
        if kind.kind == "S":
            return np.array([str(n) for n in self.values.integers(0, 999999, size=count)], kind).reshape(shape)
        return np.frombuffer(self.values.integers(0, 99, size=count * kind.itemsize, dtype="u1").tobytes(), kind).reshape(shape)

    # ---- operations ------------------------------------------------------------------------------

    def do_group(self):
        self.file.create_group(self.new_path(), track_order=self.chance(0.3))

    def do_create(self):
        kind, how = self.random.choice(self.types), {}
        shape = tuple(self.random.randrange(0 if self.chance(0.1) else 1, 9) for _ in range(self.random.choice((0, 1, 1, 2, 2, 3))))
        if shape and all(shape) and self.chance(0.5):
            how["chunks"] = tuple(self.random.randrange(1, n + 1) for n in shape)
            how["maxshape"] = tuple(self.random.choice((None, n, n + 3)) for n in shape)
            for name, probability in (("compression", 0.4), ("shuffle", 0.3), ("fletcher32", 0.3)):
                if self.chance(probability):
                    how[name] = "gzip" if name == "compression" else True
        data = self.file.create_dataset(self.new_path(), shape, kind, **how)
        if "chunks" not in how or self.chance(0.7):  # natively a contiguous one shows what lay there before
            data[...] = self.value(kind, shape)

    def do_anonymous(self):
        import h5py
        import numpy as np

        shape = (self.random.randrange(1, 20),)
        how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        how.set_layout(self.random.choice((h5py.h5d.COMPACT, h5py.h5d.CONTIGUOUS)))
        how.set_fill_value(np.array(3, "i4"))
        data = h5py.h5d.create(self.file.id, None, h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple(shape), how)
        if self.chance(0.6):
            data.write(h5py.h5s.ALL, h5py.h5s.ALL, self.value(np.dtype("i4"), shape))
        h5py.h5o.link(data, self.file.id, self.new_path().encode())
        self.log(digest(h5py.Dataset(data)[...]))

    def do_variable_length(self):
        import h5py
        import numpy as np

        count = self.random.randrange(1, 8)
        chunks = (self.random.randrange(1, count + 1),) if self.chance(0.5) else None
        kind = self.random.choice((self.text, h5py.vlen_dtype("i4"), np.dtype([("s", self.text), ("v", "f8")])))
        data = self.file.create_dataset(self.new_path(), (count,), kind, chunks=chunks)
        if kind.names:
            values = np.zeros(count, kind)
            values["s"], values["v"] = [str(n) * 9 for n in range(count)], np.arange(count)
            data[...] = values
        elif h5py.check_string_dtype(kind):
            data[...] = ["x" * self.random.randrange(300) + str(n) for n in range(count)]
        else:
            for n in range(count):
                data[n] = np.arange(self.random.randrange(50))

    def do_reference(self):
        import h5py

        path = self.pick()
        if path:
            self.keep(self.file[path])
            self.file.create_dataset(self.new_path(), (3,), h5py.ref_dtype)[...] = [self.file[path].ref] * 3
        data = self.dataset(lambda one: one.shape and all(one.shape))
        if data:
            self.keep(data)
            region = data.regionref[tuple(slice(0, self.random.randrange(1, n + 1)) for n in data.shape)]
            regions = self.file.create_dataset(self.new_path(), (2,), h5py.regionref_dtype)
            regions[0] = regions[1] = region

    def keep(self, one):
        """Where a reference to a deleted object leads, nobody knows."""
        kept = self.file.require_group(KEPT)
        kept[str(len(kept))] = one

    def do_follow(self):
        import h5py

        for path in self.paths(h5py.Dataset, lambda one: h5py.check_ref_dtype(one.dtype)):
            regions = h5py.check_ref_dtype(self.file[path].dtype) is h5py.RegionReference
            for reference in self.file[path][...].ravel():
                one = self.file[reference]
                plain = isinstance(one, h5py.Dataset) and not one.dtype.hasobject
                self.log(path, type(one).__name__, digest(one[reference if regions else ...]) if plain else "")

    def do_type(self):
        self.file[self.new_path()] = self.random.choice(self.types[:8])

    def do_typed(self):
        import h5py

        path = self.pick(h5py.Datatype)
        if path:
            self.file.create_dataset(self.new_path(), (3,), self.file[path])[...] = self.value(self.file[path].dtype, (3,))

    def do_write(self):
        data = self.dataset(lambda one: not one.dtype.hasobject)
        if data is None:
            return
        box = []
        for n in data.shape:
            start = self.random.randrange(max(n, 1))
            box.append(slice(start, self.random.randrange(start, max(n, 1)) + 1, self.random.choice((1, 1, 2))))
        shape = tuple(len(range(*one.indices(n))) for one, n in zip(box, data.shape))
        data[tuple(box) or ...] = self.value(data.dtype, shape)

    def do_convert(self):
        import h5py

        data = self.dataset(lambda one: one.dtype.kind in "iuf" and not one.dtype.subdtype and not h5py.check_enum_dtype(one.dtype))
        if data is not None:
            data[...] = self.values.integers(0, 90, size=data.shape).astype(self.random.choice(("f4", "i8", ">i2", "u2")))
            self.log(digest(data.astype(self.random.choice(("f4", "i8", ">u4")))[...]))

    def do_member(self):
        data = self.dataset(lambda one: one.dtype.names and not one.dtype.hasobject)
        if data is not None:
            name = self.random.choice(data.dtype.names)
            if not data.dtype[name].names and not data.dtype[name].subdtype:
                data[name] = self.value(data.dtype[name], data.shape)
            self.log(digest(data[name]))

    def do_points(self):
        import h5py
        import numpy as np

        data = self.dataset(lambda one: one.shape and all(one.shape) and one.dtype.kind in "iufcSV" and not one.dtype.subdtype
                            and not one.dtype.hasobject and not h5py.check_enum_dtype(one.dtype))  # fmt: skip
        if data is None:
            return
        points = [[self.random.randrange(n) for n in data.shape] for _ in range(self.random.randrange(1, 6))]
        points = np.unique(np.array(points, "u8"), axis=0)[::-1]
        file_space, memory = data.id.get_space(), h5py.h5s.create_simple((len(points),))
        file_space.select_elements(np.ascontiguousarray(points))
        kind = h5py.h5t.py_create(data.dtype)
        data.id.write(memory, file_space, np.ascontiguousarray(self.value(data.dtype, (len(points),))), kind)
        found = np.zeros(len(points), data.dtype)
        data.id.read(memory, file_space, found, kind)
        self.log(digest(found))

    def do_resize(self):
        data = self.dataset(lambda one: one.chunks)
        if data is None:
            return
        shape = tuple(self.random.randrange(1, (n + 4 if most is None else most) + 1) for n, most in zip(data.shape, data.maxshape))
        filtered = data.compression or data.shuffle or data.fletcher32
        if not (filtered and all(c >= n for c, n in zip(data.chunks, shape))):  # HDF5 1.14.5 loses a single filtered chunk
            data.resize(shape)

    def do_direct_chunk(self):
        data = self.dataset(lambda one: one.chunks and not one.dtype.hasobject)
        if data is None:
            return
        place = tuple(self.random.randrange(n) // c * c for n, c in zip(data.shape, data.chunks))
        try:
            mask, stored = data.id.read_direct_chunk(place)
        except (OSError, RuntimeError, ValueError):
            return  # where nothing was written
        data.id.write_direct_chunk(place, stored, mask)

    def do_attribute(self):
        import h5py
        import numpy as np

        path = self.pick()
        one = self.file[path] if path else self.file
        name, what = f"a{self.random.randrange(6)}", self.random.randrange(6)
        if what == 0 and name in one.attrs:
            del one.attrs[name]
        elif what == 1:
            one.attrs[name] = "text" * self.random.randrange(1, 200)
        elif what == 2:
            kind = self.random.choice(self.types[:8])
            one.attrs.create(name, self.value(kind, (3,)), dtype=kind)
        elif what == 3 and path:
            one.attrs[name] = one.ref
        elif what == 4:
            one.attrs[name] = np.arange(self.random.randrange(1, 3000))
        elif name in one.attrs:
            h5py.h5a.rename(one.id, name.encode(), f"{name}-renamed".encode())

    def do_delete(self):
        path = self.pick()
        if path:
            del self.file[path]

    def do_move(self):
        path, to = self.pick(), self.new_path()
        if path and not to.strip("/").startswith(path):
            self.file.move(path, to)

    def do_hard_link(self):
        path = self.pick()
        if path:
            self.file[self.new_path()] = self.file[path]

    def do_soft_link(self):
        import h5py

        path = self.pick()
        if path:
            self.file[self.new_path()] = h5py.SoftLink(f"/{path}")

    def do_external_link(self):
        import h5py
        import numpy as np

        name = f"x{self.random.randrange(10)}"
        if name not in self.other:
            self.other[name] = self.value(np.dtype("i4"), (5,))
        self.other.flush()
        self.file[self.new_path()] = h5py.ExternalLink(os.path.basename(self.beyond()), f"/{name}")

    def do_copy(self):
        path = self.pick()
        if path:
            how = {name: self.chance(0.2) for name in ("shallow", "expand_soft", "expand_external", "without_attrs")}
            self.file.copy(path, self.new_path(), **how)

    def do_copy_out(self):
        path, name = self.pick(), f"c{self.random.randrange(30)}"
        if path and name not in self.other:
            self.file.copy(path, self.other, name)

    def do_copy_in(self):
        names = sorted(self.other)
        if names:
            self.other.copy(self.random.choice(names), self.file, self.new_path())

    def do_scale(self):
        import h5py

        found = self.paths(h5py.Dataset, lambda one: one.ndim and one.dtype == "i4")
        if len(found) < 2:
            return
        data, scale = (self.file[path] for path in self.random.sample(found, 2))
        if data == scale or data.is_scale:
            return
        if not scale.is_scale and not any(len(dimension) for dimension in scale.dims):
            scale.make_scale("scale")
        if scale.is_scale and scale not in data.dims[0].values():
            data.dims[0].attach_scale(scale)
        self.log(len(data.dims[0]))

    def do_flush(self):
        self.file.flush()

    def do_reopen(self):
        import h5py

        self.file.close()
        self.file = h5py.File(self.path, "r+", libver=self.version)

    WEIGHTS = {
        "group": 2, "create": 8, "anonymous": 2, "variable_length": 2, "reference": 1, "follow": 1, "type": 1, "typed": 1,
        "write": 8, "convert": 2, "member": 2, "points": 2, "resize": 4, "direct_chunk": 2, "attribute": 4, "delete": 2,
        "move": 2, "hard_link": 1, "soft_link": 2, "external_link": 1, "copy": 3, "copy_out": 1, "copy_in": 1, "scale": 1,
        "flush": 2, "reopen": 2,
    }  # fmt: skip

    def run(self):
        import numpy as np

        names, weights = list(self.WEIGHTS), list(self.WEIGHTS.values())
        for number in range(OPERATIONS):
            # A stream of its own for each operation: one that fails halfway does not change what follows.
            self.random.seed(f"{self.seed} {number}")
            self.values = np.random.default_rng((self.seed, number))
            name = self.random.choices(names, weights)[0]
            try:
                getattr(self, f"do_{name}")()
                self.log(number, name)
            except (OSError, ValueError, RuntimeError, KeyError, TypeError) as error:
                self.log(number, name, "failed")
                print(f"seed {self.seed}, {number} {name}: {error}", file=sys.stderr)
            if number % WALK_EVERY == WALK_EVERY - 1 and not walk(self.file, self.log):
                break
        self.file.close()
        self.other.close()


def digest(values):
    import numpy as np

    values = np.asarray(values)
    if values.dtype.names and values.dtype.hasobject:
        return [digest(values[name]) for name in values.dtype.names]
    if values.dtype.hasobject:
        return [digest(one) if isinstance(one, np.ndarray) else one if isinstance(one, (bytes, str)) else type(one).__name__
                for one in values.ravel()]  # fmt: skip
    return str(values.dtype), values.shape, hashlib.md5(np.ascontiguousarray(values).tobytes()).hexdigest()


def walk(file, log):
    """Shows everything; false if HDF5 itself cannot."""
    try:
        walk_group(file, log, "", 0)
        return True
    except RuntimeError as error:
        log(BROKEN, error)
        return False


def walk_group(group, log, path, depth):
    """Everything below a group, links followed six levels deep: cycles of hard links have no end."""
    import h5py

    for name in sorted(group):
        here, link = f"{path}/{name}", group.get(name, getlink=True)
        log(here, type(link).__name__, getattr(link, "path", ""))
        try:
            one = group[name]
        except (KeyError, OSError):
            log(here, "leads nowhere")
            continue
        log(here, type(one).__name__)
        for attribute in sorted(one.attrs):
            log(here, attribute, digest(one.attrs[attribute]))
        if isinstance(one, h5py.Dataset):
            log(here, one.shape, one.maxshape, one.chunks, one.compression, one.fletcher32, digest(one[...]))
        elif isinstance(one, h5py.Group) and depth < 5:
            walk_group(one, log, here, depth + 1)


def each(folder, seeds, kind, what):
    """Calls `what(seed, log)` for each seed; the log goes into the folder."""
    for seed in seeds:
        with open(os.path.join(folder, f"{seed}.{kind}"), "w", buffering=1) as file:
            what(seed, lambda *words: print(*words, file=file))


def work(folder, *seeds):
    from random_ops import choose_settings

    def sequence(seed, log):
        choose_settings(seed, 0)
        Sequence(folder, seed, log).run()

    each(folder, seeds, "log", sequence)


def walk_all(folder, *seeds):
    import h5py

    def closed(seed, log):
        with h5py.File(os.path.join(folder, f"{seed}.h5"), "r") as file:
            walk(file, log)

    each(folder, seeds, "walk", closed)


# ---- the test ------------------------------------------------------------------------------------


def is_broken(path):
    """Natively HDF5 cannot read some groups of the old format any more, once they were written and read back."""
    with open(path) as file:
        return any(line.startswith(BROKEN) for line in file)


def check_equal(seeds, kind, what):
    """Returns the seeds that HDF5 did not break."""
    whole = [seed for seed in seeds if not is_broken(os.path.join("native", f"{seed}.{kind}"))]
    for seed in whole:
        logs = []
        for folder in ("native", "bento"):
            with open(os.path.join(folder, f"{seed}.{kind}")) as file:
                # A view has a group that says what it cannot show: references to deleted objects.
                logs.append([line for line in file.read().splitlines() if not line.startswith("/.h5bento")])
        at = next((n for n, (a, b) in enumerate(zip(*logs)) if a != b), min(map(len, logs)))
        check(logs[0] == logs[1], f"seed {seed}, {what}, line {at + 1}: natively {[*logs[0], 'the end'][at]!r}, "
              f"else {[*logs[1], 'the end'][at]!r}\n  again: random_objects.py --count 1 --first-seed {seed}")  # fmt: skip
    return whole


def test(options):
    begin, first, done, equal = time.monotonic(), first_seed(options.first_seed), 0, 0
    script = os.path.abspath(__file__)
    ours = driver_env("container=%d/%s.bento") if options.driver else bento_env()
    reader = ours if options.driver else native_env()
    while done < options.count if options.count else not done or time.monotonic() - begin < options.seconds:
        count = min(BATCH, options.count - done) if options.count else BATCH
        seeds = range(first + done, first + done + count)
        for folder, environment in (("native", native_env()), ("bento", ours)):
            os.makedirs(folder)
            run([python(), "-B", script, "--work", folder, *seeds], environment, timeout=600)
        whole = check_equal(seeds, "log", "written")
        run([python(), "-B", script, "--walk", "native", *whole], native_env(), timeout=600)
        whole = [seed for seed in whole if not is_broken(os.path.join("native", f"{seed}.walk"))]
        run([python(), "-B", script, "--walk", "bento", *whole], reader, timeout=600)
        equal += len(check_equal(whole, "walk", "read back"))
        if options.driver:
            check(not [name for name in os.listdir("bento") if name.endswith(".h5")], "the driver was not used")
        else:
            check_all_containers("bento")
        for folder in ("native", "bento"):
            shutil.rmtree(folder)
        done += count
    check(equal > 0.9 * done - 2, f"HDF5 broke {done - equal} of {done} files natively")
    say(f"{equal} of {done} sequences of {OPERATIONS} operations from seed {first} are equal, read back, too; HDF5 broke the others natively")


def show(seed):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        Sequence(folder, seed, print).run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", action="store_true")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--show", type=int, metavar="SEED")
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--walk", nargs="+", help=argparse.SUPPRESS)
    OPTIONS = parser.parse_args()
    for action, arguments in ((work, OPTIONS.work), (walk_all, OPTIONS.walk)):
        if arguments:
            action(arguments[0], *map(int, arguments[1:]))
            sys.exit(0)
    if OPTIONS.show is not None:
        show(OPTIONS.show)
        sys.exit(0)
    import shutil

    from harness import bento_env, check, check_all_containers, driver_env, first_seed, native_env, python, run, run_test, say

    run_test(lambda: test(OPTIONS), containers=0 if OPTIONS.driver else BATCH)
