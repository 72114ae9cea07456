#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Short histories of small independent writes that ranks do in turns, to the same elements, with nothing between but a
barrier. Each element must have the value that was written last: in collective reads on the way, after a flush and
after a new open.

    overlapping_writes.py [HISTORIES]             the test
    mpirun ... overlapping_writes.py --run COUNT  its program
"""

import os
import sys

EACH = 8  # histories in a file


def part_of(rng, shape, last):
    """A small box; often one that goes on where the rank's last one ended, so that both become one record."""
    if last is not None and rng.random() < 0.6:
        start, stop = last[0].stop, last[0].stop + rng.randint(1, 2)
        if len(shape) == 1 and stop <= shape[0]:
            return (slice(start, stop),)
        if len(shape) == 2 and last[0].stop - last[0].start == 1 and last[1].stop < shape[1] and rng.random() < 0.5:
            return (last[0], slice(last[1].stop, min(shape[1], last[1].stop + rng.randint(1, 2))))
        if len(shape) == 2 and stop <= shape[0]:
            return (slice(start, stop), last[1])
    box = []
    for extent in shape:
        start = rng.randrange(extent)
        box.append(slice(start, min(extent, start + rng.randint(1, 3))))
    return tuple(box)


def program(count):
    import random

    import h5py
    import numpy as np
    from h5py import h5p, h5s
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    rank, ranks = comm.rank, comm.size
    transfer = h5p.create(h5p.DATASET_XFER)
    transfer.set_dxpl_mpio(h5py.h5fd.MPIO_COLLECTIVE)

    def history(rng, file, data, wanted, log):
        value = 0
        last = [None] * ranks
        turn = 0
        for _ in range(rng.randint(3, 16)):
            kind = rng.random()
            if kind < 0.1:
                found = np.zeros(data.shape, "i4")
                data.id.read(h5s.ALL, h5s.ALL, found, dxpl=transfer)
                log.append("read")
                assert (found == wanted).all(), f"rank {rank}, collective read: {log}\n{found}\n{wanted}"
                assert (data[...] == wanted).all(), f"rank {rank}, independent read: {log}"
            elif kind < 0.15:
                file.flush()
                log.append("flush")
                assert (data[...] == wanted).all(), f"rank {rank}, after a flush: {log}"
            else:
                turn = turn if rng.random() < 0.4 else rng.randrange(ranks)
                where = part_of(rng, data.shape, last[turn])
                last[turn] = where
                value += 1
                wanted[where] = value
                log.append((turn, [(one.start, one.stop) for one in where], value))
                if rank == turn:
                    data[where] = value
            comm.barrier()

    for number in range((count + EACH - 1) // EACH):
        rng = random.Random(number)
        name = f"{number}.h5"
        all_wanted = []
        with h5py.File(name, "w", driver="mpio", comm=comm) as file:
            if rng.random() < 0.5:  # large enough for a layout at once; else all is kept in memory for a while
                file.create_dataset("large", (100000,), "i8")
            for at in range(EACH):
                shape = rng.choice([(5,), (12,), (3, 4), (4, 6)])
                data = file.create_dataset(f"d{at}", shape, "i4")
                all_wanted.append((np.zeros(shape, "i4"), []))
                history(rng, file, data, *all_wanted[-1])
        with h5py.File(name, "r", driver="mpio", comm=comm) as file:
            for at, (wanted, log) in enumerate(all_wanted):
                found = file[f"d{at}"][...]
                assert (found == wanted).all(), f"rank {rank}, {name} d{at}: {log}\n{found}\n{wanted}"
    print("right")


def test():
    histories = sys.argv[1] if len(sys.argv) > 1 else "240"
    script = os.path.abspath(__file__)
    for ranks in (2, 3):
        found = mpirun(ranks, [python(), "-B", script, "--run", histories], bento_env())
        check(found.out.count("right") == ranks, found.tail())
        say(f"{ranks} ranks, {histories} histories: the last write of each element")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        program(int(sys.argv[2]))
        sys.exit(0)
    from harness import bento_env, check, mpirun, python, run_test, say

    run_test(test)
