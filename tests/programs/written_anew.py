#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Large boxes that a rank writes again before anything commits them: the bytes go to the same place, the values are those of
native HDF5, and other ranks read what they were told of.

    written_anew.py                           the test
    written_anew.py [--first N] SEEDS random  random programs only
    mpirun ... written_anew.py --run NAME[,VARIABLE=VALUE]...         some of its programs (launched.run_in_turn)
    mpirun ... written_anew.py --random FIRST COUNT [VARIABLES...]    random ones, with each of these
"""

import os
import re
import sys

from launched import run_in_turn
from seeded_programs import run_programs, seeds_of

COUNTS = (6000, 40000, 200000)  # 96 KB, 640 KB and 3.2 MB: verified as a whole, also with a table of hashes, and in granules
STEPS = 40


def pair():
    import numpy as np

    return np.dtype([("a", "f8"), ("b", "i8")])


class Again:
    """One rank at a time writes one of few boxes, whole or one member, and tells the others; who reads sees what was written last."""

    def __init__(self, file, comm, seed):
        import random

        import numpy as np

        self.file, self.comm, self.seed = file, comm, seed
        self.rng = random.Random(seed)
        count = self.rng.choice(COUNTS)
        half = count // 2
        self.boxes = [slice(0, count), slice(0, half), slice(half, count), slice(count // 4, count - 100)]
        self.data, self.wanted, self.log = {}, {}, []
        for name, kind, more in (
            ("pairs", pair(), {}),
            ("plain", "f8", {}),
            ("floats", "f4", {}),
            ("chunked", pair(), {"chunks": (1000,), "maxshape": (None,)}),
        ):
            self.data[name] = file.create_dataset(name, (count,), kind, **more)
            self.wanted[name] = np.zeros(count, kind)
        comm.barrier()

    def run(self):
        for step in range(STEPS):
            turn = self.rng.randrange(self.comm.size)
            self.write(turn, step)
            kind = self.rng.choice(["", "", "", "create", "flush", "read", "attribute", "copy"])
            if kind == "create":
                self.file.create_group(f"g{step}")
            elif kind == "flush":
                self.file.flush()
            elif kind == "attribute":
                self.file.attrs[f"a{step}"] = step
            elif kind == "read":
                self.comm.barrier()
                self.read(collective=True)
            elif kind == "copy":
                self.comm.barrier()
                self.file.copy("floats", f"copy{step}")
            self.log.append(kind)
            self.comm.barrier()
            if self.rng.random() < 0.5:
                self.read()
            self.comm.barrier()

    def write(self, turn, step):
        import numpy as np

        rng = self.rng
        for again in range(rng.randint(1, 4)):
            name = rng.choice(sorted(self.data))
            box = rng.choice(self.boxes)
            wanted = self.wanted[name]
            member = rng.choice(["a", "b", None]) if wanted.dtype.names else None
            value = 100 * step + again + 1
            values = np.arange(box.start, box.stop) + value
            into = wanted if member is None else wanted[member]
            if member is None and wanted.dtype.names:
                into["a"][box], into["b"][box] = values, values + 7
            else:
                into[box] = values
            self.log.append((turn, name, member, box))
            if self.comm.rank != turn:
                continue
            given = into[box].astype("f8") if name == "floats" else np.ascontiguousarray(into[box])
            if member:
                self.data[name][box, member] = given
            else:
                self.data[name][box] = given
            if again == 0 and turn % 2 == 0:  # its own, at once
                self.same(name, box)

    def same(self, name, box):
        import numpy as np

        found, wanted = self.data[name][box], self.wanted[name][box]
        if not np.array_equal(found, wanted):
            at = int(np.flatnonzero(found != wanted)[0])
            raise AssertionError(
                f"rank {self.comm.rank}, {name}[{box.start + at}]: {found[at]} instead of {wanted[at]} after {self.log[-8:]}"
            )

    def same_together(self, name, box):
        """By a collective read; h5py makes one only where it is told so on the level below."""
        import h5py
        import numpy as np

        together = h5py.h5p.create(h5py.h5p.DATASET_XFER)
        together.set_dxpl_mpio(h5py.h5fd.MPIO_COLLECTIVE)
        data, wanted = self.data[name].id, self.wanted[name][box]
        space = data.get_space()
        space.select_hyperslab((box.start,), (box.stop - box.start,))
        found = np.zeros(len(wanted), wanted.dtype)
        data.read(h5py.h5s.create_simple(found.shape), space, found, dxpl=together)
        if not np.array_equal(found, wanted):
            raise AssertionError(f"rank {self.comm.rank}, {name}, together: {found} instead of {wanted} after {self.log[-8:]}")

    def read(self, collective=False):
        for name in sorted(self.data):
            piece = self.rng.choice(self.boxes)
            if collective:
                self.same_together(name, piece)
            else:
                # One behind the other, so that some is read ahead; the next time from there on, perhaps.
                first = piece.start + self.rng.choice((0, 2048, 4096))
                for begin in range(first, min(first + 2048, piece.stop), 256):
                    self.same(name, slice(begin, min(begin + 256, piece.stop)))
                self.same(name, piece)

    def check_again(self, file):
        self.data = {name: file[name] for name in self.data}
        for name in self.data:
            self.same(name, self.boxes[0])


SPACES = ("", "H5BENTO_VISIBLE=commit", "H5BENTO_VERIFY=all")


def space_file():
    """One for each of these settings."""
    return f"space-{SPACES.index(next((way for way in SPACES if way and os.environ.get(way.split('=')[0])), ''))}.h5"


def space():
    """Members one after the other, three times over: no more space than the data, in one commit."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    count = 400000
    name = space_file()
    with h5py.File(name, "w", driver="mpio", comm=comm) as file:
        data = file.create_dataset("d", (comm.size * count,), pair())
        mine = slice(comm.rank * count, (comm.rank + 1) * count)
        for times in range(3):
            for member in "ab":
                data[mine, member] = np.arange(count) + comm.rank + times
        found = data[mine]
        require((found["a"] == found["b"]).all() and found["a"][5] == 7 + comm.rank, "what was written last")
    if comm.rank == 0:
        used = os.stat(name).st_blocks * 512
        print(f"{name} used {used} of {comm.size * count * 16}", flush=True)
    print("right")


