#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Random parallel programs in which a rank writes, all pass a barrier, and other ranks read independently what it
wrote; nobody flushes. Each read must give what was written last. The same programs run natively, too.

    visible_writes.py [--first N] [SEEDS]                 the test
    visible_writes.py [--first N] [SEEDS] nodes           the same with ranks on several nodes, and a rank that makes no call
    visible_writes.py commits                             rounds of writes and reads with flushes and collective reads between, on several nodes
    visible_writes.py atomic | killed | clocks            MPI's atomic mode; a rank that is killed; nodes with other clocks
    visible_writes.py children                            forked children
    mpirun ... visible_writes.py --run FIRST COUNT MODE [VARIABLES...]   its program; MODE is bento or native
    mpirun ... visible_writes.py --run-some NAME[,VARIABLE=VALUE]...     some of the others (launched.run_in_turn)
"""

import os
import sys
import time

from launched import run_in_turn
from seeded_programs import run_programs, seeds_of

STEPS = 40
ROWS = 120  # 140 KB of the widest: more than the smallest buffer holds


def box_of(rng, shape, whole):
    if whole:
        return tuple(slice(0, extent) for extent in shape)
    box = []
    for extent in shape:
        start = rng.randrange(extent)
        box.append(slice(start, min(extent, start + rng.randint(1, max(1, extent // 4)))))
    return tuple(box)


class Program:
    """What all ranks do; every decision that they share comes from one generator."""

    def __init__(self, file, comm, seed, filters):
        import random

        self.file, self.comm, self.seed, self.filters = file, comm, seed, filters
        self.slow = "BENTO_SLOW_RANK" in os.environ  # rank 1 computes for long between its calls
        self.rng, self.own = random.Random(seed), random.Random(f"{seed} {comm.rank}")
        self.wanted = {}
        self.names = 0
        self.value = 0
        self.log = []

    def create(self, name=None):
        import numpy as np

        rng = self.rng
        self.names += 1
        name = name or f"d{self.names}"
        rows = rng.choice([1, 3, 40, ROWS])
        shape = rng.choice([(rows,), (rows, 5), (rows, 130), (rows, 300)])
        options = {"fillvalue": -1}
        if rng.random() < 0.5:
            options["chunks"] = tuple(rng.randint(1, extent) for extent in shape)
            options["maxshape"] = (None,) + shape[1:]
            if rng.random() < 0.5 and self.filters:
                options["chunks"] = (rows,) + shape[1:]
                options["compression"], options["compression_opts"] = "gzip", 1
        self.file.create_dataset(name, shape, "i4", **options)
        self.wanted[name] = np.full(shape, -1, "i4")
        self.log.append(("create", name, shape, options))

    def write(self):
        import numpy as np

        rng = self.rng
        turn = rng.randrange(self.comm.size)
        for _ in range(rng.randint(1, 4)):
            name = rng.choice(sorted(self.wanted))
            wanted = self.wanted[name]
            where = box_of(rng, wanted.shape, rng.random() < 0.15)
            if rng.random() < 0.25:  # with gaps
                where = tuple(slice(one.start, one.stop, rng.choice((1, 2, 3))) for one in where)
            if rng.random() < 0.2:  # row after row: small pieces that become one record
                where = (slice(where[0].start, where[0].stop, where[0].step),) + tuple(slice(0, n) for n in wanted.shape[1:])
            self.value += 1
            wanted[where] = self.value
            self.log.append(("write", turn, name, [(one.start, one.stop, one.step) for one in where], self.value))
            if turn != self.comm.rank:
                continue
            data = self.file[name]
            if rng_of(self.value) < 0.3:
                for row in range(where[0].start, where[0].stop, where[0].step or 1):
                    data[(slice(row, row + 1),) + where[1:]] = self.value
            else:
                data[where] = np.full(wanted[where].shape, self.value, "i4")

    def resize(self):
        import numpy as np

        name = self.rng.choice(sorted(self.wanted))
        data, wanted = self.file[name], self.wanted[name]
        rows = self.rng.choice([1, wanted.shape[0], 2 * wanted.shape[0], 77])
        if data.chunks is None:
            return
        self.log.append(("resize", name, rows))
        data.resize((rows,) + wanted.shape[1:])
        new = np.full((rows,) + wanted.shape[1:], -1, "i4")
        kept = min(rows, wanted.shape[0])
        new[:kept] = wanted[:kept]
        self.wanted[name] = new

    def delete(self):
        name = self.rng.choice(sorted(self.wanted))
        self.log.append(("delete", name))
        del self.file[name]
        del self.wanted[name]
        self.create(name if self.rng.random() < 0.7 else None)

    def read(self, where="independent"):
        name = self.own.choice(sorted(self.wanted))
        wanted = self.wanted[name]
        box = box_of(self.own, wanted.shape, self.own.random() < 0.3)
        found = self.file[name][box]
        assert (found == wanted[box]).all(), (
            f"rank {self.comm.rank}, {where}, {name} {box}: {self.log}\n{found}\n{wanted[box]}"
        )

    def run(self):
        for _ in range(2):
            self.create()
        for _ in range(STEPS):
            kind = self.rng.random()
            if kind < 0.06:
                self.create()
            elif kind < 0.1:
                self.delete()
            elif kind < 0.16:
                self.resize()
            elif kind < 0.18 and self.filters:
                self.log.append(("flush",))
                self.file.flush()
            else:
                self.write()
            if self.slow and self.comm.rank == 1:
                time.sleep(0.03)
            self.comm.barrier()
            for _ in range(2):
                self.read()
            self.comm.barrier()

    def check_again(self, file):
        for each, wanted in self.wanted.items():
            assert (file[each][...] == wanted).all(), f"seed {self.seed}: {each} after a new open"


def rng_of(value):
    import random

    return random.Random(value).random()


def without_fill_value(file, name, shape, chunks):
    """A compressed dataset of which natively nothing can be read before it has storage; h5py has no call for that."""
    import ctypes

    import h5py

    with open("/proc/self/maps") as maps:
        library = next(line.split()[-1] for line in maps if "/libhdf5.so" in line)
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_chunk(chunks)
    creation.set_deflate(1)
    set_fill_value = ctypes.CDLL(library).H5Pset_fill_value
    set_fill_value.argtypes = (ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
    assert set_fill_value(creation.id, h5py.h5t.NATIVE_INT32.id, None) >= 0
    space = h5py.h5s.create_simple(shape)
    return h5py.Dataset(h5py.h5d.create(file.id, name.encode(), h5py.h5t.NATIVE_INT32, space, creation))


def late_for_a_meeting(file, comm):
    """Ranks write together; who is first asks at once what was written, and the others come later."""
    import time

    import numpy as np

    for name in ("asked", "read"):
        data = without_fill_value(file, name, (100 * comm.size,), (100,))
        comm.barrier()
        if comm.rank != 0:
            time.sleep(0.2)
        with data.collective:
            data[100 * comm.rank : 100 * (comm.rank + 1)] = np.full(100, comm.rank)
        if name == "asked":
            assert data.id.get_num_chunks() == comm.size, data.id.get_num_chunks()
        assert (data[...][100 * comm.rank : 100 * (comm.rank + 1)] == comm.rank).all()


def computing():
    """Rank 1 writes, says so, and then makes no call of MPI for long: rank 0 reads at once what it wrote."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    with h5py.File("computing.h5", "w", driver="mpio", comm=comm) as file:
        large, small = (file.create_dataset(name, (rows, 300), "i4", fillvalue=-1) for name, rows in (("large", 4000), ("small", 40)))
        if comm.rank == 1:
            large[:3000] = np.full((3000, 300), 7)
            small[3, :20] = 8
            comm.send("written", 0)
            time.sleep(3)
        if comm.rank == 0:
            comm.recv(source=1)
            begin = time.monotonic()
            assert (large[:3000] == 7).all() and (large[3000:] == -1).all()
            assert (small[3, :20] == 8).all() and (small[3, 20:] == -1).all()
            assert time.monotonic() - begin < 2, f"{time.monotonic() - begin} s"
            time.sleep(begin + 3 - time.monotonic())  # for a rank that waits is busy
        comm.barrier()
    print("right")


