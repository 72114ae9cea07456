#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Append sessions by other numbers of ranks: a file that a serial program created is opened by 2, 5, 3 ranks and again
by one; the same sequence natively gives the same values, through the connector and through the view.

    steps_append.py                                    the test
    mpirun ... steps_append.py --write FILE SESSION    the program, ordinary h5py; session 0 is serial
"""

import os
import shutil
import sys

RANKS = (1, 2, 5, 3, 1, 4)  # of the sessions, the first of which creates the file
STEPS = 3  # flushes in each
WIDTH = 1200


# ---- the program ----


def program(path, session):
    import h5py
    import numpy as np

    rank, size, access = 0, 1, {}
    if RANKS[session] > 1:
        from mpi4py import MPI

        rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
        access = {"driver": "mpio", "comm": MPI.COMM_WORLD}
    written = 0

    def share(length, who=rank):
        return slice(length * who // size, length * (who + 1) // size)

    def put(dataset, where, data, collective=False):
        nonlocal written
        if collective and size > 1:
            with dataset.collective:
                dataset[where] = data
        elif data.size:
            dataset[where] = data
        written += data.nbytes

    def numbers(step, *shape, dtype="i4"):
        count = int(np.prod(shape))
        return (step * 100003 + np.arange(count)).astype(dtype).reshape(shape)

    def create(file):
        # `late`: another session fills it. Natively, space must be there before parallel programs come.
        early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)

        def add(name, shape, dtype, fill, **more):
            file.create_dataset(name, shape, dtype, fillvalue=fill, dcpl=early.copy(), **more)

        add("log", (0, WIDTH), "i4", -7, maxshape=(None, WIDTH), chunks=(4, WIDTH))
        add("wide", (64, 0), "f8", 0.5, maxshape=(64, None), chunks=(16, 32))
        add("cube", (8, 30, 40), "i4", -1, maxshape=(None, None, None), chunks=(4, 10, 10))
        add("field", (240, WIDTH), "i4", 3)
        add("late", (50000,), "f4", -0.25)
        add("packed", (0, 900), "i4", 9, maxshape=(None, 900), chunks=(10, 150), compression="gzip", shuffle=True)
        file["serial"] = numbers(1, 300, 50)
        file["nothing"] = h5py.Empty("f4")
        file.attrs["created by"] = "a serial program"

    def append(file, step):
        """Rows, columns and planes, each behind what the sessions before have left."""
        log, wide, cube, packed = (file[name] for name in ("log", "wide", "cube", "packed"))
        rows = 5 + step % 4
        log.resize((log.shape[0] + rows, WIDTH))
        put(log, np.s_[-rows:, share(WIDTH)], numbers(step, rows, WIDTH)[:, share(WIDTH)], step % 2 == 0)
        wide.resize((64, wide.shape[1] + 25))
        put(wide, np.s_[share(64), -25:], numbers(step, 64, 25, dtype="f8")[share(64)])
        cube.resize((cube.shape[0] + 1, 30 + step, 40 + 2 * (step % 5)))
        plane = numbers(step, *cube.shape[1:])
        put(cube, np.s_[-1, share(cube.shape[1])], plane[share(cube.shape[1])])
        packed.resize((packed.shape[0] + 10, 900))
        # Natively only collective, and whole chunks: six of them, so that no rank has none.
        mine = slice(150 * share(6).start, 150 * share(6).stop)
        put(packed, np.s_[-10:, mine], numbers(step, 10, 900)[:, mine], True)

    def overwrite(file, step):
        """Old regions, by whatever decomposition this session has."""
        field, log, cube = file["field"], file["log"], file["cube"]
        kind, value = step % 4, numbers(step, 240, WIDTH)
        mine = [np.s_[share(240), :], np.s_[:, share(WIDTH)], np.s_[rank::size, 100:900], None][kind]
        if mine is not None:
            put(field, mine, value[mine], step % 3 == 0)
        else:  # tiles, dealt out
            for tile in range(24):
                where = np.s_[tile // 4 * 40 : tile // 4 * 40 + 40, tile % 4 * 300 : tile % 4 * 300 + 300]
                if tile % size == rank:
                    put(field, where, value[where])
        middle = np.s_[share(log.shape[0]), 200:230]
        put(log, middle, numbers(-step, log.shape[0], WIDTH)[middle])
        inside = np.s_[1 : cube.shape[0] - 1, share(30), step % 30 : step % 30 + 3]
        put(cube, inside, numbers(-step, *cube.shape)[inside])
        if session >= 2:
            put(file["late"], share(50000), numbers(step, 50000, dtype="f4")[share(50000)])
        serial = np.s_[share(300), step : step + 2]
        put(file["serial"], serial, numbers(step, 300, 50)[serial])

    def change_names(file, step):
        group = file.create_group(f"session {session}/step {step}")
        put(group.create_dataset("new", (7000 + step,), "i4"), share(7000 + step), numbers(step, 7000 + step)[share(7000 + step)])
        group.attrs["ranks"] = np.arange(step, dtype="i4")
        if step % STEPS == 0 and f"session {session - 1}" in file:
            del file[f"session {session - 1}/step {step - STEPS}"]
        file.attrs["step"] = step

    def shrink(file):
        # By whole chunks: of parts of chunks native parallel HDF5 brings old values back.
        log = file["log"]
        log.resize((log.shape[0] // 2 // 4 * 4, WIDTH))
        log.resize((log.shape[0] + 8, WIDTH))

    with h5py.File(path, "w" if session == 0 else "r+", **access) as file:
        if session == 0:
            create(file)
        for step in range(session * STEPS + 1, (session + 1) * STEPS + 1):
            append(file, step)
            overwrite(file, step)
            change_names(file, step)
            if step % STEPS != 0:  # the last one is committed by the close
                file.flush()
        if session == 3:
            shrink(file)
    total = written if size == 1 else MPI.COMM_WORLD.reduce(written)
    if rank == 0:
        print(f"bytes: {total}")


# ---- the test ----


def one_session(session, path, env, stats=None):
    command = [python(), "-B", os.path.abspath(__file__), "--write", path, session]
    ranks = RANKS[session]
    result = mpirun(ranks, command, env, timeout=60) if ranks > 1 else run(command, env, timeout=60)
    size = int(parse_lines(r"bytes: (\d+)", result.out)[0][1])
    if stats:
        check(not result.err.strip(), f"the writers complain:\n{result.err}")
        check_diverted(stats, written=size, processes=ranks, at_least=True)


def test():
    for folder in ("native", "view"):
        os.mkdir(folder)
    # A new rank's tasks come in physical files of their own; small chunks make many blocks of them.
    strings = {"small.h5": "chunk=64K", "usual.h5": ""}
    names = some(1, strings)
    sessions = some(5, enumerate(RANKS))
    for session, ranks in sessions:
        one_session(session, "native/small.h5", native_env())
        for name in names:
            if name != "small.h5":
                shutil.copy("native/small.h5", f"native/{name}")
            stats = f"stats-{session}-{name}"
            one_session(session, f"view/{name}", environment(strings[name], stats=stats), stats)
        what = f"session {session} by {ranks} ranks"
        # Through the connector by one process, two or four: in turns, and after the last session by one and four.
        last = session == sessions[-1][0]
        if last or session % 3 == 0:
            connector_reads("native", "view", names, what)
        if last or session % 3 > 0:
            check_equal(f"native/{names[-1]}", f"view/{names[-1]}", 2 if session % 3 == 1 and not last else 4)
        examine("native", "view", names, what, h5dump={names[0]: WITHOUT_VALUES}, h5diff=(names[0],))
    found = [len(physical_files(f"view/{name}")) for name in names]
    say(f"{len(sessions)} sessions by {RANKS[: len(sessions)]} ranks; {found} physical files")
    check(harness.REHEARSAL or min(found) >= 2, "no physical file was added for more ranks")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    if sys.argv[1:2] == ["--write"] and len(sys.argv) == 4:
        program(sys.argv[2], int(sys.argv[3]))
        sys.exit(0)
    if sys.argv[1:]:
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1] in ("-h", "--help") else 2)
    import harness
    from harness import check, check_diverted, check_equal, mpirun, native_env, parse_lines, python, run
    from harness import run_test, say, some
    from native_view_check import WITHOUT_VALUES, connector_reads, examine, physical_files
    from steps_run import environment

    run_test(test)
