#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Ranks do not come to calls of all at the same time. One that has made such a call writes, and another reads or writes the
same elements before it makes that call. If it was told of the write by a message, it reads what was written, and its own write is
the later one, as natively. If natively no rank leaves the call before all have come to it, the write behind the call is the later one.

    ranks_ahead.py                            a few cases of each, on one node and on two
    ranks_ahead.py [--first N] SEEDS random   random programs of ranks that send messages and make calls of all late
    mpirun ... ranks_ahead.py --run NAME...   some of its programs
    mpirun ... ranks_ahead.py --random FIRST COUNT [VARIABLES...]    random ones, with each of these (launched.settings)
"""

import os
import sys
import time

from launched import run_in_turn
from seeded_programs import run_programs, seeds_of

STEPS = 60


class Late:
    """What all ranks do; every decision comes from one generator. One rank at a time writes or reads, and sends the next one a
    message. `calls` is what all ranks are to call, and `made` how many of these each has called."""

    def __init__(self, file, comm, seed):
        import random

        import numpy as np

        self.file, self.comm, self.seed = file, comm, seed
        self.rng = random.Random(seed)
        self.calls, self.made, self.names = [], [0] * comm.size, 0
        self.groups, self.log, self.actor = [], [], None
        pair = np.dtype([("a", "i4"), ("b", "i4")])
        self.data, self.wanted = {}, {}
        for name, shape, kind, more in (
            ("plain", (60,), "i4", {}),
            ("filled", (60,), "i4", {"fillvalue": 0}),
            ("chunked", (60,), "i4", {"chunks": (7,), "maxshape": (None,)}),
            ("box", (12, 20), "i4", {"chunks": (5, 6)}),
            ("members", (40,), pair, {}),
            ("large", (30000,), "i4", {}),
        ):
            self.data[name] = file.create_dataset(name, shape, kind, **more)
            self.wanted[name] = np.zeros(shape, kind)
        self.resized = file.create_dataset("resized", (50,), "i4", chunks=(1000,), maxshape=(None,))
        comm.barrier()

    def invent(self):
        """A call in which natively nobody waits for others, unless it has to read metadata of the file."""
        rng = self.rng
        self.names += 1
        name = f"n{self.names}"
        kinds = ["group", "attribute", "dataset", "compressed", "soft", "hard", "type", "resize"]
        kind = rng.choice(kinds + (["delete", "move"] if self.groups else []))
        old = None
        if kind in ("delete", "move"):
            old = self.groups.pop(rng.randrange(len(self.groups)))
        if kind in ("group", "move"):
            self.groups.append(name)
        self.calls.append((kind, name, old, rng.randint(1, 900)))

    def call(self, kind, name, old, number):
        import h5py
        import numpy as np

        if kind == "group":
            self.file.create_group(name)
        elif kind == "attribute":
            self.file.attrs[f"a{number % 3}"] = number
        elif kind == "dataset":
            self.file.create_dataset(name, (number,), "f8")
        elif kind == "compressed":
            self.file.create_dataset(name, (number,), "f8", chunks=(number,), compression=1)
        elif kind == "soft":
            self.file[name] = h5py.SoftLink("/plain")
        elif kind == "hard":
            self.file[name] = self.data["box"]
        elif kind == "type":
            self.file[name] = np.dtype("i2")
        elif kind == "resize":
            self.resized.resize((number,))
        elif kind == "delete":
            del self.file[old]
        else:
            self.file.move(old, f"{name}")

    def come_to(self, rank, count):
        """The rank makes the calls up to this one."""
        if rank == self.comm.rank:
            for call in self.calls[self.made[rank] : count]:
                self.call(*call)
        self.made[rank] = max(self.made[rank], count)

    def box(self, shape):
        if self.rng.random() < 0.3:
            return tuple(slice(0, extent) for extent in shape)
        starts = [self.rng.randrange(extent) for extent in shape]
        most = 20000 if self.rng.random() < 0.1 else 30
        return tuple(slice(at, min(extent, at + self.rng.randint(1, most))) for at, extent in zip(starts, shape))

    def pass_on(self, rank):
        """The message."""
        if self.actor is not None and self.actor != rank:
            if self.comm.rank == self.actor:
                self.comm.send(None, rank)
            elif self.comm.rank == rank:
                self.comm.recv(source=self.actor)
        self.actor = rank

    def write(self, name, box, value, member, acts):
        wanted, data = self.wanted[name], self.data[name]
        if name == "members":
            part = wanted[box].copy()
            if member is None:
                part["a"] = part["b"] = value
                if acts:
                    data[box] = part
            else:
                part[member] = value
                if acts:
                    data[box[0], member] = part[member]
            wanted[box] = part
        else:
            wanted[box] = value
            if acts:
                data[box] = wanted[box]

    def act(self):
        rng = self.rng
        rank = rng.randrange(self.comm.size)
        while rng.random() < 0.4:
            self.invent()
        self.pass_on(rank)
        self.come_to(rank, rng.randint(self.made[rank], len(self.calls)))
        name = rng.choice(sorted(self.data))
        box = self.box(self.wanted[name].shape)
        member = rng.choice([None, "a", "b"])
        value = rng.randint(1, 1000000)
        writes = rng.random() < 0.6
        self.log.append((rank, self.made[rank], "write" if writes else "read", name, box, member, value))
        acts = rank == self.comm.rank
        if writes:
            self.write(name, box, value, member, acts)
        elif acts:
            found = self.data[name][box]
            assert (found == self.wanted[name][box]).all(), f"rank {rank}: {self.calls} {self.log}\n{found}\n{self.wanted[name][box]}"

    def meet(self):
        """All come to all calls, and then to one in which they meet, if only for that reason."""
        import numpy as np

        for rank in range(self.comm.size):
            self.come_to(rank, len(self.calls))
        kind = self.rng.choice(["barrier", "flush", "write", "read", "create"])
        self.log.append(("meet", kind))
        if kind == "barrier" or self.actor is None:
            self.comm.barrier()
        elif kind == "flush":
            self.file.flush()
        elif kind == "create":
            self.names += 1
            self.file.create_dataset(f"n{self.names}", (40,), "i4", chunks=(9,))
        else:
            with self.resized.collective:
                if kind == "read":
                    self.resized.read_direct(np.zeros(self.resized.shape, "i4"))
                else:
                    self.resized[...] = np.zeros(self.resized.shape, "i4")
        # What was done before is known to all.
        self.actor = None

    def run(self):
        for _ in range(STEPS):
            if self.rng.random() < 0.07:
                self.meet()
            else:
                self.act()
        for rank in range(self.comm.size):
            self.come_to(rank, len(self.calls))
        self.comm.barrier()
        self.compare(self.file, "at the end")

    def compare(self, file, when):
        for name, wanted in self.wanted.items():
            found = file[name][...]
            assert (found == wanted).all(), f"seed {self.seed}, {name}, {when}: {self.calls} {self.log}\n{found}\n{wanted}"

    def check_again(self, file):
        self.compare(file, "after a new open")


def require(right, text):
    """Ends all ranks, which would wait for each other in the close of the file."""
    if not right:
        from mpi4py import MPI

        print(f"wrong: {text}", flush=True)
        MPI.COMM_WORLD.Abort(1)


def ahead():
    """Rank 0 is a collective call ahead, and writes over what rank 1 has yet to read, and was not told of."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    with h5py.File("ahead.h5", "w", driver="mpio", comm=comm) as file:
        for compression, rows in ((None, 8), (None, 40000), (1, 8), (1, 40000)):
            data = file.create_dataset(f"{compression} {rows}", (2 * rows, 4), "i4", chunks=(4, 4), maxshape=(None, 4), compression=compression)
            data[comm.rank * rows : (comm.rank + 1) * rows] = np.full((rows, 4), 10 + comm.rank)
            comm.barrier()
            if comm.rank == 0:
                data[rows:] = np.full((rows, 4), 20)
            comm.barrier()
            if comm.rank == 1:
                time.sleep(0.3)
                # Natively nobody leaves the call before all have come, if it fills new chunks. Those with filters wait for a write.
                require(set(np.unique(data[rows:])) <= ({20, 30} if compression else {20}), "before the collective call")
            data.resize((2 * rows + 4, 4))
            if comm.rank == 0:
                data[rows : 2 * rows] = np.full((rows, 4), 30)
            comm.barrier()
            require(set(np.unique(data[rows : 2 * rows])) == {30}, "after it")
        allocated(file, comm)
    for layout_known in (False, True):
        for way in ("deleted", "cut", "overwritten", "compressed"):
            with h5py.File(f"{way} {layout_known}.h5", "w", driver="mpio", comm=comm) as file:
                change_ahead(file, comm, way, layout_known)
    print("right")


