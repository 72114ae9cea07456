#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""A parallel h5py program (driver='mpio') with many types, layouts, attributes and links, written
on 4 ranks under the connector and natively, read back on 1, 2, 3 and 5 ranks and serially, and
compared.

    h5py_mpio.py                   the test
    mpirun ... h5py_mpio.py --write FOLDER     the program: writes main.h5 and other.h5 into FOLDER
    [mpirun ...] h5py_mpio.py --read READ_BACK [--mpi]   examples/read_back.py over what is there
"""

import os
import sys

WRITERS = 4
READERS = (5, 2, 1, 3)


# ---- the program: ordinary h5py ------------------------------------------------------------------


def program(folder):
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    rank, size = comm.rank, comm.size
    written = 0  # bytes, in the file's type, of this rank's unfiltered writes

    def values(dtype, indices):
        """One value for each global index, the same whoever asks."""
        indices = np.asarray(indices, dtype=np.uint64)
        bits = indices * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x1234567)
        bits ^= bits >> np.uint64(29)
        dtype = np.dtype(dtype)
        if dtype.names:
            result = np.zeros(indices.shape, dtype)
            for number, name in enumerate(dtype.names):
                result[name] = values(dtype[name], indices * np.uint64(7) + np.uint64(number))
            return result
        if dtype.subdtype:
            base, shape = dtype.subdtype
            count = int(np.prod(shape))
            inner = indices[..., None] * np.uint64(count) + np.arange(count, dtype=np.uint64)
            return values(base, inner).reshape(indices.shape + shape)
        if h5py.check_enum_dtype(dtype) is not None:
            choices = sorted(h5py.check_enum_dtype(dtype).values())
            return np.array(choices, dtype=dtype)[(bits % np.uint64(len(choices))).astype(int)]
        if dtype.kind == "b":
            return (bits >> np.uint64(40)) % np.uint64(2) == 1
        if dtype.kind in "iu":
            return (
                (bits >> np.uint64(64 - 8 * dtype.itemsize))
                .astype(f"u{dtype.itemsize}")
                .astype(dtype)
            )
        if dtype.kind == "f":
            return ((bits >> np.uint64(45)).astype("f8") / 2048.0 - 128.0).astype(dtype)
        if dtype.kind == "c":
            return (values("f8", indices) + 1j * values("f8", indices + np.uint64(99))).astype(
                dtype
            )
        if dtype.kind == "S":
            return np.array([b"%x" % (int(b) >> 40) for b in bits.ravel()], dtype).reshape(
                indices.shape
            )
        if dtype.kind == "V":
            raw = np.stack(
                [(bits >> np.uint64(8 * (k % 8))).astype("u1") for k in range(dtype.itemsize)],
                axis=-1,
            )
            return np.ascontiguousarray(raw).view(dtype).reshape(indices.shape)
        raise TypeError(dtype)

    def put(dataset, selection, collective, count=True):
        nonlocal written
        indices = np.arange(dataset.size, dtype=np.uint64).reshape(dataset.shape)[selection]
        data = values(dataset.dtype, indices)
        if collective:
            with dataset.collective:
                dataset[selection] = data
        elif indices.size:
            dataset[selection] = data
        written += indices.size * dataset.id.get_type().get_size() if count else 0

    def share(length):
        """This rank's part; of uneven lengths, some ranks' may be empty."""
        return slice(length * rank // size, length * (rank + 1) // size)

    particle = np.dtype(
        [
            ("id", "u8"),
            ("x", "f4", (3,)),
            ("kind", "i1"),
            ("tag", "S5"),
            ("spin", [("up", "f8"), ("down", "f2")]),
        ]
    )
    aligned = np.dtype([("a", "i1"), ("b", "f8"), ("c", "i2")], align=True)
    colour = h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 42, "NONE": -1}, basetype="i2")
    types = {
        "i1": "i1",
        "u2": "u2",
        "i4": "<i4",
        "i8": "i8",
        "u8_be": ">u8",
        "i2_be": ">i2",
        "f2": "f2",
        "f4": "f4",
        "f8": "f8",
        "f8_be": ">f8",
        "c8": "c8",
        "c16": "c16",
        "bool": "?",
        "enum": colour,
        "string": "S7",
        "opaque": "V5",
        "array": np.dtype(("f4", (2, 3))),
        "particle": particle,
        "aligned": aligned,
    }

    def layouts(file):
        """Contiguous and chunked datasets of all types: rows, columns, and strides."""
        for number, (name, dtype) in enumerate(types.items()):
            group = file.create_group(f"types/{name}")
            rows = group.create_dataset("rows", (61, 7), dtype)
            put(rows, np.s_[share(61), :], collective=number % 2 == 0)
            columns = group.create_dataset("columns", (9, 53), dtype, chunks=(4, 8))
            put(columns, np.s_[:, share(53)], collective=number % 2 == 1)
            strided = group.create_dataset(
                "strided", (200,), dtype, chunks=(16,) if number % 3 else None
            )
            put(strided, np.s_[rank::size], collective=number % 3 == 0)
            rows.attrs["name"] = name
            rows.attrs["value"] = values(dtype, np.arange(3))
        cube = file.create_dataset("cube", (12, 10, 14), "f8", chunks=(3, 10, 5))
        put(cube, np.s_[share(12), 2:9, 1::3], collective=True)

    def holes(file):
        """Partly written: what nobody wrote reads as the fill value."""
        for name, options in (("contiguous", {}), ("chunked", {"chunks": (5, 6)})):
            dataset = file.create_dataset(f"holes/{name}", (24, 18), "i4", fillvalue=-77, **options)
            put(dataset, np.s_[share(24), 3:11:2], collective=name == "chunked")
        never = file.create_dataset("holes/never", (50,), "f4", fillvalue=2.5)
        never.attrs["note"] = "nobody writes here"
        one = file.create_dataset("holes/one_rank", (40,), "i8", fillvalue=5)
        if rank == size - 1:
            put(one, np.s_[7:33], collective=False)
        file.create_dataset("holes/no_elements", (0, 4), "f4", maxshape=(None, 4), chunks=(8, 4))
        file.create_dataset("holes/null", data=h5py.Empty("f8"))
        compound = file.create_dataset(
            "holes/compound", (30,), particle, fillvalue=values(particle, 3)[()]
        )
        put(compound, slice(share(30).start + 1, share(30).stop), collective=False)

    def overwrites(file):
        """A fill by one rank, then, behind a collective call, everybody's slabs over it."""
        nonlocal written
        dataset = file.create_dataset("overwrites", (400,), "i4")
        if rank == 0:
            dataset[...] = np.full(400, -1, "i4")
            written += 1600
        file.flush()
        comm.Barrier()
        put(dataset, share(400), collective=False)
        file.flush()
        put(dataset, np.s_[share(400).start : share(400).start + 5], collective=True)

    def growing(file):
        """Unlimited dimensions: grow, shrink, grow again; what was cut off reads as the fill value."""
        dataset = file.create_dataset(
            "growing", (0, 31), "f8", maxshape=(None, None), chunks=(2, 9), fillvalue=-0.5
        )
        for step in range(4):
            dataset.resize((step + 1, 31))
            put(dataset, np.s_[step, share(31)], collective=step % 2 == 0)
            file.flush()
        dataset.resize((2, 20))
        dataset.resize((5, 26))
        put(dataset, np.s_[4, share(26)], collective=True)

    def filtered(file):
        # Parallel HDF5 wants filtered data written collectively.
        for name, options in (
            ("gzip", {"compression": "gzip"}),
            ("shuffled", {"compression": 1, "shuffle": True, "fletcher32": True}),
        ):
            dataset = file.create_dataset(
                f"filtered/{name}", (40, 12), "i4", chunks=(10, 6), fillvalue=3, **options
            )
            put(dataset, np.s_[share(40), 1:12], collective=True, count=False)

    def scalars(file):
        nonlocal written
        file["scalar"] = np.float64(2.75)  # every rank writes the same
        written += 8
        file["scalars/particle"] = values(particle, 12)[()]
        written += particle.itemsize
        attributes = file["scalars"].attrs
        attributes["text"] = "grün"
        attributes["bytes"] = np.bytes_("fixed")
        attributes["strings"] = ["a", "bcd", ""]
        attributes["matrix"] = np.arange(6.0).reshape(2, 3)
        attributes["particle"] = values(particle, np.arange(4))
        attributes["complex"] = 1 - 2j
        attributes["flag"] = True
        attributes["null"] = h5py.Empty("i4")
        attributes["reference"] = file["cube"].ref
        attributes.create("colours", values(colour, np.arange(5)), dtype=colour)
        attributes["doomed"] = 1
        del attributes["doomed"]
        attributes["text"] = "later text"  # replaced

    def links(file):
        group = file.create_group("links", track_order=True)
        group["hard"] = file["cube"]
        group["soft"] = h5py.SoftLink("/types/i4/rows")
        group["soft_up"] = h5py.SoftLink("/links")
        group["dangling"] = h5py.SoftLink("/nowhere")
        group["external"] = h5py.ExternalLink("other.h5", "/inner/data")
        group["external_group"] = h5py.ExternalLink("other.h5", "/inner")
        group["external_missing"] = h5py.ExternalLink("missing.h5", "/")
        file["types/alias"] = file["types/f8"]
        file["committed"] = particle
        typed = file.create_dataset("links/typed", (22,), file["committed"])
        put(typed, share(22), collective=False)
        doomed = file.create_dataset("links/doomed", (10,), "i4")
        put(doomed, share(10), collective=False)
        del file["links/doomed"]
        moved = file.create_dataset("links/before", (10,), "i4")
        put(moved, share(10), collective=False)
        file.move("links/before", "links/after")

    def other():
        with h5py.File(os.path.join(folder, "other.h5"), "w", driver="mpio", comm=comm) as file:
            data = file.create_dataset("inner/data", (90,), "f4")
            put(data, share(90), collective=False)
            data.attrs["from"] = "the other file"

    def check_own_writes(file):
        """A rank sees what it has written itself at once, before any flush."""
        dataset = file.create_dataset("own", (64,), "i8")
        put(dataset, share(64), collective=False)
        wanted = values("i8", np.arange(64)[share(64)])
        assert (dataset[share(64)] == wanted).all(), (rank, dataset[share(64)], wanted)

    def check_others_writes(file):
        """And what others have written after a flush."""
        file.flush()
        comm.Barrier()
        assert (file["own"][...] == values("i8", np.arange(64))).all()
        with file["own"].collective:
            assert (file["own"][1::2] == values("i8", np.arange(1, 64, 2))).all()

    other()
    path = os.path.join(folder, "main.h5")
    with h5py.File(path, "w", driver="mpio", comm=comm) as file:
        for part in (
            layouts,
            holes,
            overwrites,
            growing,
            filtered,
            scalars,
            check_own_writes,
            check_others_writes,
        ):
            part(file)
    with h5py.File(path, "r+", driver="mpio", comm=comm) as file:
        links(file)
        put(file["types/i4/rows"], np.s_[share(61), 2:4], collective=True)
        put(file["growing"], np.s_[1, share(26)], collective=False)
        file.attrs["sessions"] = 2
    total = comm.reduce(written)
    if rank == 0:
        print(f"unfiltered bytes: {total}")


