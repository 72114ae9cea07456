#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Random parallel programs whose ranks write elements with others between them, at the same time: each rank in a part of its
own, or between those of others. What nobody writes must stay, and what others write in between must not be lost. The same
programs run natively, too.

    strided_writes.py [--first N] [SEEDS]                    the test
    mpirun ... strided_writes.py --run FIRST COUNT [VARIABLES...]    its program, with each of these (launched.settings); natively
                                                                     without H5BENTO_VISIBLE
"""

import os
import sys

from seeded_programs import run_programs, seeds_of

STEPS = 9
SHAPES = ((30000,), (150, 201), (20, 30, 55))


def within(rng, first, end):
    """Some of [first, end), with gaps of up to 3."""
    start = rng.randrange(first, end)
    return slice(start, rng.randint(start + 1, end), rng.choice((1, 2, 2, 3, 4)))


def shares(rng, shape, ranks):
    """What each rank writes: elements of its own."""
    kind, axis = rng.random(), rng.randrange(len(shape))
    every = [within(rng, 0, extent) for extent in shape]
    step = ranks * rng.randint(1, 2)
    out = []
    for rank in range(ranks):
        box = list(every)
        if kind < 0.5:  # parts side by side
            first, end = shape[axis] * rank // ranks, shape[axis] * (rank + 1) // ranks
            box[axis] = within(rng, first, end)
        else:  # in turns
            box[axis] = slice(rank, shape[axis], step)
        out.append(None if rng.random() < 0.1 else tuple(box))
    return out


class Program:
    """What all ranks do; every decision is shared."""

    def __init__(self, file, comm, seed):
        import random

        self.file, self.comm, self.mode = file, comm, os.environ.get("H5BENTO_VISIBLE", "native")
        self.rng = random.Random(seed)
        self.wanted = {}
        self.value = 0
        self.log = []

    def create(self, number, shape):
        import numpy as np

        rng = self.rng
        options = {"fillvalue": 9}
        if rng.random() < 0.4:
            options["chunks"] = tuple(rng.randint(extent // 4 + 1, extent) for extent in shape)
            options["maxshape"] = (None,) + shape[1:]
        if rng.random() < 0.3 and "chunks" in options and self.mode != "native":
            options["compression"] = 1
        kind = rng.choice(("i4", "f8", "u2"))
        self.log.append(("create", shape, kind, options))
        self.file.create_dataset(f"d{number}", shape, kind, **options)
        self.wanted[f"d{number}"] = np.full(shape, 9, kind)

    def put(self, name, share, value, collective):
        """`share` of this rank: None is nothing. (A collective write has all ranks.)"""
        import numpy as np
        from h5py import h5fd, h5p, h5s

        data = self.file[name]
        if share is None and not collective:
            return
        space = data.id.get_space()
        space.select_none()
        counts = (1,)
        if share is not None:
            ranges = [range(*each.indices(extent)) for each, extent in zip(share, data.shape)]
            counts = tuple(len(each) for each in ranges)
            space.select_hyperslab(tuple(each.start for each in ranges), counts, tuple(each.step for each in ranges))
        memory = h5s.create_simple(counts)
        if share is None:
            memory.select_none()
        transfer = h5p.create(h5p.DATASET_XFER)
        transfer.set_dxpl_mpio(h5fd.MPIO_COLLECTIVE if collective else h5fd.MPIO_INDEPENDENT)
        data.id.write(memory, space, np.full(counts, value, data.dtype), dxpl=transfer)

    def write(self):
        name = self.rng.choice(sorted(self.wanted))
        collective = self.rng.random() < 0.3
        parts = shares(self.rng, self.wanted[name].shape, self.comm.size)
        if self.rng.random() < 0.25:  # one rank alone
            one = self.rng.randrange(self.comm.size)
            parts = [part if rank == one else None for rank, part in enumerate(parts)]
        self.value = (self.value + 10) % 60000
        for rank, part in enumerate(parts):
            if part is not None and 0 in self.wanted[name][part].shape:
                parts[rank] = None
            elif part is not None:
                self.wanted[name][part] = self.value + rank
        self.log.append(("write", name, collective, parts, self.value))
        self.put(name, parts[self.comm.rank], self.value + self.comm.rank, collective)
        self.comm.barrier()

    def check(self, name, collective):
        import numpy as np

        data, wanted = self.file[name], self.wanted[name]
        found = np.empty(wanted.shape, wanted.dtype)
        if collective:
            with data.collective:
                data.read_direct(found)
        else:
            data.read_direct(found)
        if not (found == wanted).all():
            at = tuple(int(each[0]) for each in (found != wanted).nonzero())
            raise AssertionError(
                f"rank {self.comm.rank}: {name}, collective {collective}, at {at}: {found[at]}, not {wanted[at]}; {self.log}"
            )

    def resize(self):
        import numpy as np

        name = self.rng.choice(sorted(self.wanted))
        data, wanted = self.file[name], self.wanted[name]
        if data.chunks is None:
            return
        rows = self.rng.choice((wanted.shape[0] // 2 + 10, wanted.shape[0] + 7))
        self.log.append(("resize", name, rows))
        data.resize((rows,) + wanted.shape[1:])
        new = np.full((rows,) + wanted.shape[1:], 9, wanted.dtype)
        kept = min(rows, wanted.shape[0])
        new[:kept] = wanted[:kept]
        self.wanted[name] = new

    def run(self):
        for number, shape in enumerate(SHAPES):
            self.create(number, shape)
        for _ in range(STEPS):
            self.write()
            kind = self.rng.random()
            name = self.rng.choice(sorted(self.wanted))
            if kind < 0.25:
                self.log.append(("flush",))
                self.file.flush()
                self.check(name, False)
            elif kind < 0.45 and self.mode != "native":
                self.log.append(("collective read",))
                self.check(name, True)
            elif kind < 0.7 and self.mode == "write":
                self.check(name, False)
            elif kind < 0.8:
                self.resize()
            self.comm.barrier()

    def check_again(self, file):
        self.file = file
        for each in self.wanted:
            self.check(each, False)


ELEMENTS = 300000


def space():
    """Every third element, each rank in a part of its own, over data that is there."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    first = ELEMENTS // comm.size * comm.rank
    with h5py.File("space.h5", "w", driver="mpio", comm=comm) as file:
        data = file.create_dataset("d", (ELEMENTS,), "f8")
        end = first + ELEMENTS // comm.size
        data[first:end] = np.arange(first, end)
        file.flush()
        data[first:end:3] = -np.arange(first, end, 3)
    with h5py.File("space.h5", "r", driver="mpio", comm=comm) as file:
        found = file["d"][...]
        wanted = np.arange(float(ELEMENTS))
        for rank in range(comm.size):
            begin = ELEMENTS // comm.size * rank
            wanted[begin : begin + ELEMENTS // comm.size : 3] *= -1
        assert (found == wanted).all()
    print("right")


def test():
    first, seeds = seeds_of(sys.argv[1:], 3)
    command = [python(), "-B", os.path.abspath(__file__), "--run", first, seeds]
    found = mpirun(3, command, native_env(), timeout=60 + 10 * seeds)
    check(found.out.count("right") == 3, found.tail())
    say(f"3 ranks, natively: {seeds} programs")
    nodes = "H5BENTO_TEST_NODES=2"
    ways = [
        "H5BENTO_VISIBLE=write,H5BENTO_FILES=2,H5BENTO_BUFFER=64K,H5BENTO_MINMAX=on",
        f"H5BENTO_VISIBLE=commit,{nodes}",
        f"H5BENTO_VISIBLE=write,{nodes}",
        "H5BENTO_VISIBLE=write",
        "H5BENTO_VISIBLE=commit",
    ]
    if reason := no_other_memory():
        ways.remove(f"H5BENTO_VISIBLE=write,{nodes}")
        say(f"visible=write between nodes: not run: {reason}")
        env = bento_env()
    else:
        env = bento_env(OMPI_MCA_btl_vader_single_copy_mechanism="cma")
    ways = some(3, ways)
    found = mpirun(3, [*command, *ways], env, timeout=60 + 10 * seeds * len(ways))
    check(found.out.count("right") == 6, found.tail())
    say(f"3 ranks: {seeds} programs with each of {ways}")
    taken = os.stat("space.h5").st_blocks * 512
    check(taken < 3 * ELEMENTS * 8, f"{taken} bytes for two writes of {ELEMENTS * 8}")
    say(f"{taken} bytes for two writes of {ELEMENTS * 8}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run_programs(int(sys.argv[2]), int(sys.argv[3]), Program, sys.argv[4:])
        if sys.argv[4:]:
            space()
        sys.exit(0)
    from harness import bento_env, check, mpirun, native_env, no_other_memory, python, run_test, say, some

    run_test(test)