def refused(what):
    """The open, or MPI's atomic mode, with the reason."""
    import h5py
    from mpi4py import MPI

    try:
        with h5py.File("refused.h5", "w", driver="mpio", comm=MPI.COMM_WORLD) as file:
            if what == "atomic":
                file.atomic = True
    except (OSError, RuntimeError) as error:
        print(f"{what} refused:", str(error).replace("\n", " "), flush=True)


def commits(nodes, ranks):
    """Each rank writes the same pieces in each round, which others read before and after what ends the round."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    comm = world.Split(0 if world.rank < ranks else 1)
    if world.rank >= ranks:
        return
    os.environ["H5BENTO_TEST_NODES"] = str(nodes)
    with h5py.File(f"commits-{nodes}-{ranks}.h5", "w", driver="mpio", comm=comm) as file:
        small = file.create_dataset("small", (comm.size, 50), "i4", fillvalue=-1)
        large = file.create_dataset("large", (comm.size, 60000), "i4", fillvalue=-1)
        text = file.create_dataset("text", (comm.size,), h5py.string_dtype())

        def compare(value, when):
            for rank in range(comm.size):
                for found in small[rank], large[rank]:
                    assert (found == value).all(), f"rank {comm.rank}, {when}: of rank {rank} {np.unique(found)}, not {value}"
                assert text[rank].decode() == (str(value) if value >= 0 else ""), f"rank {comm.rank}, {when}: {text[rank]}"

        for turn in range(7):  # each end comes twice, and what follows it
            compare(turn - 1, f"round {turn} begins")
            comm.barrier()
            small[comm.rank] = np.full(50, turn)
            large[comm.rank] = np.full(60000, turn)
            text[comm.rank] = str(turn)
            comm.barrier()
            compare(turn, f"round {turn}, written")
            if turn % 3 == 2:
                with small.collective:
                    assert (small[...] == turn).all()
            elif turn % 3 == 1:
                comm.barrier()
                file.flush()
            compare(turn, f"round {turn}, ended")
            comm.barrier()
    print("right")


def atomic():
    """All ranks write and read all of a dataset, in pieces: each read must give one write as a whole."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    with h5py.File("atomic.h5", "w", driver="mpio", comm=comm) as file:
        file.atomic = True
        assert file.atomic
        late_for_a_meeting(file, comm)
        for shape in ((40, 6), (400, 300)):
            data = file.create_dataset(f"{shape[0]}", shape, "i4")
            comm.barrier()
            for turn in range(4):
                data[::2, ::2 if turn % 2 else 1] = np.full((shape[0] // 2, shape[1] // (2 if turn % 2 else 1)), -1)
                data[...] = np.full(shape, 1000 * comm.rank + turn)
                found = data[...]
                odd = set(np.unique(found[1::2]).tolist())
                assert len(odd) == 1, f"rank {comm.rank}: {odd}"
            comm.barrier()
            data[...] = np.full(shape, comm.rank)
            comm.barrier()
            found = comm.allgather(data[...].tobytes())
            assert len(set(found)) == 1, "the ranks see different values"
        # A call that comes back to the program, which reads.
        data = file.create_dataset("chunks", (64,), "i4", chunks=(16,), fillvalue=-1)
        comm.barrier()
        seen = []

        def look(_):
            seen.append(int(data[16 * len(seen)]))

        data.id.chunk_iter(look)
        assert seen == [-1] * 4, seen
    print("right")


def reader_of_killed():
    """Rank 1 dies while rank 0 reads what it has written."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    file = h5py.File("killed.h5", "w", driver="mpio", comm=comm)
    data = file.create_dataset("x", (400, 300), "i4", fillvalue=-1)
    if comm.rank == 1:
        data[:200] = np.full((200, 300), 7)
        data[300, :20] = 8
    comm.barrier()
    if comm.rank == 1:
        comm.send(os.getpid(), 0)
        while True:
            data[300, :20] = 8  # is killed in the middle of this
    pid = comm.recv(source=1)
    for turn in range(2000):
        if turn == 1000:
            os.kill(pid, 9)
        if turn == 1000 and sys.argv[2:] == ["nodes"]:
            read_of_dead(data, pid)
            break
        assert (data[:200] == 7).all() and (data[300, :20] == 8).all() and (data[300, 20:] == -1).all()
    begin = time.monotonic()
    try:
        file.flush()
        print("the flush worked", flush=True)
    except (OSError, RuntimeError) as error:
        print(f"after {time.monotonic() - begin:.1f} s:", str(error).replace("\n", " "), flush=True)
    sys.stdout.flush()
    os._exit(0)


def read_of_dead(data, pid):
    """Rank 1 was on another node: what it had written and not committed is gone with its memory."""
    try:
        while open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
            time.sleep(0.001)
    except OSError:
        pass
    begin = time.monotonic()
    try:
        print("the read: worked", data[300, :20], flush=True)
    except (OSError, RuntimeError) as error:
        print(f"the read: error after {time.monotonic() - begin:.1f} s: {error}".replace("\n", " "), flush=True)


def children():
    """A forked child of rank 1 does not take older values for those that rank 0 has written and not committed."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    with h5py.File("children.h5", "w", driver="mpio", comm=comm) as file:
        data = file.create_dataset("data", (300,), "i4", fillvalue=-1)
        kept = file.create_dataset("kept", (300,), "i4", fillvalue=-1)
        if comm.rank == 0:
            kept[...] = np.full(300, 3)
        file.flush()
        if comm.rank == 0:
            data[...] = np.full(300, 5)
        comm.barrier()
        assert data[0] == 5
        if comm.rank == 1:
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    status = 2 if (kept[...] == 3).all() else 3
                    print("the child reads", data[...], flush=True)
                except Exception as error:
                    if status == 2 and "forked child" in str(error):
                        status = 0
                finally:
                    os._exit(status)
            assert os.waitpid(child, 0)[1] == 0, "the child of rank 1"
            data[:100] = np.full(100, 6)
        comm.barrier()
        assert (data[:100] == 6).all() and (data[100:] == 5).all()
    print("right")


def other_clocks():
    """Ranks of nodes whose clocks differ write the same elements in turns, with barriers between."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    with h5py.File("clocks.h5", "w", driver="mpio", comm=comm) as file:
        data = [file.create_dataset(f"{n}", (n,), "i4") for n in (10, 40000)]
        for step in range(3):
            for turn in range(2 * comm.size):
                for each in data:
                    if comm.rank == (turn * 2 + step) % comm.size:
                        each[...] = np.full(each.shape, 100 * step + turn)
                time.sleep(0.05)
                comm.barrier()
            file.flush()
            for each in data:
                found = set(each[...].tolist())
                assert found == {100 * step + 2 * comm.size - 1}, f"rank {comm.rank}, step {step}: {found}"
            comm.barrier()
    print("right")


def after_copies():
    """Rank 0, whose clock is behind, writes over what rank 1 has written, after a copy in which it has written, too."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    with h5py.File("copies.h5", "w", driver="mpio", comm=comm) as file:
        source = file.create_dataset("source", (100,), "i4")
        data = file.create_dataset("data", (40,), "i4")
        if comm.rank == 0:
            source[...] = 1
        comm.barrier()
        time.sleep(0.5)

        def turn_of(turn):
            file.copy("source", f"copy {turn}")
            for rank in (1, 0):
                comm.barrier()
                if comm.rank == rank:
                    data[...] = np.full(40, 10 * turn + rank)
            comm.barrier()
            found = set(data[...].tolist())
            assert found == {10 * turn}, f"rank {comm.rank}, turn {turn}: {found}"
            comm.barrier()

        for turn in range(4):
            turn_of(turn)
        # The same in the callback of an iteration, all of which is one call of the program.
        turns = iter(range(4, 12))
        group = file.create_group("iterated")
        group.create_group("one")

        def callback(name):
            for turn in turns:
                turn_of(turn)
            return name

        assert group.id.links.iterate(callback) is not None
        file.flush()
        assert set(data[...].tolist()) == {110}
    print("right")


def close_writes():
    """Ranks of two nodes write the same elements, no further apart than a clock has drifted; their own; and with a flush between."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    with h5py.File("close.h5", "w", driver="mpio", comm=comm) as file:
        names = ("near", "own", "flushed")
        data = {name: file.create_dataset(name, (40, 3), "i4") for name in names}
        file.flush()
        time.sleep(1)
        for name in names:
            for turn in range(2):
                own = slice(20 * comm.rank, 20 * comm.rank + 20) if name == "own" else slice(10, 30)
                if turn == comm.rank:
                    data[name][own] = np.full((20, 3), turn)
                if name == "flushed" and turn == 0:
                    time.sleep(0.5)  # so that the clock drifts further than the writes to "near" took
                    file.flush()
                comm.barrier()
        file.flush()
        print("right")


def stepping_clock():
    """The clock of rank 1's node is set back by 100 s between the open and the writes of both."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    with h5py.File("step.h5", "w", driver="mpio", comm=comm) as file:
        data = [file.create_dataset(name, (40, 3), "i4") for name in ("at the step", "behind it")]
        time.sleep(2)
        for each in data:
            for turn in range(2):
                if turn == comm.rank:
                    each[...] = np.full((40, 3), turn)
                time.sleep(0.3)
                comm.barrier()
            file.flush()
        assert (data[1][...] == 1).all()
        print("right")


def run_on_nodes(nodes, clocks, program):
    found = run(command_on_nodes(clocks, program), bento_env(H5BENTO_TEST_NODES=str(nodes), H5BENTO_VISIBLE="commit"))
    check(found.out.count("right") == len(clocks), found.tail())
    return found


def test_clocks():
    run_on_nodes(4, ("0", "5", "-200000:500", "86400:-500", "0"), "--run-clocks")
    say("4 nodes, whose clocks differ by seconds and days: the later write of each element")
    # Rank 1's clock gains 0.4 s until the first write, which is more than between the writes to "near".
    found = run_on_nodes(2, ("0", "0:400000"), "--run-close")
    told = [line for line in found.err.splitlines() if "wrote the same elements" in line]
    check([line for line in told if "dataset '/near'" in line and "ranks 0 and 1 " in line.replace("1 and 0", "0 and 1")], found.tail())
    check(not [line for line in told if "/own" in line or "/flushed" in line], found.tail())
    say(f"2 nodes, a clock that is fast: {told[0]}")
    found = run_on_nodes(2, ("0", "0:0:-100:1.5"), "--run-step")
    told = [line for line in found.err.splitlines() if "wrote the same elements" in line]
    check(len(told) == 1 and "dataset '/at the step'" in told[0], found.tail())
    say(f"2 nodes, a clock that is set back: {told[0]}")


def test_children():
    found = mpirun(2, [python(), "-B", os.path.abspath(__file__), "--run-children"], bento_env())
    check(found.out.count("right") == 2, found.tail())
    say("a forked child reads what another rank has written, or is told that it cannot")


def test_atomic():
    script = os.path.abspath(__file__)
    for ranks in some(1, (3, 2)):
        programs = ["refused atomic,H5BENTO_VISIBLE=commit", "atomic"]
        found = mpirun(ranks, [python(), "-B", script, "--run-some", *programs], bento_env(H5BENTO_TIMEOUT="20"))
        check(found.out.count("right") == ranks, found.tail())
        check(found.out.count("atomic refused: ") == ranks and "MPI atomic mode is not available" in found.out, found.tail())
        say(f"{ranks} ranks: writes are seen whole")


def test_killed():
    command = [python(), "-B", os.path.abspath(__file__), "--run-killed"]
    mpi = ["mpirun", "-n", 2, "--mca", "orte_abort_on_non_zero_status", "0", "--enable-recovery"]
    found = run([*mpi, *command], bento_env(H5BENTO_TIMEOUT="3"), ok=None)
    check("rank 1 did not answer within 3 s" in found.out, found.tail())
    say("rank 1 was killed: its writes were read, and the flush said so")
    found = run([*mpi, *command, "nodes"], env_of_nodes(2, H5BENTO_TIMEOUT="3"), ok=None)
    check("rank 1 has died: its memory is gone" in found.out, found.tail())
    check("rank 1 did not answer within 3 s" in found.out, found.tail())
    say("rank 1 of another node was killed: the read said so")


def test_commits():
    if reason := no_other_memory():
        raise Skip(reason)
    cases = ((2, 2), (2, 4), (3, 3))
    ranks = [str(number) for case in cases for number in case]
    found = mpirun(4, [python(), "-B", os.path.abspath(__file__), "--run-commits", *ranks], env_of_nodes(2))
    check(found.out.count("right") == sum(number for _, number in cases), found.tail())
    for nodes, ranks in cases:
        say(f"{nodes} nodes, {ranks} ranks: what was written around commits and exchanges was read")


def test_nodes_refused():
    """Where MPI does not read memory of a rank that makes no call, and where it was not asked to."""
    script = os.path.abspath(__file__)
    for way, reason in (
        # This component refuses windows to programs of several threads.
        ({"OMPI_MCA_osc": "pt2pt", "MPI4PY_RC_THREAD_LEVEL": "single"}, "while that makes no call of it"),
        ({"OMPI_MCA_btl": "tcp,self"}, "this MPI gives no window"),
    ):
        programs = ["refused open,H5BENTO_VISIBLE=write", "close"]
        found = mpirun(2, [python(), "-B", script, "--run-some", *programs], env_of_nodes(2, **way))
        refused = [line for line in found.out.splitlines() if "open refused: " in line]
        check(refused and all("visible=write is not available here" in line and reason in line for line in refused), found.tail())
        check(found.out.count("right") == 2, found.tail())
        check(found.err.count("as with visible=commit: ") == 1 and found.err.count(reason) == 1, found.tail())
    say("2 nodes: refused, or done without, with the reason, where MPI needs the help of the rank")


def test_nodes():
    if reason := no_other_memory():
        raise Skip(reason)
    first, seeds = seeds_of([one for one in sys.argv[1:] if one != "nodes"], 12)
    script, share = os.path.abspath(__file__), max(1, seeds // 6)
    programs = ("computing", "copies", "refused atomic")
    found = run(command_on_nodes(("0", "0:400000"), "--run-some", *programs), env_of_nodes(2))
    check(found.out.count("right") == 4 and "wrote the same elements" not in found.err, found.tail())
    check(found.out.count("MPI atomic mode is not available: the ranks are on several nodes") == 2, found.tail())
    say("2 nodes: what a rank wrote is read while it computes; the later write of each element after copies; no atomic mode")
    clocks = ("0", "0:400000", "0:-300000", "5:100000")
    found = run(command_on_nodes(clocks, "--run-some", "clocks"), env_of_nodes(4))
    check(found.out.count("right") == len(clocks) and "wrote the same elements" not in found.err, found.tail())
    say("4 nodes, whose clocks are worth nothing: the later write of each element")
    begin = first
    # Nodes of one rank and of several, in one program.
    for nodes, ranks in some(2, ((2, 3), (3, 5), (2, 2), (2, 5), (3, 2), (3, 3))):
        ways = ["", "H5BENTO_FILES=2,H5BENTO_BUFFER=64K", "BENTO_SLOW_RANK=1"]
        command = [python(), "-B", script, "--run", begin, share, "bento", *ways]
        found = mpirun(ranks, command, env_of_nodes(nodes), timeout=60 + 60 * share)
        check(found.out.count("right") == ranks, found.tail())
        say(f"{nodes} nodes, {ranks} ranks, programs {begin} to {begin + share - 1}: what others wrote was read")
        begin += share
    test_nodes_refused()


def test():
    first, seeds = seeds_of(sys.argv[1:], 12)
    script = os.path.abspath(__file__)
    for at, ranks in enumerate(some(2, (2, 5, 3))):
        share = seeds // 3
        begin = first + at * share
        command = [python(), "-B", script, "--run", begin, share]
        if at == 0:
            found = mpirun(ranks, command + ["native"], native_env(), timeout=60 + 10 * share)
            check(found.out.count("right") == ranks, found.tail())
        command += ["bento", "", "H5BENTO_FILES=2,H5BENTO_BUFFER=64K"]
        found = mpirun(ranks, command, bento_env(H5BENTO_VISIBLE="write"), timeout=60 + 20 * share)
        check(found.out.count("right") == ranks, found.tail())
        say(f"{ranks} ranks, {share} programs: what others wrote was read")


if __name__ == "__main__":
    programs = {"atomic": atomic, "clocks": other_clocks, "close": close_writes, "step": stepping_clock, "children": children}
    programs |= {"computing": computing, "copies": after_copies, "killed": reader_of_killed}
    programs |= {f"refused {what}": lambda what=what: refused(what) for what in ("open", "atomic")}
    if sys.argv[1:2] == ["--run-some"]:
        run_in_turn(programs, sys.argv[2:])
        sys.exit(0)
    if sys.argv[1:2] == ["--run-commits"]:
        numbers = [int(number) for number in sys.argv[2:]]
        for nodes, ranks in zip(numbers[::2], numbers[1::2]):
            commits(nodes, ranks)
        sys.exit(0)
    if sys.argv[1:2] and sys.argv[1].removeprefix("--run-") in programs and sys.argv[1].startswith("--run-"):
        programs[sys.argv[1].removeprefix("--run-")]()
        sys.exit(0)
    if sys.argv[1:2] == ["--run"]:
        run_programs(int(sys.argv[2]), int(sys.argv[3]), lambda *work: Program(*work, sys.argv[4] == "bento"), sys.argv[5:])
        sys.exit(0)
    from harness import Skip, bento_env, check, command_on_nodes, env_of_nodes, mpirun, native_env, no_other_memory, python, run, run_test, say, some

    if sys.argv[1:2] == ["killed"]:
        run_test(test_killed, containers=0, unfinished={"killed.h5": "one of its writers was killed"})
    else:
        tests = {"atomic": test_atomic, "children": test_children, "clocks": test_clocks, "commits": test_commits, "nodes": test_nodes}
        run_test(tests.get(" ".join(sys.argv[-1:]), test))