def read_back(path, *more):
    """The tree of bento/main.h5, and behind it how it compares with native/main.h5, in one start of the example."""
    import runpy

    for folder, words in (("bento", ["main.h5"]), (".", ["--compare", "native/main.h5", "bento/main.h5"])):
        top = os.getcwd()
        os.chdir(folder)
        sys.argv[1:] = [*more, *words]
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as end:
            if end.code:
                raise
        os.chdir(top)


# ---- the test ------------------------------------------------------------------------------------


def write(folder, env):
    os.mkdir(folder)
    result = mpirun(
        WRITERS, [python(), os.path.abspath(__file__), "--write", folder], env, timeout=120
    )
    return int(parse_lines(r"unfiltered bytes: (\d+)", result.out)[0][1])


def test():
    size = write("native", native_env())
    check(
        write("bento", bento_env(stats="stats")) == size, "the program itself is not deterministic"
    )
    check_diverted("stats", written=size, at_least=True, processes=WRITERS)
    pair = "native/main.h5", "bento/main.h5"
    for path in ("bento/main.h5", "bento/other.h5"):
        check_container(path)
    wanted = run([python(), READ_BACK, "main.h5"], native_env(), cwd="native").out
    check(len(wanted.splitlines()) > 100, f"hardly anything was written:\n{wanted}")
    script = [python(), os.path.abspath(__file__), "--read", READ_BACK]
    say("serial: " + check_read(run(script, bento_env()), wanted, "serially"))
    for ranks in some(1, READERS):
        found = mpirun(ranks, [*script, "--mpi"], bento_env(stats=f"stats-{ranks}"))
        say(f"{ranks} ranks: " + check_read(found, wanted, f"on {ranks} ranks"))
        check_diverted(f"stats-{ranks}", written=0, read=size // 2, at_least=True, processes=ranks)
    run([hdf5_tool("h5diff"), *pair], bento_env())


def check_read(found, wanted, how):
    """The tree is the wanted one, and then the comparison says that all is equal; gives what it says."""
    *lines, equal = found.out.splitlines()
    check(equal.startswith("equal: "), f"read_back.py said nothing of equality {how}:\n{found.tail()}")
    differ = [line for line in zip(wanted.splitlines(), lines) if line[0] != line[1]]
    check(not differ and len(lines) == len(wanted.splitlines()), f"the tree differs {how}: {differ[:3]}\n{found.tail(5)}")
    return equal


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"] and len(sys.argv) == 3:
        program(sys.argv[2])
        sys.exit(0)
    if sys.argv[1:2] == ["--read"]:
        read_back(*sys.argv[2:])
        sys.exit(0)
    from harness import (
        READ_BACK,
        bento_env,
        check,
        check_container,
        check_diverted,
        hdf5_tool,
        mpirun,
        native_env,
        parse_lines,
        python,
        run,
        run_test,
        say,
        some,
    )

    run_test(test)
