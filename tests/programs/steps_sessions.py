#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Many sessions of one step each: the file grows by the data and hardly more.

    steps_sessions.py COUNT                         the test
    steps_sessions.py --write FILE FIRST LAST       sessions FIRST to LAST, in one process: ordinary h5py
"""

import os
import sys

ROW, TABLE = 8192, 65536  # elements of 4 bytes: appended, and overwritten, by each session
MIB = 1 << 20


def write(path, first, last, mpi):
    """Each rank its share."""
    import h5py
    import numpy as np

    rank, size, access = 0, 1, {}
    if mpi:
        from mpi4py import MPI

        rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
        access = {"driver": "mpio", "comm": MPI.COMM_WORLD}
    for session in range(first, last + 1):
        with h5py.File(path, "w" if session == 1 else "r+", **access) as file:
            if session == 1:
                file.create_dataset("rows", (0, ROW), "i4", maxshape=(None, ROW), chunks=(1, ROW))
                file.create_dataset("table", (TABLE,), "i4")
            rows, table = file["rows"], file["table"]
            rows.resize((session, ROW))
            mine = slice(ROW * rank // size, ROW * (rank + 1) // size)
            rows[session - 1, mine] = np.arange(ROW, dtype="i4")[mine] + session
            mine = slice(TABLE * rank // size, TABLE * (rank + 1) // size)
            table[mine] = np.arange(TABLE, dtype="i4")[mine] - session
            file.attrs["session"] = session


def verify(path):
    """What is right after all sessions, for whichever HDF5 reads."""
    import h5py
    import numpy as np

    with h5py.File(path, "r") as file:
        session = int(file.attrs["session"])
        rows, table = file["rows"][...], file["table"][...]
    assert rows.shape == (session, ROW), rows.shape
    assert (rows == np.arange(ROW) + np.arange(1, session + 1)[:, None]).all(), "rows"
    assert (table == np.arange(TABLE) - session).all(), "table"
    print(f"verified {session}")


def size_of(path):
    from native_view_check import physical_files

    infos = [os.stat(name) for name in physical_files(path)]
    return sum(info.st_size for info in infos), sum(info.st_blocks * 512 for info in infos)


def sessions(count, env):
    """Serial ones; the second and every hundredth by two ranks. Returns the sizes at some moments."""
    script, sizes, at = os.path.abspath(__file__), {}, 1
    stops = sorted({1, 2, 3, 10, 20, 50, *range(99, count, 100), *range(100, count + 1, 100), count})
    for stop in stops:
        command = [python(), "-B", script, "--write", "x.h5", at, stop]
        if stop == at and (stop == 2 or stop % 100 == 0):
            mpirun(2, command + ["mpi"], env)
        else:
            run(command, env, timeout=600)
        sizes[stop], at = size_of("x.h5"), stop + 1
    return sizes


def test(count):
    count = int(count)
    begin = time.monotonic()
    sizes = sessions(count, bento_env(stats="stats"))
    seconds = time.monotonic() - begin
    check_diverted("stats", written=4 * (ROW + TABLE) * count)
    data = {stop: 4 * (ROW * stop + TABLE) for stop in sizes}
    for stop, (apparent, allocated) in sizes.items():
        say(
            f"{stop:4} sessions: data {data[stop] / MIB:6.2f} MiB, apparent {apparent / MIB:7.2f} MiB, "
            f"allocated {allocated / MIB:6.2f} MiB"
        )
    say(f"{count} sessions in {seconds:.1f} s")
    for interpreter, env in ((python(), bento_env()), (stock_python(), stock_env())):
        found = run([interpreter, "-B", os.path.abspath(__file__), "--verify", "x.h5"], env).out
        check(f"verified {count}" in found, f"wrong values: {found}")
    if harness.REHEARSAL:
        return
    first = 3  # the sparse chunks of both ranks are there by then, and a view has been replaced
    grown, allocated = sizes[count][0] - sizes[first][0], sizes[count][1]
    added = data[count] - data[first]
    check(grown <= added + 4 * MIB, f"{added} bytes of data made the file {grown} bytes longer")
    check(allocated <= 2 * data[count] + 4 * MIB, f"{allocated} bytes are allocated for {data[count]}")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    if sys.argv[1:2] == ["--write"] and len(sys.argv) in (5, 6):
        write(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:] == ["mpi"])
        sys.exit(0)
    if sys.argv[1:2] == ["--verify"] and len(sys.argv) == 3:
        verify(sys.argv[2])
        sys.exit(0)
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2)
    import time

    import harness
    from harness import bento_env, check, check_diverted, mpirun, python, run, run_test, say
    from native_view_check import stock_env, stock_python

    run_test(test, *sys.argv[1:])
