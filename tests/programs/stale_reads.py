#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What was read or exchanged before must not be taken for what is there now: each program here once got wrong values
without an error.

    stale_reads.py                              the test
    [mpirun ...] stale_reads.py --run NAME...   some of its programs
"""

import os
import sys

COUNT = 65536  # elements of 4 bytes in a chunk: a record of its own


def recreated():
    """All ranks delete a dataset and create it again between two collective reads."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    mine = slice(10 * comm.rank, 10 * comm.rank + 10)
    with h5py.File("recreated.h5", "w", driver="mpio", comm=comm) as file:
        for value in (1, 2, 3):
            if "x" in file:
                del file["x"]
            data = file.create_dataset("x", (10 * comm.size,), "f4", fillvalue=-1)
            data[mine] = np.full(10, value, "f4")
            found = np.empty(10 * comm.size, "f4")
            with data.collective:
                data.read_direct(found)
            assert (found == value).all(), f"round {value}, rank {comm.rank}: {found}"
    print("right")


def overwrite():
    """Sessions of all ranks, one for each line on stdin: both chunks of a filtered dataset, which keep their stored size."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    value = 0
    while comm.bcast(sys.stdin.readline() if comm.rank == 0 else None):
        value += 1
        with h5py.File("filtered.h5", "w" if value == 1 else "r+", driver="mpio", comm=comm) as file:
            if value == 1:
                shape = (comm.size * COUNT,)
                file.create_dataset("x", shape, "i4", chunks=(COUNT,), shuffle=True)
            file["x"][comm.rank * COUNT : (comm.rank + 1) * COUNT] = np.full(COUNT, value, "i4")
        if comm.rank == 0:
            print("closed", flush=True)


def refreshed():
    """A serial reader keeps the file open while sessions of two ranks overwrite its dataset; each goes to the place
    of the last but one."""
    import subprocess

    import h5py

    command = ["mpirun", "-n", "2", sys.executable, "-B", __file__, "--run", "overwrite"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as ranks:

        def session():
            ranks.stdin.write("\n")
            ranks.stdin.flush()
            assert ranks.stdout.readline() == "closed\n", "the ranks have ended"

        session()
        with h5py.File("filtered.h5", "r") as file:
            data = file["x"]
            for value in range(1, 6):
                if value > 1:
                    session()
                    data.id.refresh()
                # A part of a chunk, so that the decoded chunk is kept.
                found = [int(data[at]) for at in (0, 100, COUNT, 2 * COUNT - 1)]
                assert found == [value] * 4, f"session {value}: {found}"
        ranks.stdin.close()
        assert ranks.wait() == 0, "the ranks failed"
    print("right")


def overtaken():
    """A reader copies objects, and reads chunks that must be put together, when the step that it reads is gone."""
    import h5py
    import numpy as np

    def write(value):
        for name in ("plain", "chunked"):
            half = COUNT // 2
            writer[name][:half] = np.full(half, value, "i4")
            writer[name][half:] = np.full(half, value, "i4")
        writer.flush()

    child_reads, parent_writes = os.pipe()
    parent_reads, child_writes = os.pipe()
    if os.fork() == 0:
        writer = h5py.File("live.h5", "w")
        writer.create_dataset("plain", (COUNT,), "i4")
        writer.create_dataset("chunked", (COUNT,), "i4", chunks=(COUNT,), shuffle=True)
        write(1)
        os.write(child_writes, b"1")
        os.read(child_reads, 1)
        for value in range(2, 8):
            write(value)
        os.write(child_writes, b"2")
        os.read(child_reads, 1)
        os._exit(0)
    os.read(parent_reads, 1)
    file, target = h5py.File("live.h5", "r"), h5py.File("copy.h5", "w")
    mask, stored = file["chunked"].id.read_direct_chunk((0,))
    assert set(np.frombuffer(stored, "u1")) == {0, 1}, "the first step"
    assert file["plain"][0] == 1
    os.write(parent_writes, b"1")
    os.read(parent_reads, 1)
    uses = {
        "H5Ocopy": lambda: file.copy("plain", target, "plain"),
        "H5Ocopy of a filtered dataset": lambda: file.copy("chunked", target, "chunked"),
        "H5Dread_chunk": lambda: file["chunked"].id.read_direct_chunk((0,)),
        "H5Dget_storage_size": lambda: file["chunked"].id.get_storage_size(),
    }
    wrong = []
    for name, use in uses.items():
        try:
            wrong.append(f"{name} gave {use()}")
        except Exception as error:
            if "is gone" not in str(error):
                wrong.append(f"{name} failed otherwise: {error}")
    os.write(parent_writes, b"2")
    os.wait()
    assert not wrong, "\n".join(wrong)
    print("right")


def replaced():
    """A reader refreshes the root group. Its writer has put other objects where those lay that the reader had open."""
    import ctypes

    import h5py
    import numpy as np

    library = next(line.split()[-1] for line in open("/proc/self/maps") if "libhdf5.so" in line)
    refresh = ctypes.CDLL(library).H5Grefresh
    refresh.argtypes = [ctypes.c_int64]

    def steps(file):
        file.create_dataset("a", data=np.ones(5, "i4")).attrs["of"] = "a"
        yield
        del file["a"]
        file.create_dataset("b", data=np.full(3, 2.5, "f4")).attrs["of"] = "b"
        yield
        del file["b"]
        file.create_group("c/inside")
        yield
        del file["c"]
        file["d"] = "a string of variable length"
        yield
        del file["d"]
        file["e"] = np.arange(4)
        yield

    def shown(file):
        """What the file holds, by name; opens and closes everything."""
        found = {}
        for name in file["/"]:
            item = file[name]
            value = sorted(item) if isinstance(item, h5py.Group) else (str(item.dtype), str(item[()]))
            found[name] = value, dict(item.attrs)
        return found

    for hold in (False, True):
        name = f"replaced-{hold}.h5"
        child_reads, parent_writes = os.pipe()
        parent_reads, child_writes = os.pipe()
        if os.fork() == 0:
            with h5py.File(name, "w") as file:
                for _ in steps(file):
                    file.flush()
                    os.write(child_writes, b"1")
                    os.read(child_reads, 1)
            os._exit(0)
        truth = h5py.File("truth.h5", "w", driver="core", backing_store=False)
        file, held, refused = None, [], 0
        for _ in steps(truth):
            os.read(parent_reads, 1)
            file = file or h5py.File(name, "r")
            root = file["/"]
            assert refresh(root.id.id) >= 0
            wanted = shown(truth)
            try:
                found = shown(file)
                held = [file[name] for name in file] if hold else []
                assert found == wanted, (found, wanted)
            except Exception as error:
                assert held and "lay at this one's place" in str(error), (error, wanted)
                refused += 1
                held = []  # what was deleted is closed: then it can be read
                found = shown(file)
                assert found == wanted, (found, wanted)
            os.write(parent_writes, b"1")
        os.wait()
        held = root = None
        truth.close()
        file.close()
        print(f"right, {refused} refused")


def copied():
    """What ranks write after an H5Ocopy is later than what rank 0 copies, and all of them see the copy at once."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    rank, ranks, count = comm.rank, comm.size, 1 << 20
    with h5py.File("copied.h5", "w", driver="mpio", comm=comm) as file:
        data = file.create_dataset("x", (ranks * count,), "i4")
        data[rank * count : (rank + 1) * count] = np.full(count, 7 + rank, "i4")
        for turn in range(5):
            file.copy("x", f"y{turn}")
            copy = file[f"y{turn}"]
            at = (rank + 1) % ranks * count  # of another rank
            seen = int(copy[at])
            assert seen == 7 + (rank + 1) % ranks, f"rank {rank} sees {seen}"
            copy[at] = seen + 100
            file.flush()
            wanted = np.repeat(np.arange(7, 7 + ranks), count)
            wanted[::count] += 100
            assert (copy[...] == wanted).all(), f"turn {turn}, rank {rank}: {copy[::count]}"
    print("right")


