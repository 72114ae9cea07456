#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Writes of some members of a compound type, by several ranks: right values, or an error on every rank. Never members of
another rank that are lost without a word.

    partial_members.py              the test
    mpirun ... partial_members.py --run NAME[,VARIABLE=VALUE]...    some of its programs (launched.run_in_turn)
        refused    with visible=commit
        seen       where ranks see each other's writes
        race       each rank writes its member of all elements, all at the same time
"""

import os
import sys

from launched import run_in_turn

TURNS = 60 if os.environ.get("H5BENTO_TEST_ALL") else 36
COUNT = 240  # so that a chunk of all is filtered


def program():
    import h5py
    import numpy as np
    from h5py import h5p, h5s
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    rank, ranks = comm.rank, comm.size
    pair = np.dtype([("a", "i4"), ("b", "f8")])
    transfer = h5p.create(h5p.DATASET_XFER)
    transfer.set_dxpl_mpio(h5py.h5fd.MPIO_COLLECTIVE)
    names = iter(f"{number}.h5" for number in range(100))

    def write(data, where, kind, value, collective=False):
        """Elements `where`, all of one value; none at all if `where` is None."""
        space = data.id.get_space()
        space.select_none()
        if where is not None:
            start, stop, step = where.indices(COUNT)
            count = len(range(start, stop, step))
            space.select_hyperslab((start,), (count,), (step,))
        memory = h5s.create_simple((max(1, space.get_select_npoints()),))
        if where is None:
            memory.select_none()
        array = np.array([value] * space.get_select_npoints() or [value], kind)
        data.id.write(memory, space, array, dxpl=transfer if collective else None)

    def turn(who, data, where, kind, value, collective=False):
        """Rank `who` writes, and all wait for it."""
        if rank == who or collective:
            write(data, where if rank == who else None, kind, value, collective)
        comm.barrier()

    def read(data):
        found = np.zeros(COUNT, data.dtype)
        data.id.read(h5s.ALL, h5s.ALL, found, dxpl=transfer)
        return found

    def refused(call, dataset="'/d'"):
        """The error's text, which must be that of all ranks, and name the dataset."""
        try:
            call()
            text = ""
        except Exception as error:
            text = str(error)
        texts = comm.allgather(text)
        assert texts[0] and len(set(texts)) == 1, texts
        assert all(word in text for word in (f"dataset {dataset}", "rank 0", "rank 1", "H5Fflush")), text
        return text

    everything = slice(0, COUNT)
    a, b = [("a", "i4")], [("b", "f8")]

    def session(body, wanted, kind=pair, **more):
        """`body` between create and close, and what is there after a new open."""
        name = next(names)
        with h5py.File(name, "w", driver="mpio", comm=comm) as file:
            body(file, file.create_dataset("d", (COUNT,), kind, **more))
        with h5py.File(name, "r", driver="mpio", comm=comm) as file:
            found = file["d"][:]
            wanted = np.array([wanted(at) for at in range(COUNT)], kind)
            assert (found == wanted).all(), f"rank {rank}: {found}"

    # Refused by a flush, and by those after it, until the elements are written whole. What was committed stays.
    for more in ({}, {"chunks": (COUNT,), "compression": 1}):

        def until_whole(file, data):
            turn(0, data, everything, pair, (1, 1))
            file.flush()
            turn(0, data, everything, a, (7,))
            turn(1, data, slice(3, 5), b, (2.5,))
            text = refused(file.flush)
            assert text == refused(file.flush)
            turn(0, data, slice(3, 5), pair, (9, 9))
            file.flush()

        session(until_whole, lambda at: (9, 9) if at in (3, 4) else (7, 1), **more)
    say_on_0(rank, "a flush is refused until the elements are written whole")

    # Refused by the close, in independent and in collective writes.
    for collective in (False, True):
        name = next(names)
        file = h5py.File(name, "w", driver="mpio", comm=comm)
        data = file.create_dataset("d", (COUNT,), pair)
        turn(0, data, everything, pair, (1, 1))
        file.flush()
        turn(0, data, everything, a, (7,), collective)
        turn(1, data, everything, b, (2.5,), collective)
        refused(file.close)
        with h5py.File(name, "r", driver="mpio", comm=comm) as file:
            found = file["d"][:]
            assert (found == np.array((1, 1), pair)).all(), found
    say_on_0(rank, "a close is refused, and the commit before is there")

    # A dataset that is made in this session, behind others and in groups; and one without a name.
    name = next(names)
    file = h5py.File(name, "w", driver="mpio", comm=comm)
    file.create_dataset("first", (COUNT,), "i4")
    file.create_dataset("g/first", (COUNT,), pair)
    for path in ("g/of it/d", None):
        data = file.create_dataset(path, (COUNT,), pair)
        turn(0, data, everything, a, (7,))
        turn(1, data, everything, b, (2.5,))
        refused(file.flush, f"'/{path}'" if path else "3, which has no name")
        turn(0, data, everything, pair, (9, 9))
        file.flush()
    file.close()
    say_on_0(rank, "the dataset is named by its path")

    # Members of the same elements, with something in between that lets all ranks see.
    for between in (lambda file, data: file.flush(), lambda file, data: read(data)):
        for collective in (False, True):

            def body(file, data):
                turn(0, data, everything, a, (7,), collective)
                between(file, data)
                turn(1, data, everything, b, (2.5,), collective)

            session(body, lambda at: (7, 2.5))
    say_on_0(rank, "a flush or a collective read in between: right")

    # Elements of their own, member after member: blocks, and every other element.
    for collective in (False, True):
        size = COUNT // ranks
        for mine in (slice(rank * size, rank * size + size), slice(rank, COUNT, ranks)):

            def body(file, data):
                for member, value in ((a, rank), (b, rank + 0.5), (a, rank + 1)):
                    write(data, mine, member, (value,), collective)

            owner = {at: who for who, part in enumerate(comm.allgather(range(COUNT)[mine])) for at in part}
            session(body, lambda at: (owner[at] + 1, owner[at] + 0.5))
            session(body, lambda at: (owner[at] + 1, owner[at] + 0.5), chunks=(5,), shuffle=True)
    say_on_0(rank, "elements of each rank's own: right")

    # One rank alone.
    def alone(file, data):
        for member, value in ((a, 1), (b, 0.5), (a, 2), (b, 1.5)):
            if rank == ranks - 1:
                write(data, everything, member, (value,))

    session(alone, lambda at: (2, 1.5))

    # Later writes of whole elements, whatever the order and kind of their members in memory.
    def whole_after(file, data):
        turn(0, data, everything, a, (7,))
        turn(1, data, everything, np.dtype([("b", ">f4"), ("x", "i1"), ("a", ">i8")]), (2.5, 0, 8))
        turn(0, data, everything, pair, (9, 3.5))

    session(whole_after, lambda at: (9, 3.5))

    # The same member by both, as where ranks' parts overlap at their borders.
    def same_member(file, data):
        turn(0, data, everything, pair, (1, 1))
        file.flush()
        turn(0, data, slice(0, 13), a, (2,))
        turn(1, data, slice(11, COUNT), a, (3,))

    session(same_member, lambda at: (2 if at < 11 else 3, 1))
    say_on_0(rank, "one rank, whole elements, one member of both: right")

    # Deeper members: of a compound in a compound, with an array.
    deep = np.dtype([("in", [("a", "i4"), ("v", "f4", (2,))]), ("b", "f8")])
    part = np.dtype([("in", [("v", "f8", (2,))])])
    other = np.dtype([("in", [("a", "i2")])])

    def deeper(file, data):
        turn(0, data, everything, part, (((1, 2),),))
        file.flush()
        turn(1, data, everything, other, ((5,),))

    session(deeper, lambda at: ((5, (1, 2)), 0), kind=deep)

    def deeper_lost(file, data):
        deeper(file, data)
        turn(0, data, everything, part, (((3, 4),),))
        refused(file.flush)
        turn(0, data, everything, deep, ((6, (3, 4)), 1))

    session(deeper_lost, lambda at: ((6, (3, 4)), 1), kind=deep)
    say_on_0(rank, "members of members: the same")