def change_ahead(file, comm, way, layout_known):
    """Rank 0 deletes or cuts off what rank 1 has yet to read, or writes over it, and writes more than its buffer holds."""
    import random

    import numpy as np

    shape = (16, 40) if way == "compressed" else (16, 4)
    more = {"chunks": (8, shape[1]), "maxshape": shape} if way == "cut" else {}
    if way == "compressed":
        more = {"chunks": shape, "compression": 1}
    data = file.create_dataset("data", shape, "i4", fillvalue=-1, **more)
    other = file.create_dataset("other", (500, 4), "i4")
    if layout_known:
        file.create_dataset("large", (100000,), "f8")
    if comm.rank == 0:
        data[...] = np.full(shape, 5)
    comm.barrier()
    if comm.rank == 1:
        comm.recv(source=0)
        found = set(np.unique(data[...]))
        require(found == ({6} if way == "overwritten" else {5}), f"{way}, {layout_known}: {found}")
    if way == "cut":
        data.resize((3, 4))
    elif way == "overwritten":
        file.create_group("group")
    else:
        del data, file["data"]
        data = file.create_dataset("data", shape, "i4", fillvalue=-1, **more)
    if comm.rank == 0:
        if way == "overwritten":
            data[...] = np.full(shape, 6)
        chance = random.Random(1)
        for turn in range(600 if os.environ.get("H5BENTO_TEST_ALL") else 100):
            row, column = chance.randrange(200), chance.randrange(4)
            box = (slice(row, row + chance.randint(100, 300)), slice(column, min(4, column + chance.randint(1, 4))))
            # As an array: h5py writes a number row by row.
            other[box] = np.full((box[0].stop - box[0].start, box[1].stop - box[1].start), turn)
        comm.send("done", 1)
    comm.barrier()
    wanted = {"cut": {5}, "overwritten": {6}}.get(way, {-1})
    require(set(np.unique(data[...])) == wanted, f"{way}, {layout_known}: afterwards")


