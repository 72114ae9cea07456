#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Random parallel programs under random settings, read back through the connector and by the plain wheel.

    random_settings.py [--count N | --seconds S] [--first-seed K]     the test
    random_settings.py --show SEED                                    what a seed stands for

A seed decides settings, numbers of ranks, sessions and every write. Each session is another number of ranks; between
rounds of writes with a flush in between, ranks change places. Then as many ranks as the last session did not have
read everything, and so does h5py from a wheel, which knows no plugin. Nothing may differ, no view may be missing.
The folder of a failing seed is kept; `--count 1 --first-seed SEED` repeats it.

For the test itself: --write FIRST COUNT (below mpirun), --stock FIRST COUNT (the wheel).
"""

import argparse
import os
import sys
import time

try:
    import numpy as np
except ImportError:  # the test itself only starts others
    np = None

MOST_RANKS = 6
BATCH = 10  # seeds in one start of mpirun


# ---- what a seed stands for ----------------------------------------------------------------------


class Plan:
    """Settings, and sessions as lists of operations that every rank and every reader work out for themselves."""

    def __init__(self, seed):
        self.seed = seed
        self.random = np.random.default_rng(seed)
        pick = self.pick
        self.settings = {
            "chunk": pick(["32K", "32K", "64K", "64K", "128K", "256K", "1M", "4M", None]),
            "buffer": pick(["64K", "256K", "4M", None]),
            "align": pick([None, "1", "64", "4K", "16K"]),
            "checksum": pick([None, "xxh3", "md5", "none"]),
            "keep": pick([None, "2", "4", "all"]),
            "durability": pick([None, None, "power"]),
            "view_maps": pick([None, None, "16", "100000"]),
            "minmax": pick([None, None, "on"]),
            "verify": pick([None, "all", "none"]),
        }
        if self.settings["checksum"] == "none" and self.settings["verify"] == "all":
            self.settings["verify"] = None  # it says that there is nothing to verify with
        self.datasets = {}  # name -> values, as of now
        self.properties = {}
        self.attributes = {}
        self.written = 0
        self.sessions = [self.session(number) for number in range(int(self.random.integers(1, 4)))]
        self.view = self.sessions[-1]["view"]
        # A container has at most one physical file per rank that creates it.
        self.settings["files"] = pick([None, *[str(n) for n in (2, 3) if n <= self.sessions[0]["ranks"]]])
        self.readers = int(pick([n for n in range(1, MOST_RANKS) if n != self.sessions[-1]["ranks"]]))

    def pick(self, choices):
        return choices[int(self.random.integers(0, len(choices)))]

    def chance(self, probability):
        return self.random.random() < probability

    def text(self):
        said = " ".join(f"{k}={v}" for k, v in self.settings.items() if v is not None)
        sessions = ", ".join(f"{s['ranks']} ranks{'' if s['view'] == 'on' else ' view=' + s['view']}" for s in self.sessions)
        return f"{said} | {sessions} | {self.readers} readers, {self.written} pieces"

    def session(self, number):
        operations = []
        ranks = int(self.random.integers(2, MOST_RANKS + 1))
        if number == 0:
            for name in range(int(self.random.integers(2, 6))):
                operations.append(self.create(f"d{name}"))
            for name in range(int(self.pick([0, 3, 40, 200]))):
                operations += self.small(f"small/s{name}")
        rows = None
        for _ in range(int(self.random.integers(1, 5))):
            if rows is None:
                rows = [self.shares(ranks, len(values)) for values in self.datasets.values()]
            operations += self.round(rows, int(self.random.integers(10, 150)))
            if self.chance(0.7):
                operations.append(("flush",))
                rows = None  # what other ranks overwrite now is later
                operations += self.changes()
        return {"ranks": ranks, "view": self.pick(["on"] * 5 + ["commit"] * 4 + ["off"]), "operations": operations}

    def create(self, name):
        kind = self.pick(["<i4", "<f8", ">i2", "u1"])
        if self.chance(0.5):
            shape = (int(self.random.integers(1000, 40000)),)
        else:
            shape = (int(self.random.integers(40, 300)), int(self.random.integers(10, 200)))
        more = {}
        if self.chance(0.5):
            more["chunks"] = tuple(int(self.random.integers(max(1, n // 8), n + 1)) for n in shape)
            if self.chance(0.5):
                more["compression"] = "gzip"
            if self.chance(0.5):
                more["maxshape"] = (None, *shape[1:])
        if self.chance(0.3):
            more["fillvalue"] = 7
        self.datasets[name] = np.full(shape, more.get("fillvalue", 0), kind)
        self.properties[name] = more
        return ("create", name, shape, kind, more)

    def small(self, name):
        values = np.arange(self.random.integers(1, 130)) + self.random.integers(0, 1000)
        self.attributes[name] = int(self.random.integers(0, 1 << 30))
        self.datasets[name] = values.astype("<f8")
        self.properties[name] = {}
        return [
            ("create", name, values.shape, "<f8", {}),
            ("attribute", name, self.attributes[name]),
            ("write", name, 0, (slice(0, len(values)),), self.datasets[name].copy()),
        ]

    def shares(self, ranks, length):
        """Whose the rows of a dataset are, in this round."""
        cuts = np.sort(self.random.integers(0, length + 1, size=ranks - 1))
        edges = [0, *cuts.tolist(), length]
        return [(edges[i], edges[i + 1]) for i in self.random.permutation(ranks)]

    def round(self, rows, pieces):
        operations = []
        large = [i for i, name in enumerate(self.datasets) if not name.startswith("small/")]
        names = list(self.datasets)
        for _ in range(pieces):
            which = int(self.pick(large))
            name = names[which]
            rank = int(self.random.integers(0, len(rows[which])))
            first, last = rows[which][rank]
            if first == last:
                continue
            values = self.datasets[name]
            box = [sorted(self.random.integers(first, last + 1, size=2).tolist())]
            box += [sorted(self.random.integers(0, n + 1, size=2).tolist()) for n in values.shape[1:]]
            if self.chance(0.3):
                box[0] = [first, last]
            box = tuple(slice(a, b) for a, b in box)
            shape = values[box].shape
            if 0 in shape:
                continue
            self.written += 1
            fresh = ((np.arange(np.prod(shape)) + 7 * self.written) % 100).astype(values.dtype).reshape(shape)
            values[box] = fresh
            operations.append(("write", name, rank, box, fresh))
        return operations

    def changes(self):
        """Between two rounds: extents, and datasets that go and come back."""
        operations = []
        for name in list(self.datasets):
            if name.startswith("small/"):
                continue
            more = self.properties[name]
            if "maxshape" in more and self.chance(0.3):
                old = self.datasets[name]
                length = int(self.random.integers(1, 2 * len(old)))
                values = np.full((length, *old.shape[1:]), more.get("fillvalue", 0), old.dtype)
                values[: len(old)] = old[:length]
                self.datasets[name] = values
                operations.append(("resize", name, values.shape))
            elif self.chance(0.1):
                operations += [("delete", name), self.create(name)]
        return operations


# ---- the program ---------------------------------------------------------------------------------


def name_of(seed):
    return f"s{seed}.h5"


def environment_of(plan, session):
    """Settings that the ranks of a process find at their next open."""
    for key in list(os.environ):
        if key.startswith("H5BENTO_") and key[8:].lower() in (*plan.settings, "view"):
            del os.environ[key]
    for key, value in plan.settings.items():
        if value is not None:
            os.environ["H5BENTO_" + key.upper()] = value
    os.environ["H5BENTO_VIEW"] = session["view"]


def perform(file, rank, operation):
    what, *rest = operation
    if what == "flush":
        file.flush()
        return
    name = rest[0]
    if what == "create":
        _, shape, kind, more = rest
        file.create_dataset(name, shape, kind, **more)
    elif what == "attribute":
        file[name].attrs["number"] = rest[1]
    elif what == "resize":
        file[name].resize(rest[1])
    elif what == "delete":
        del file[name]
    elif rank == rest[1]:
        file[name][rest[2]] = rest[3]


def compare(file, plan, who):
    for name, wanted in plan.datasets.items():
        found = file[name][...]
        if found.shape != wanted.shape or found.dtype != wanted.dtype or not np.array_equal(found, wanted):
            where = np.argwhere(found != wanted)[:3].tolist() if found.shape == wanted.shape else found.shape
            raise SystemExit(f"seed {plan.seed}: {who}: {name} differs at {where}")
    for name, wanted in plan.attributes.items():
        if file[name].attrs["number"] != wanted:
            raise SystemExit(f"seed {plan.seed}: {who}: the attribute of {name} differs")


def write(first, count):
    import traceback

    from mpi4py import MPI

    try:
        write_all(first, count, MPI.COMM_WORLD)
    except BaseException:
        traceback.print_exc()
        MPI.COMM_WORLD.Abort(1)  # the others wait


def write_all(first, count, world):
    import h5py

    for seed in range(first, first + count):
        plan = Plan(seed)
        if world.rank == 0:
            print(f"seed {seed}: {plan.text()}", flush=True)
        for number, session in enumerate([*plan.sessions, None]):
            ranks = session["ranks"] if session else plan.readers
            part = world.Split(0 if world.rank < ranks else 1)
            if world.rank < ranks:
                environment_of(plan, session or {"view": "on"})
                mode = "w" if number == 0 else "r+" if session else "r"
                with h5py.File(name_of(seed), mode, driver="mpio", comm=part) as file:
                    for operation in session["operations"] if session else ():
                        perform(file, part.rank, operation)
                    if session is None:
                        compare(file, plan, f"reading rank {part.rank} of {ranks}")
            world.Barrier()
            part.Free()
        if world.rank == 0:
            print(f"done {seed}", flush=True)


def stock(first, count):
    import h5py

    for seed in range(first, first + count):
        plan = Plan(seed)
        if plan.view == "off":
            try:
                h5py.File(name_of(seed), "r").close()
            except OSError:
                continue
            raise SystemExit(f"seed {seed}: view=off, and the wheel opens the file")
        with h5py.File(name_of(seed), "r") as file:
            compare(file, plan, "the wheel")
    print(f"equal: {count}")


# ---- the test ------------------------------------------------------------------------------------


def batch(first, count):
    script = os.path.abspath(__file__)
    command = [python(), "-B", script, "--write", first, count]
    written = mpirun(MOST_RANKS, command, bento_env(), ok=None, timeout=60 + 60 * count)
    say("\n".join(x for x in written.out.splitlines() if x.startswith("seed ")))
    seed = first + sum(line.startswith("done ") for line in written.out.splitlines())
    check(written.status == 0, f"seed {seed}: exit status {written.status}\n{written.tail()}")
    check("no native view" not in written.err, f"seeds from {first}: no native view\n{written.tail()}")
    command = [stock_python(), "-B", script, "--stock", first, count]
    read = run(command, stock_env(), ok=None, timeout=60 + 60 * count)
    check(read.status == 0, f"seeds from {first}:\n{read.tail()}")
    for line in parse_lines(r"seed (\d+): .*\bchecksum=none\b", written.out):
        Leaves.unhashed[f"{name_of(line[1])}*"] = "checksum=none"
    check_all_containers(".")
    for name in os.listdir("."):
        os.remove(name)


def test(options):
    first = first_seed(options.first_seed)
    begin, seed = time.monotonic(), first
    while True:
        done = seed - first
        if done >= options.count or (options.seconds and time.monotonic() - begin > options.seconds):
            break
        count = min(BATCH, options.count - done)
        batch(seed, count)
        seed += count
    say(f"{seed - first} random runs, no difference")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--show"]:
        print(Plan(int(sys.argv[2])).text())
    elif sys.argv[1:2] == ["--write"]:
        write(int(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["--stock"]:
        stock(int(sys.argv[2]), int(sys.argv[3]))
    else:
        from harness import Leaves, bento_env, check, check_all_containers, first_seed, mpirun, parse_lines, python, run, run_test, say
        from native_view_check import stock_env, stock_python

        parser = argparse.ArgumentParser()
        parser.add_argument("--count", type=int, default=1 << 30)
        parser.add_argument("--seconds", type=float)
        parser.add_argument("--first-seed", type=int, default=1)
        given = parser.parse_args()
        if given.count == 1 << 30 and given.seconds is None:
            given.count = 1000
        run_test(test, given, containers=min(given.count, BATCH), unhashed={})