def seen():
    """Ranks take turns to write members of the same elements, with nothing but a barrier in between."""
    import random

    import h5py
    import numpy as np
    from h5py import h5s
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    rank, ranks = comm.rank, comm.size
    kind = np.dtype([("a", "i4"), ("b", "f8"), ("c", "i2")])
    shared = random.Random(17)
    for more in ({}, {"chunks": (COUNT,), "compression": 1}, {"chunks": (7,), "maxshape": (None,)}):
        name = f"seen{len(more)}.h5"
        wanted = np.zeros(COUNT, kind)
        with h5py.File(name, "w", driver="mpio", comm=comm) as file:
            data = file.create_dataset("d", (COUNT,), kind, **more)
            for turn in range(TURNS):
                who = shared.randrange(ranks)
                first, step = shared.randrange(COUNT), shared.choice([1, 1, 1, 2])
                count = len(range(first, shared.randint(first + 1, COUNT), step))
                names = shared.choice([["a"], ["b"], ["c"], ["a", "c"], ["a", "b", "c"]])
                pieces = shared.choice([1, 1, count])  # row after row they become one record
                for at in names:
                    wanted[at][first : first + count * step : step] = turn
                for piece in range(pieces if rank == who else 0):
                    space = data.id.get_space()
                    space.select_hyperslab((first + piece * step,), (count // pieces,), (step,))
                    part = np.full(count // pieces, turn).astype([(at, "i4") for at in names])
                    data.id.write(h5s.create_simple(part.shape), space, part)
                comm.barrier()
                assert (data[:] == wanted).all(), f"rank {rank}: turn {turn}"
                if turn % 15 == 14:
                    file.flush()
                comm.barrier()
        with h5py.File(name, "r", driver="mpio", comm=comm) as file:
            assert (file["d"][:] == wanted).all(), f"rank {rank}: after a new open"
    say_on_0(rank, "members of the same elements in turn, where ranks see each other's writes: right")


def race():
    """What ranks wrote at the same time is there, all of it, or the commit says that it would not be."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    rank, ranks = comm.rank, comm.size
    kind = np.dtype([(f"m{number}", "i4") for number in range(ranks)])
    refused = 0
    with h5py.File("race.h5", "w", driver="mpio", comm=comm) as file:
        data = file.create_dataset("d", (COUNT,), kind)
        for turn in range(TURNS):
            if turn % 2:
                comm.barrier()
            for again in range(turn % 3 + 1):
                data[f"m{rank}"] = np.full(COUNT, 10 * turn + again, "i4")
            comm.barrier()
            try:
                file.flush()
            except RuntimeError as error:
                assert "members would be lost" in str(error), error
                refused += 1
                if rank == 0:
                    data[:] = np.array([(10 * turn + turn % 3,) * ranks] * COUNT, kind)
                comm.barrier()
                file.flush()
            found = data[:]
            for number in range(ranks):
                assert (found[f"m{number}"] == 10 * turn + turn % 3).all(), f"rank {rank}: turn {turn}: {found[:3]}"
            comm.barrier()
    say_on_0(rank, f"members at the same time: {refused} of {TURNS} commits refused, no value lost in the others")


def say_on_0(rank, text):
    if rank == 0:
        print(text, flush=True)


def test():
    # The clocks of nodes say nothing; those of some ranks are far ahead.
    clocks = ("0:-300000", "0:400000", "5:100000")
    refused, seen, race = "refused,H5BENTO_VISIBLE=commit", "seen,H5BENTO_VISIBLE=write", "race,H5BENTO_VISIBLE=write"
    cases = ((1, 3, (refused, seen, race)), (2, 3, (seen, race)), (1, 2, (refused,)), (2, 2, (seen,)), (3, 3, (race,)))
    for nodes, ranks, programs in some(2, cases):
        if nodes > 1 and (reason := no_other_memory()):
            say(f"not run between nodes: {reason}")
            break
        command = command_on_nodes(clocks[:ranks] if nodes > 1 else ["0"] * ranks, "--run", *programs)
        found = run(command, env_of_nodes(nodes) if nodes > 1 else bento_env())
        lines = found.out.splitlines()
        check(len(lines) == sum(7 if program == refused else 1 for program in programs), found.tail())
        for line in lines:
            say(f"{nodes} nodes, {ranks} ranks: {line}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run_in_turn({"refused": program, "seen": seen, "race": race}, sys.argv[2:])
        sys.exit(0)
    from harness import bento_env, check, command_on_nodes, env_of_nodes, no_other_memory, run, run_test, say, some

    run_test(test, containers=22, unfinished={"[23].h5": "their last commit is refused"})
