#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Containers written by several ranks, read by stock HDF5 without a plugin: nothing but the ranks' number and the
physical files differs from a natively written file.

    native_view_parallel.py RANKS [FILES]             the test; a second session is written by RANKS, too
    native_view_parallel.py RANKS FILES SECOND        the second session by SECOND ranks
    mpirun ... native_view_parallel.py --write FOLDER first|second     the program: h5py with driver='mpio'
    native_view_parallel.py --write FOLDER first|second RANKS          one process without MPI that writes what RANKS would
"""

import os
import sys

LARGE = 70 << 10  # bytes: too large to be copied into the view


# ---- the program: ordinary h5py ----


def program(folder, which, played=0):
    """`played`: one process without MPI writes what so many ranks would write, for a file to compare with."""
    import h5py
    import numpy as np

    from native_view_program import ALL, ONE_OF_A_KIND, PARTICLE, TYPES, values

    if played:
        comm, ranks, size, access = None, range(played), played, {}
    else:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
        ranks, size, access = [comm.rank], comm.size, {"driver": "mpio", "comm": comm}
    written = 0

    def share(length, rank):
        return slice(length * rank // size, length * (rank + 1) // size)

    def put(dataset, part, collective=False, count=True):
        """part(rank): selection and data of that rank."""
        nonlocal written
        for rank in ranks:
            selection, data = part(rank)
            if collective and comm:
                with dataset.collective:
                    dataset[selection] = data
            elif data.size:
                dataset[selection] = data
            number = int(np.prod(data.shape[: dataset.ndim]))
            written += number * dataset.id.get_type().get_size() if count else 0

    def shared(data):
        """Of all of a dataset with one dimension."""
        return lambda rank: (share(len(data), rank), data[share(len(data), rank)])

    def types(file):
        for number, name in enumerate(TYPES if ALL else (*ONE_OF_A_KIND, "i4", "c16")):  # the last two for again()
            dtype = TYPES[name]
            group = file.create_group(f"types/{name}")
            width = np.dtype(dtype).itemsize
            for what, rows in (("small", 12), ("large", LARGE // width // 8 * max(1, size // 2))):
                data = values(dtype, rows * 8, number).reshape((rows, 8) + np.dtype(dtype).shape)
                by_rows = group.create_dataset(f"{what} rows", (rows, 8), dtype, chunks=(5, 8) if number % 2 else None)
                put(by_rows, lambda rank: (np.s_[share(rows, rank), :], data[share(rows, rank)]), collective=number % 3 == 0)
                columns = group.create_dataset(f"{what} columns", (rows, 8), dtype)
                put(columns, lambda rank: (np.s_[:, share(8, rank)], data[:, share(8, rank)]), collective=number % 3 == 1)
                columns.attrs.create("value", values(dtype, 3), dtype=dtype)
            data = values(dtype, 20000 // width + 9, number)
            strided = group.create_dataset("strided", data.shape[:1], dtype)
            put(strided, lambda rank: (np.s_[rank::size], data[rank::size]))

    def overwrites(file):
        """Random overlapping boxes in stripes that change hands after each round: hundreds of pieces, or over 1000."""
        rows, columns, rounds = 480, 500, 4
        number_of, least = (1200, 700) if ALL else (600, 350)
        dataset = file.create_dataset("boxes", (rows, columns), "i4", fillvalue=-1)
        owner = np.full((rows, columns), -1)

        def boxes(turn, rank):
            random = np.random.default_rng((turn, (rank + turn) % size))
            stripe = (rank + turn) % size
            low, high = rows * stripe // size, rows * (stripe + 1) // size
            for number in range(number_of // rounds // size + 1):
                top, left = random.integers(low, high), random.integers(0, columns - 1)
                where = np.s_[top : min(high, top + random.integers(1, 25)), left : left + random.integers(1, 25)]
                owner[where] = number + 10000 * turn + 1000000 * stripe
                yield where, owner[where].astype("i4")

        for turn in range(rounds):
            for box in zip(*(boxes(turn, rank) for rank in ranks)):
                put(dataset, lambda rank: box[ranks.index(rank)])
            file.flush()
            if comm:
                comm.Barrier()
        final = dataset[...]
        if ranks[0] == 0:
            print(f"pieces: {len(np.unique(final)) - 1}")
        assert size < 2 or len(np.unique(final)) > least

    def holes(file):
        group = file.create_group("holes", track_order=True)
        for name, options in (("contiguous", {}), ("chunked", {"chunks": (50, 60)})):
            dataset = group.create_dataset(name, (240, 380), ">i4", fillvalue=-77, **options)

            def every_second(rank):
                mine = share(240, rank)
                return np.s_[mine, 3:310:2], values(">i4", (mine.stop - mine.start) * 154, rank).reshape(-1, 154)

            put(dataset, every_second)
        group.create_dataset("never", (300, 100), "f8", fillvalue=2.5).attrs["note"] = "nobody writes here"
        group.create_dataset("never, no fill value", (300, 100), "f8")
        one = group.create_dataset("one rank", (40000,), "i8", fillvalue=5)
        put(one, lambda rank: (np.s_[7:33000], np.arange(32993)) if rank == size - 1 else (np.s_[:0], np.arange(0)))
        particles = group.create_dataset("particles", (4000,), PARTICLE, fillvalue=values(PARTICLE, 1, 3)[0])

        def without_first(rank):
            part = slice(share(4000, rank).start + 1, share(4000, rank).stop)
            return part, values(PARTICLE, part.stop - part.start, rank)

        put(particles, without_first)
        group.create_dataset("no elements", (0, 4), "f4", maxshape=(None, 4), chunks=(8, 4))
        group.create_dataset("null", data=h5py.Empty("f8"))
        group["scalar"] = np.float64(2.75)
        by_rank = group.create_dataset("by rank", (16,), "i4", fillvalue=-1)
        for rank in ranks[:16]:
            by_rank[rank % 4] = 7  # everybody the same

    def growing(file):
        dataset = file.create_dataset("growing", (0, 3100), "f8", maxshape=(None, None), chunks=(2, 900), fillvalue=-0.5)

        def row(number, data):
            return lambda rank: (np.s_[number, share(len(data), rank)], data[share(len(data), rank)])

        for step in range(12):
            dataset.resize((step + 1, 3100))
            put(dataset, row(step, values("f8", 3100, step)), collective=step % 2 == 0)
            if step % 5 == 0:
                file.flush()
        dataset.resize((8, 2000))
        dataset.resize((15, 2600))
        put(dataset, row(14, values("f8", 2600)), collective=True)

    def filtered(file):
        data = np.add.outer(np.arange(400), np.arange(119)).astype("i4")
        for name, options in (("gzip", {"compression": "gzip", "shuffle": True}), ("fletcher", {"fletcher32": True})):
            dataset = file.create_dataset(f"filtered/{name}", (400, 120), "i4", chunks=(30, 60), fillvalue=3, **options)
            put(dataset, lambda rank: (np.s_[share(400, rank), 1:120], data[share(400, rank)]), collective=True, count=False)

    def links(file):
        group = file.create_group("links", track_order=True)
        for number in (3, 1, 2):
            put(group.create_dataset(f"{number}% of d%d", (30000,), "i4"), shared(np.arange(30000) * number))
        group["hard"] = group["3% of d%d"]
        file["also hard ü"] = group["3% of d%d"]
        group["cycle"] = file["/"]
        group["soft"] = h5py.SoftLink("1% of d%d")
        group["dangling"] = h5py.SoftLink("/nowhere")
        group["external"] = h5py.ExternalLink("missing.h5", "/")
        group.create_group("empty")
        file["particle"] = PARTICLE
        typed = group.create_dataset("typed", (4000,), file["particle"])
        put(typed, shared(values(PARTICLE, 4000)))
        typed.attrs.create("particle", values(PARTICLE, 2), dtype=file["particle"])
        typed.attrs["reference"] = file["holes/contiguous"].ref
        typed.attrs["region"] = file["boxes"].regionref[10:20, 30:400:7]
        typed.attrs["words"] = ["a", "grün", ""]
        scale = group.create_dataset("scale", (3100,), "f8")
        scale.make_scale("x")
        file["growing"].dims[1].attach_scale(scale)
        file["growing"].dims[1].label = "along"

    def again(file):
        """A second session, perhaps by another number of ranks."""
        rows = file["types/i4/large rows"]
        nines = np.full((rows.shape[0], 2), 9, "i4")
        put(rows, lambda rank: (np.s_[share(len(nines), rank), 2:4], nines[share(len(nines), rank)]), collective=True)
        fives = np.full((480, 100), 55, "i4")
        put(file["boxes"], lambda rank: (np.s_[share(480, rank), 100:200], fives[share(480, rank)]))
        del file["types/c16"], file["links/2% of d%d"]
        file.move("types/u2", "moved")
        put(file.create_dataset("types/c16", (40000,), "i2"), shared(np.arange(40000).astype("i2")))
        file["growing"].resize((20, 2600))
        row = values("f8", 2600)
        put(file["growing"], lambda rank: (np.s_[15 + rank % 5, share(2600, rank)], row[share(2600, rank)]))
        file.attrs["sessions"] = 2

    parts = (types, overwrites, holes, growing, filtered, links) if which == "first" else (again,)
    with h5py.File(os.path.join(folder, "main.h5"), "w" if which == "first" else "r+", **access) as file:
        for part in parts:
            part(file)
    total = comm.reduce(written) if comm else written
    if ranks[0] == 0:
        print(f"bytes: {total}")


# ---- the test ----


def session(which, ranks, folder, env, stats=None):
    os.makedirs(folder, exist_ok=True)
    command = [python(), "-B", os.path.abspath(__file__), "--write", folder, which]
    if stats:
        result = mpirun(ranks, command, env, timeout=240)
    else:
        result = run([*command, ranks], env, timeout=240)
    size = int(parse_lines(r"bytes: (\d+)", result.out)[0][1])
    for pieces in parse_lines(r"pieces: (\d+)", result.out):
        say(f"{which}, {folder}: {ranks} ranks, {pieces[1]} visible pieces in one dataset")
    check(not stats or not result.err.strip(), f"the writers complain:\n{result.err}")
    if stats:
        found = check_diverted(stats, written=size, at_least=True, only=False, processes=ranks)
        check(found is None or not found.passed_through["writes"], "data was passed through")


def test(ranks, files="1", second=None):
    ranks, files = int(ranks), int(files)
    second = int(second or ranks)
    string = None if harness.REHEARSAL else f"{harness.connector()} files={files}"
    for which, number in (("first", ranks), ("second", second)):
        session(which, number, "native", native_env())
        session(which, number, "view", bento_env(stats=f"stats-{which}", string=string), f"stats-{which}")
        if not harness.REHEARSAL:
            found = len(physical_files("view/main.h5"))
            check(found >= files, f"{found} physical files instead of {files}")
            say(f"{which} session: {found} physical files")
        last = which == "second"
        if last:
            os.makedirs("elsewhere/deeper")
            os.rename("view", "elsewhere/deeper/view")
        what = f"{which} session by {number} ranks{', moved' if last else ''}"
        folder = "elsewhere/deeper/view" if last else "view"
        counts = examine("native", folder, ["main.h5"], what, h5dump={"main.h5": WITHOUT_VALUES} if last else None, h5diff=last)
        check_really_virtual(counts, 5 if number == 1 else 40 if os.environ.get("H5BENTO_TEST_ALL") else 25)
    connector_reads(os.path.abspath("native"), os.path.abspath(folder), ["main.h5"], "moved")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    if sys.argv[1:2] == ["--write"] and len(sys.argv) in (4, 5):
        program(*sys.argv[2:4], *map(int, sys.argv[4:]))
        sys.exit(0)
    if len(sys.argv) not in (2, 3, 4) or not all(x.isdigit() for x in sys.argv[1:]):
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2)
    import harness
    from harness import bento_env, check, check_diverted, mpirun, native_env, parse_lines, python, run, run_test, say
    from native_view_check import WITHOUT_VALUES, check_really_virtual, connector_reads, examine, physical_files

    run_test(test, *sys.argv[1:])