def race():
    """Rank 0 writes a box again and again while the others read it: values that were written, and nobody waits for ever."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    with h5py.File("race.h5", "w", driver="mpio", comm=comm) as file:
        for count in COUNTS:
            data = file.create_dataset(f"d{count}", (count,), pair())
            if comm.rank == 0:
                data[...] = np.zeros(count, pair())
            comm.barrier()
            times = 2000000 // count
            if comm.rank == 0:
                for value in range(1, times + 1):
                    whole = np.empty(count, pair())
                    whole["a"] = whole["b"] = value
                    if value % 2:
                        data[...] = whole
                    else:
                        data[:, "a"] = whole["a"]
                for other in range(1, comm.size):
                    comm.send(None, other)
            else:
                reads = 0
                while not comm.iprobe(source=0):
                    found = data[...]
                    require(found["a"].max() <= times and found["a"].min() >= 0, "what nobody wrote")
                    require((found["a"] == found["a"].astype(int)).all(), "a torn value")
                    reads += 1
                comm.recv(source=0)
                require((data[:, "a"] == times).all(), "who was told reads the last value")
            comm.barrier()
    print("right")


def commits():
    """With visible=commit ranks see each other's writes in collective reads: what was read so is not written over."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    with h5py.File("commits.h5", "w", driver="mpio", comm=comm) as file:
        for count in COUNTS:
            data = file.create_dataset(f"d{count}", (comm.size * count,), pair())
            mine = slice(comm.rank * count, (comm.rank + 1) * count)
            for step in range(6):
                for member in "ab":
                    data[mine, member] = np.full(count, step + ord(member))
                with data.collective:
                    found = data[...]
                require((found["a"] == step + 97).all() and (found["b"] == step + 98).all(), f"step {step}")
                if step == 3:
                    file.flush()
    with h5py.File("commits.h5", "r", driver="mpio", comm=comm) as file:
        for count in COUNTS:
            found = file[f"d{count}"][:]
            require((found["a"] == 102).all() and (found["b"] == 103).all(), "opened again")
    print("right")


