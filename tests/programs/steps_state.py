#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Says at which step of steps_writer.c a file is, for the HDF5 and the connector of this interpreter.

    steps_state.py                              reads names of files from stdin, and answers each with a line:
                                                `step K`, `error: text`, or `WRONG: reason`
    steps_state.py --loop FILE SECONDS READS HOLD   opens and reads FILE again and again, at most so often, each time
                                                HOLD seconds (at random, up to) between opening and reading; a line for
                                                each, with the time since the opening in front, and stops when FILE.stop exists
    steps_state.py --refresh FILE SECONDS READS opens FILE once; refreshes and reads its datasets again and again
    mpirun ... steps_state.py --mpi --loop ...  the ranks open together, and each reads everything; so with --refresh

`step=K` in the name's place of the first form: H5BENTO_STEP for what follows (`step=` for none).
"""

import os
import random
import sys
import time

import h5py
import numpy as np

BLOCKS, ROWS, COLUMNS, SMALL, TAG = 32, 96, 480, 100, 1000003
HIDDEN = ".h5bento"


def values(step, indices):
    return (step * TAG + indices).astype("u8").astype("u4").view("i4")


def breath(step):
    return 5 * (4 + step * 2 % 5)


def breathing(step):
    """Written at even steps; resized at the odd ones, so that what went away comes back as fill value."""
    if step % 2 == 0 or step == 1:
        return values(step, np.arange(breath(step)))
    result = np.full(breath(step), -1, "i4")
    both = min(breath(step), breath(step - 1))
    result[:both] = values(step - 1, np.arange(both))
    return result


def part(step, big):
    block = big // BLOCKS
    result = np.empty(BLOCKS * block, "i4")
    for i in range(BLOCKS):
        wrote = max(1, step - (step - i) % 4)
        result[i * block : (i + 1) * block] = values(wrote, np.arange(i * block, (i + 1) * block))
    return result


def growing(step, row):
    index = np.arange(step * row).reshape(step, row)
    return values(np.arange(1, step + 1)[:, None], index)


def expected(step, big, row):
    return {
        "big": values(step, np.arange(big)),
        "part": part(step, big),
        "grid": values(step, np.arange(ROWS * COLUMNS)).reshape(ROWS, COLUMNS),
        "growing": growing(step, row),
        "breathing": breathing(step),
        "small": values(step, np.arange(SMALL)),
        f"at {step}": values(step, np.arange(big // 2)),
    }


def difference(name, found, wanted):
    if found.shape != wanted.shape:
        return f"{name} has the shape {found.shape}, not {wanted.shape}"
    wrong = np.flatnonzero(found.reshape(-1) != wanted.reshape(-1))
    if wrong.size == 0:
        return None
    at = int(wrong[0])
    seen = int(found.reshape(-1)[at])
    step = round((seen % 2**32 - at) / TAG)
    return f"{wrong.size} values of {name}, first at {at}: {seen} (step {step}?) instead of {wanted.reshape(-1)[at]}"


def check_state(file, comm=None, hold=0):
    step = int(file.attrs["step"])
    names = sorted(name for name in file if name != HIDDEN)
    shapes = {name: file[name].shape for name in names}
    if hold:
        time.sleep(hold)
    # Open datasets first, so that all of them are of the same open.
    found = {name: file[name][...] for name in names}
    wanted = expected(step, shapes["big"][0], shapes["growing"][1])
    if names != sorted(wanted):
        return f"WRONG: step {step} with the names {names}"
    for name, data in wanted.items():
        problem = difference(name, found[name], data)
        if problem:
            return f"WRONG: step {step}: {problem}"
    return f"step {step}"


def one_line(text):
    return " ".join(str(text).split())


def state_of(path, comm=None, hold=0):
    # An error may be right here, where a reader comes late: its text decides, and who asked.
    try:
        if comm is None:
            file = h5py.File(path, "r")
        else:
            file = h5py.File(path, "r", driver="mpio", comm=comm)
    except OSError as error:
        return f"error: {one_line(error)}"
    try:
        return check_state(file, comm, hold)
    except OSError as error:
        return f"error: {one_line(error)}"
    except Exception as error:
        return f"WRONG: {type(error).__name__}: {one_line(error)}"
    finally:
        file.close()


def world(use_mpi):
    if not use_mpi:
        return None
    from mpi4py import MPI

    return MPI.COMM_WORLD


def loop(path, seconds, reads, hold, use_mpi):
    comm = world(use_mpi)
    rank = comm.rank if comm else 0
    chance, end = random.Random(rank + 1), time.monotonic() + seconds
    for _ in range(reads):
        go_on = time.monotonic() < end and not os.path.exists(path + ".stop")
        if not (comm.bcast(go_on) if comm else go_on):
            break
        begin = time.monotonic()
        answer = state_of(path, comm, hold * chance.random())
        answers = comm.gather(answer) if comm else [answer]
        for rank_answer in answers or ():
            print(f"{time.monotonic() - begin:.3f} {rank_answer}", flush=True)


def step_shown(name, data):
    """The step that wrote the newest of a dataset's values."""
    if name == "growing":
        return data.shape[0]
    flat = data.reshape(-1)
    if name == "part":
        flat = flat[:: flat.size // BLOCKS][:BLOCKS]  # the first of each block
        index = np.arange(BLOCKS) * (data.size // BLOCKS)
        return int(((flat.view("u4") - index) // TAG).max())
    return int(flat[:1].view("u4")[0]) // TAG


def refreshed_state(datasets):
    """Each dataset whole, as of the step it was refreshed to or, where another one was refreshed since, a later one."""
    sizes = {name: dataset.shape for name, dataset in datasets.items()}
    before, error = 0, None
    for name, dataset in datasets.items():
        dataset.refresh()  # collective; an error is every rank's
        try:
            found = dataset[...]
        except OSError as read_error:  # this rank's own: the others go on to the next refresh
            error = read_error
            continue
        step = step_shown(name, found)
        if step < before:
            return f"WRONG: {name} of step {step} after one of step {before}"
        problem = difference(name, found, expected(step, sizes["big"][0], sizes["growing"][1])[name])
        if problem:
            return f"WRONG: step {step}: {problem}"
        before = step
    return f"error: {one_line(error)}" if error else f"step {before}"


def refresh_loop(path, seconds, reads, use_mpi):
    comm = world(use_mpi)
    more = {"driver": "mpio", "comm": comm} if comm else {}
    end = time.monotonic() + seconds
    with h5py.File(path, "r", **more) as file:
        datasets = {name: file[name] for name in ("big", "part", "grid", "growing", "small")}
        for _ in range(reads):
            go_on = time.monotonic() < end
            if not (comm.bcast(go_on) if comm else go_on):
                break
            begin = time.monotonic()
            try:
                answer = refreshed_state(datasets)
            except OSError as error:
                answer = f"error: {one_line(error)}"
            answers = comm.gather(answer) if comm else [answer]
            if comm and comm.rank == 0 and len({a for a in answers if a.startswith("step ")}) > 1:
                answers = [f"WRONG: ranks of one file differ: {answers}"]
            for rank_answer in answers or ():
                print(f"{time.monotonic() - begin:.3f} {rank_answer}", flush=True)


def main():
    arguments = sys.argv[1:]
    use_mpi = arguments[:1] == ["--mpi"]
    if use_mpi:
        arguments.pop(0)
    if len(arguments) == 5 and arguments[0] == "--loop":
        loop(arguments[1], float(arguments[2]), int(arguments[3]), float(arguments[4]), use_mpi)
        return
    if len(arguments) == 4 and arguments[0] == "--refresh":
        refresh_loop(arguments[1], float(arguments[2]), int(arguments[3]), use_mpi)
        return
    if arguments:
        print(__doc__.strip())
        sys.exit(0 if arguments[0] in ("-h", "--help") else 2)
    for line in sys.stdin:
        line = line.rstrip("\n")
        if line.startswith("step="):
            os.environ.pop("H5BENTO_STEP", None)
            if line[5:]:
                os.environ["H5BENTO_STEP"] = line[5:]
            continue
        print(state_of(line), flush=True)


if __name__ == "__main__":
    main()
