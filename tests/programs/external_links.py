#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""External links of a container that parallel programs follow: what docs/usage.md says of them. The right values, or an
error that says what to do; never values of another time.

    external_links.py                        the test
    mpirun ... external_links.py --run       its program
"""

import os
import sys

from harness import bento_env, check, mpirun, python, run_test, say


def program():
    import h5py
    import numpy as np
    from h5py import h5o, h5p
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    rank, ranks = comm.rank, comm.size

    def opened(name, mode):
        return h5py.File(name, mode, driver="mpio", comm=comm)

    def outcomes(call):
        """What `call` returns on each rank, or the error."""
        try:
            found = call()
            if isinstance(found, np.ndarray):
                found = found.tolist()
        except (OSError, KeyError, RuntimeError) as error:
            found = f"error: {error}"
        return comm.allgather(found)

    def all_fail(found):
        return all(str(one).startswith("error:") for one in found)

    def expect(right, what, found):
        assert right, (what, found)
        if rank == 0:
            print(what, flush=True)

    reading = h5p.create(h5p.LINK_ACCESS)
    reading.set_elink_acc_flags(h5py.h5f.ACC_RDONLY)

    def for_reading(file, name):
        return h5py.Dataset(h5o.open(file.id, name, reading))

    with opened("target.h5", "w") as file:
        file.create_dataset("d", (ranks,), "i4")[rank] = rank + 7
        file.create_dataset("g/d", data=np.arange(3))
    if rank == 0:
        with h5py.File("ordinary.h5", "w", userblock_size=512) as file:
            file["d"] = np.arange(ranks) + 20
            file.create_dataset("c", data=np.arange(ranks) + 20, chunks=(ranks,))
            file.create_group("g")
        with h5py.File("latest.h5", "w", userblock_size=512, libver="latest") as file:
            file["d"] = np.arange(ranks) + 20
    with opened("links.h5", "w") as file:
        for name, path in (("d", "/d"), ("g", "/g")):
            file[name] = h5py.ExternalLink("target.h5", path)
        file["o"] = h5py.ExternalLink("ordinary.h5", "/d")
        file["c"] = h5py.ExternalLink("ordinary.h5", "/c")
        file["l"] = h5py.ExternalLink("latest.h5", "/d")
        file["og"] = h5py.ExternalLink("ordinary.h5", "/g")
    there = [rank + 7 for rank in range(ranks)]

    with opened("links.h5", "r") as file:
        found = outcomes(lambda: [file["d"][...].tolist(), file["g/d"][...].tolist(), file["o"][...].tolist()])
        wanted = [there, [0, 1, 2], [rank + 20 for rank in range(ranks)]]
        expect(found == [wanted] * ranks, "open for reading: links lead to containers and ordinary files", found)
        found = outcomes(lambda: file["d"][rank] if rank == ranks - 1 else None)
        expect(found == [None] * (ranks - 1) + [there[-1]], "one rank alone follows a link", found)

    with opened("links.h5", "r+") as file:
        if ranks == 1:
            file["d"][0] = 70
            file["d"][0] = there[0]
            expect(True, "one rank writes through a link", None)
            file["g"].create_dataset("new", data=[1])
        else:
            for name in ("d", "g", "g/d"):
                found = outcomes(lambda: file[name][...])
                expect(all_fail(found), "open for writing: a link fails", found)
        found = outcomes(lambda: for_reading(file, b"d")[...])
        expect(found == [there] * ranks, "open for writing: a link is followed for reading", found)
        found = outcomes(lambda: for_reading(file, b"o")[...])
        expect(found == [wanted[2]] * ranks, "an ordinary file is read through a link", found)

        def write():
            for_reading(file, b"d")[rank] = 0

        if ranks > 1:
            expect(all_fail(outcomes(write)), "what is followed for reading is not written", None)

    # Who only reads ordinary files is told of nothing, though the library writes their superblocks.
    with opened("links.h5", "r+") as file:
        found = outcomes(lambda: [file[name][...].tolist() for name in "ocl"])
        expect(found == [[wanted[2]] * 3] * ranks, "open for writing: ordinary files are read", found)
        found = outcomes(file.flush)
        expect(found == [None] * ranks, "a flush after reading ordinary files", found)

    # An ordinary file: one rank may change it, several would change it each for itself.
    with opened("links.h5", "r+") as file:

        def change():
            file["c"][rank] = rank + 30  # a chunk, which waits in memory
            file["o"][rank] = rank + 30

        found = outcomes(change)
        expect(found == [None] if ranks == 1 else all_fail(found), "an ordinary file is written by one rank only", found)
        group = file["og"]
        group.create_group("new")
        data = file["o"]
        for turn in range(2):
            data.attrs["a"] = rank + turn
            data.flush()
            found = outcomes(file.flush)
            expect(found == [None] if ranks == 1 else all_fail(found), "a flush says what was not written", found)
        del group, data
        found = outcomes(file.flush)
        expect(found == [None] if ranks == 1 else all_fail(found), "what is written last is told, too", found)
    # Ranks with other working directories, where other files have the target's name.
    if ranks > 1:
        layout = h5py.VirtualLayout((ranks,), "i4")
        layout[...] = h5py.VirtualSource("target.h5", "d", (ranks,))
        with opened("virtual.h5", "w") as file:
            file.create_virtual_dataset("v", layout, fillvalue=-1)
        top = os.getcwd()
        if rank > 0:
            os.makedirs(f"rank {rank}")
            os.chdir(f"rank {rank}")
            with h5py.File("target.h5", "w", userblock_size=512) as file:
                file["d"] = np.arange(ranks) - 5
        comm.barrier()
        with opened("links.h5", "r") as file:
            found = outcomes(lambda: file["d"][...])
            expect(found == [there] * ranks, "other working directories: links lead to rank 0's", found)
        with opened("virtual.h5", "r") as file:
            found = outcomes(lambda: file["v"][...])
            expect(found == [there] * ranks, "other working directories: virtual datasets have rank 0's sources", found)
        os.chdir(top)

    comm.barrier()
    if rank == 0:
        with h5py.File("ordinary.h5", "r") as file:
            found = list(file["g"]), dict(file["d"].attrs), file["d"][...].tolist(), file["c"][...].tolist()
        wanted = (["new"], {"a": 1}, [30], [30]) if ranks == 1 else ([], {}, [20, 21], [20, 21])
        assert found == wanted, found
        print("an ordinary file has what one rank wrote there, or is unchanged", flush=True)

    # The target is open in the same program. Nobody may see what was there before a write.
    for mode in ("r", "r+"):
        with opened("target.h5", "r+") as target, opened("links.h5", mode) as file:
            target["d"][rank] = rank + 100
            own = rank + 100
            found = outcomes(lambda: [int(file["d"][rank]) == own])
            again = outcomes(lambda: [int(for_reading(file, b"d")[rank]) == own])
            right = all(one == [True] or all_fail([one]) for one in found + again)
            expect(right, f"{mode}: the target is open for writing: what was just written, or an error", found + again)
            target["d"][rank] = rank + 7

    with opened("target.h5", "r") as file:
        expect(file["d"][...].tolist() == there, "the target is as it was", file["d"][...])


def test():
    command = [python(), "-B", os.path.abspath(__file__), "--run"]
    for ranks, lines in ((1, 15), (2, 20)):
        found = mpirun(ranks, command, bento_env())
        check(len(found.out.splitlines()) == lines, found.tail())
        refused = found.err.count("can only be read here; a parallel program that wants to write it must open it by its own name")
        check((refused > 0) == (ranks > 1), found.tail())
        told = found.err.count("an ordinary file cannot be changed through a link by a program of 2 ranks")
        check((told > 0) == (ranks > 1), found.tail())
        say(f"{ranks} ranks: links lead to the right values, or fail and say why")


if __name__ == "__main__":
    if sys.argv[1:] == ["--run"]:
        program()
        sys.exit(0)
    run_test(test)