def allocated(file, comm):
    """After a collective write to filtered chunks each rank knows what all have written, also of those that come later."""
    import numpy as np
    from h5py import Dataset, h5d, h5p, h5s, h5t

    def create(name, when):
        plist = h5p.create(h5p.DATASET_CREATE)
        plist.set_chunk((4, 4))
        plist.set_deflate(1)
        plist.set_alloc_time(when)
        return Dataset(h5d.create(file.id, name, h5t.NATIVE_INT32, h5s.create_simple((4 * comm.size + 4, 4)), plist))

    together = h5p.create(h5p.DATASET_XFER)
    together.set_dxpl_mpio(1)
    for name, when in ((b"incr", h5d.ALLOC_TIME_INCR), (b"late", h5d.ALLOC_TIME_LATE), (b"empty", h5d.ALLOC_TIME_LATE)):
        data = create(name, when)
        require(data.id.get_space_status() == h5d.SPACE_STATUS_NOT_ALLOCATED, f"{name}")
        where = data.id.get_space()
        where.select_hyperslab((4 * comm.rank, 0), (4, 4))
        memory = h5s.create_simple((4, 4))
        if name == b"empty":
            where.select_none()
            memory.select_none()
        comm.barrier()
        if comm.rank == 1:
            time.sleep(0.2)
        data.id.write(memory, where, np.full((4, 4), comm.rank, "i4"), dxpl=together)
        chunks, late = data.id.get_num_chunks(), when == h5d.ALLOC_TIME_LATE
        require(chunks == comm.size + late, (name, chunks))
        status = h5d.SPACE_STATUS_ALLOCATED if late else h5d.SPACE_STATUS_PART_ALLOCATED
        require(data.id.get_space_status() == status, f"{name}")