def test():
    script = os.path.abspath(__file__)

    def command(*names):
        return [python(), "-B", script, "--run", *names]

    for ranks in some(1, (3, 2)):
        found = mpirun(ranks, command("recreated", "copied"), bento_env())
        # mpirun may put the lines of two ranks into one.
        check(found.out.count("right") == 2 * ranks, found.tail())
        say(f"a collective read of a dataset that was created again, {ranks} ranks: everybody's data")
        say("values written after H5Ocopy are later than the copy, which all ranks see")
    found = run(command("refreshed"), bento_env(string="bento chunk=4M"))
    check(found.out.split() == ["right"], found.tail())
    say("a refreshed reader of a filtered dataset: the newest session's values")
    found = run(command("overtaken"), bento_env(string="bento chunk=4M"))
    check(found.out.split() == ["right"], found.tail())
    say("copies and chunks of a step that is gone: an error")
    found = run(command("replaced"), bento_env())
    check([line[:6] for line in found.out.splitlines()] == ["right,"] * 2, found.tail())
    check(found.out.split()[1] == "0" and int(found.out.split()[4]) > 0, found.tail())
    say("objects in the place of deleted ones, after a refresh: right, or an error where one is still open")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        programs = {p.__name__: p for p in (recreated, overwrite, refreshed, overtaken, replaced, copied)}
        for name in sys.argv[2:]:
            programs[name]()
        sys.exit(0)
    from harness import bento_env, check, mpirun, python, run, run_test, say, some

    run_test(test, containers=6, unfinished={"live.h5": "its writer ends without closing it"})