def columns():
    """What is read column by column is kept for the next columns, but not when one of the ranks has written it anew."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    count = 512  # 2 MB, which are not verified as a whole
    values = np.arange(count * count, dtype="f8").reshape(count, count)
    with h5py.File("columns.h5", "w", driver="mpio", comm=comm) as file:
        data = file.create_dataset("x", (count, count), "f8")
        for step in range(8):
            for column in range(60):
                if column % 12 == 0:
                    comm.Barrier()
                    more = step + column
                    if comm.rank == step % comm.size:
                        data[...] = values + more  # but for the first time in the same place
                    comm.Barrier()
                require((data[:, column] == values[:, column] + more).all(), f"step {step}, column {column}")
            comm.Barrier()
            if step == 4:
                file.flush()
    print("right")


def require(true, text):
    from mpi4py import MPI

    if not true:
        print(f"rank {MPI.COMM_WORLD.rank}: {text}", flush=True)
        MPI.COMM_WORLD.Abort(1)


def test():
    command = [python(), "-B", os.path.abspath(__file__), "--run"]
    programs = [*(f"space,{way}" for way in SPACES), "commits,H5BENTO_VISIBLE=commit"]
    found = mpirun(2, [*command, *programs], bento_env())
    check(found.out.count("right") == 2 * len(programs), found.tail())
    # What another rank prints may follow in the same line.
    sizes = re.findall(r"(space-\d\.h5) used (\d+) of (\d+)", found.out)
    check(len(sizes) == len(SPACES), found.tail())
    for name, used, of in sizes:
        check(int(used) < 1.1 * int(of), f"{name}: {used} bytes for {of}")
        run([built("bin", "h5bento"), "verify", name], bento_env(), timeout=60)
    say("members one after the other, and again: no more space than the data, and every hash is right")
    say("what a collective read has shown is not written over")
    programs = ["race", "race,H5BENTO_VERIFY=all", "columns,H5BENTO_CHUNK=16M", "columns,H5BENTO_CHUNK=16M,H5BENTO_VERIFY=all"]
    found = mpirun(3, [*command, *programs], bento_env())
    check(found.out.count("right") == 3 * len(programs), found.tail())
    say("who reads what is being written again gets values, and gets on")
    say("columns that were read ahead are read anew when their matrix was written anew")
    for env in (bento_env(H5BENTO_TIMEOUT="10"), bento_env(H5BENTO_TIMEOUT="10", H5BENTO_VERIFY="all")):
        mpirun(2, [built("tests", "crossed_writes"), "crossed.h5", 8], env)
    say("two ranks that write anew what the other one needs do not wait for each other")
    # 322 has read ahead what is then written anew.
    test_random(*((316, 18) if os.environ.get("H5BENTO_TEST_ALL") else (321, 3)))


def test_random(first, seeds):
    command = [python(), "-B", os.path.abspath(__file__), "--random"]
    most = max(1, seeds * 2 // 3)
    # Some of the programs that run on one node run natively, too.
    envs = [
        ("natively", first, max(1, most // 2), native_env(), [""]),
        ("one node, and verified", first, most, bento_env(), ["", "H5BENTO_VERIFY=all,H5BENTO_FILES=2"]),
    ]
    if not no_other_memory():
        envs.append(("several nodes", first + most, max(1, seeds - most), env_of_nodes(3, H5BENTO_VERIFY="all"), [""]))
    for where, begin, count, env, ways in envs:
        found = mpirun(3, [*command, begin, count, *ways], env, timeout=60 + 20 * count * len(ways))
        check(found.out.count("right") == 3, f"{where}: {found.tail()}")
        say(f"{where}, programs {begin} to {begin + count - 1}: what was written last is read")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run_in_turn({"space": space, "race": race, "commits": commits, "columns": columns}, sys.argv[2:])
        sys.exit(0)
    if sys.argv[1:2] == ["--random"]:
        run_programs(int(sys.argv[2]), int(sys.argv[3]), Again, sys.argv[4:])
        sys.exit(0)
    from harness import bento_env, built, check, env_of_nodes, mpirun, native_env, no_other_memory, python, run, run_test, say

    if sys.argv[-1] == "random":
        run_test(test_random, *seeds_of(sys.argv[1:-1], 8))
    else:
        run_test(test, unfinished={"crossed.h5": "what one rank wrote is taken away by the other, so the close refuses it"})