def create_told(file):
    import numpy as np

    file.create_dataset("other", data=np.zeros(10, "i4"), chunks=(10,), maxshape=(None,))
    file.create_dataset("data", data=np.zeros(100, "i4"))


def create_again(file, other):
    """Fails on all ranks, each by itself."""
    try:
        file.create_dataset("other", (10,), "i4", chunks=(10,))
    except ValueError:
        return
    require(False, "a dataset was made where there was one")


def told():
    """Rank 0 makes a call of all and writes; rank 1 hears of it, reads, writes over it, and then makes that call."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    calls = {
        "none": lambda file, other: None,
        "group": lambda file, other: file.create_group("new"),
        "attribute": lambda file, other: file.attrs.create("new", 3),
        "dataset": lambda file, other: file.create_dataset("new", (10,), "i4"),
        "shrunk": lambda file, other: other.resize((5,)),
        "grown serial": lambda file, other: other.resize((40,)),
        "there already": create_again,
    }
    for name, call in calls.items():
        # A dataset that a serial program has made is allocated late, and so nobody waits in its growth.
        serial = name.endswith("serial")
        if serial and comm.rank == 0:
            with h5py.File(f"told {name}.h5", "w") as file:
                create_told(file)
        comm.barrier()
        with h5py.File(f"told {name}.h5", "r+" if serial else "w", driver="mpio", comm=comm) as file:
            if not serial:
                create_told(file)
            data, other = file["data"], file["other"]
            comm.barrier()
            if comm.rank == 0:
                data[...] = np.full(100, 5, "i4")
            comm.barrier()
            if comm.rank == 0:
                call(file, other)
                data[...] = np.full(100, 6, "i4")
                comm.send(None, 1)
            else:
                comm.recv(source=0)
                require(set(data[...].tolist()) == {6}, f"{name}: {set(data[...].tolist())} after the message")
                data[...] = np.full(100, 7, "i4")
                call(file, other)
            comm.barrier()
            require(set(data[...].tolist()) == {7}, f"{name}: {set(data[...].tolist())} at the end")
        with h5py.File(f"told {name}.h5", "r", driver="mpio", comm=comm) as file:
            require(set(file["data"][...].tolist()) == {7}, f"{name}: {set(file['data'][...].tolist())} after a new open")
    print("right")


def meetings():
    """Rank 1 is late for a call that natively no rank leaves before all have come to it. What rank 0 reads behind it is what rank 1 has
    written before, and what rank 0 writes there is later."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    with h5py.File("meetings.h5", "w", driver="mpio", comm=comm) as file:
        other = file.create_dataset("other", (10, 4), "i4", chunks=(5, 4), maxshape=(None, 4))
        whole = file.create_dataset("whole", (10,), "i4")
        pair = np.dtype([("a", "i4"), ("b", "i4")])
        layout = h5py.VirtualLayout((10,), "i4")
        layout[...] = h5py.VirtualSource(".", "whole", (10,))

        def write():
            with whole.collective:
                whole[5 * comm.rank : 5 * comm.rank + 5] = np.full(5, 1, "i4")

        def read():
            with whole.collective:
                whole.read_direct(np.zeros(10, "i4"))

        calls = {
            "chunks": lambda: file.create_dataset("chunks", (20,), "i4", chunks=(7,)),
            "filled": lambda: file.create_dataset("filled", (20,), "i4", fillvalue=3),
            "grown": lambda: other.resize((16, 4)),
            "virtual": lambda: file.create_virtual_dataset("virtual", layout),
            "write": write,
            "read": read,
        }
        for name, call in calls.items():
            data = file.create_dataset(f"data {name}", (100,), "i4")
            members = file.create_dataset(f"members {name}", (20,), pair)
            if comm.rank == 0:
                data[...] = np.full(100, 5, "i4")
            comm.barrier()
            if comm.rank == 1:
                time.sleep(0.2)
                members["a"] = np.full(20, 3, "i4")
                require(set(data[...].tolist()) == {5}, f"{name}: before the call")
                data[:50] = np.full(50, 6, "i4")
            call()
            if comm.rank == 0:
                require(set(data[:50].tolist()) == {6}, f"{name}: behind the call")
                data[...] = np.full(100, 7, "i4")
                members["b"] = np.full(20, 4, "i4")
            comm.barrier()
            require(set(data[...].tolist()) == {7}, f"{name}: {set(data[...].tolist())}")
            require(set(members[...].tolist()) == {(3, 4)}, f"{name}: {set(members[...].tolist())}")
        # Rank 0 writes over what rank 1 has yet to write in the call, and does not look before.
        for size in (30, 30000):
            data = file.create_dataset(f"initialised {size}", (size,), "i4")
            comm.barrier()
            if comm.rank == 1:
                time.sleep(0.1)
            half = size // 2
            with data.collective:
                data[half * comm.rank : half * (comm.rank + 1)] = np.full(half, -1, "i4")
            if comm.rank == 0:
                data[...] = np.arange(size, dtype="i4")
            comm.barrier()
            require((data[...] == np.arange(size)).all(), f"initialised together: {data[...]}")
            comm.barrier()
    print("right")


def test():
    texts = {
        "told": "who was told reads what was written, and writes later",
        "meetings": "what is read behind a meeting was written before it, and what is written is later",
        "ahead": "what was not told is not lost",
    }
    envs = {"natively": native_env(), "one node": bento_env(H5BENTO_BUFFER="64K")}
    if not no_other_memory():
        envs["two nodes"] = env_of_nodes(2, H5BENTO_BUFFER="64K")
    for where, env in envs.items():
        programs = [program for program in texts if program != "ahead" or where != "natively"]
        found = mpirun(2, [python(), "-B", os.path.abspath(__file__), "--run", *programs], env)
        check(found.out.count("right") == 2 * len(programs), f"{where}: {found.tail()}")
        say(f"{where}: {'; '.join(texts[program] for program in programs)}")
    test_random(*seeds_of([], 6))


def test_random(first, seeds):
    for at, ranks in enumerate(some(1, (4, 2, 3))):
        share = max(1, seeds // 3)
        begin = first + at * share
        command = [python(), "-B", os.path.abspath(__file__)]
        limit = 60 + 20 * share
        program = ["--random", begin, share]
        found = mpirun(ranks, [*command, *program, "", "H5BENTO_FILES=2,H5BENTO_BUFFER=64K"], bento_env(), timeout=limit)
        check(found.out.count("right") == ranks, found.tail())
        if not no_other_memory():
            clocks = ("0", "0:400000", "-5:-300000", "5:100000")[:ranks]
            ways = [f"H5BENTO_TEST_NODES={nodes}" for nodes in sorted({2, ranks})]
            found = run(command_on_nodes(clocks, *program, *ways), env_of_nodes(2), timeout=limit)
            check(found.out.count("right") == ranks, f"several nodes: {found.tail()}")
        say(f"{ranks} ranks, programs {begin} to {begin + share - 1}: who was told reads what was written, and writes later")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run_in_turn({"told": told, "ahead": ahead, "meetings": meetings}, sys.argv[2:])
        sys.exit(0)
    if sys.argv[1:2] == ["--random"]:
        run_programs(int(sys.argv[2]), int(sys.argv[3]), Late, sys.argv[4:])
        sys.exit(0)
    from harness import bento_env, check, command_on_nodes, env_of_nodes, mpirun, native_env, no_other_memory, python, run, run_test, say, some

    if sys.argv[-1] == "random":
        run_test(test_random, *seeds_of(sys.argv[1:-1], 6))
    else:
        run_test(test)
