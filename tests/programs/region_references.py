#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""References to regions (H5T_STD_REF_DSETREG): made by one rank alone, written by any, read on other numbers of ranks, by a
serial program and by stock HDF5. Not in sequences: h5py dies of these, without h5bento too (tests/vol/variable_elements_test.cpp).

    region_references.py written         datasets of a parallel program, attributes; the same of a serial one
    region_references.py appended        a file of a parallel program, changed by a serial one and by other ranks
    region_references.py refused         what cannot be right is refused
    mpirun ... region_references.py --NAME ... [then --NAME ...]...  their programs, one after the other
"""

import os
import re
import sys

ROWS, COLUMNS = 20, 30
COUNT = 40
KINDS = 6
ALONE = range(0, 12)  # made and written by the last rank alone, before others create objects
LATER = range(12, 30)  # to objects that were created then, written by all ranks
TOGETHER = range(30, 36)  # in one collective write
NULL = range(36, COUNT)


def base_of(name):
    return 0 if name == "/table" else 1000 * (int(name.rsplit("/", 1)[1]) + 1)


def target_of(index):
    return "/table" if index in ALONE else f"/later/{index % 7}"


def selected(space, index):
    """A selection of each kind, other ones for other indices."""
    from h5py import h5s

    kind = index % KINDS
    if kind == 0:
        space.select_hyperslab((index % 10, 2), (3, 4))
    elif kind == 1:
        space.select_hyperslab((0, index % 5), (3, 2), (6, 9), (2, 3))
    elif kind == 2:
        space.select_elements([(row, row * (index + 1) % COLUMNS) for row in range(0, ROWS, 3)])
    elif kind == 3:
        space.select_all()
    elif kind == 4:
        space.select_none()
    else:
        space.select_hyperslab((1, 1), (2, 3))
        space.select_hyperslab((4 + index % 7, 10), (3, 2), op=h5s.SELECT_OR)
    return space


def reference(file, index, name=None):
    from h5py import h5r

    name = name or target_of(index)
    return h5r.create(file.id, name.encode(), h5r.DATASET_REGION, selected(file[name].id.get_space(), index))


def described(file, to):
    """Path, extent, number of elements and their values; None for null."""
    import numpy as np
    from h5py import h5r, h5s

    if not to:
        return None
    target = file[to]
    space = h5r.get_region(to, file.id)
    count = space.get_select_npoints()
    assert h5r.get_name(to, file.id).decode() == target.name
    values = np.zeros(max(count, 1), "i4")
    if count:
        target.id.read(h5s.create_simple((count,)), space, values)
    return target.name, space.shape, count, sorted(values[:count].tolist())


def wanted(index, name=None, shape=(ROWS, COLUMNS)):
    """The same, from the selection as a mask."""
    import numpy as np

    if index in NULL:
        return None
    name = name or target_of(index)
    values = base_of(name) + np.arange(ROWS * COLUMNS, dtype="i4").reshape(ROWS, COLUMNS)
    kind = index % KINDS
    mask = np.zeros(values.shape, bool)
    if kind == 0:
        mask[index % 10 : index % 10 + 3, 2:6] = True
    elif kind == 1:
        for row in (0, 6, 12):
            for column in (index % 5, index % 5 + 9):
                mask[row : row + 2, column : column + 3] = True
    elif kind == 2:
        for row in range(0, ROWS, 3):
            mask[row, row * (index + 1) % COLUMNS] = True
    elif kind == 3:
        mask[:] = True
    elif kind == 5:
        mask[1:3, 1:4] = True
        mask[4 + index % 7 : 7 + index % 7, 10:12] = True
    found = sorted(values[mask].tolist())
    return name, shape, len(found), found


# ---- the program: the same for ranks and a single process ----------------------------------------


class Alone:
    """What a serial program has in place of a communicator."""

    rank, size = 0, 1

    def Barrier(self):
        pass


def opened(path, mode, parallel):
    import h5py

    if not parallel:
        return h5py.File(path, mode), Alone()
    from mpi4py import MPI

    return h5py.File(path, mode, driver="mpio", comm=MPI.COMM_WORLD), MPI.COMM_WORLD


def add_table(file, name):
    import numpy as np

    data = file.create_dataset(name, (ROWS, COLUMNS), "i4", maxshape=(None, COLUMNS), chunks=(5, COLUMNS))
    return data, base_of(data.name) + np.arange(ROWS * COLUMNS, dtype="i4").reshape(ROWS, COLUMNS)


def put(data, values, comm):
    """Independently, by rank 0."""
    if comm.rank == 0:
        data[...] = values


def write_program(path, parallel):
    import h5py
    import numpy as np

    file, comm = opened(path, "w", parallel)
    rank, ranks, last = comm.rank, comm.size, comm.size - 1
    regions = file.create_dataset("regions", (COUNT,), h5py.regionref_dtype, chunks=(7,), compression=1)
    table, values = add_table(file, "table")
    put(table, values, comm)
    if rank == last:
        made = [reference(file, index, "/table") for index in range(300)]
        for index in ALONE:
            regions[index] = made[index] if index % 2 else reference(file, index)
            assert described(file, regions[index]) == wanted(index), index  # what it reads is what it wrote
        for index in LATER:
            regions[index] = reference(file, index + 1, "/table")  # all of these are overwritten
    record = np.dtype([("to", h5py.regionref_dtype), ("why", h5py.string_dtype()), ("object", h5py.ref_dtype)])
    pairs = file.create_dataset("pairs", (ranks + 1,), record)
    for number in range(7):
        later, values = add_table(file, f"later/{number}")
        put(later, values, comm)
    comm.Barrier()
    for index in LATER[rank::ranks]:
        regions[index] = reference(file, index)
    mine = TOGETHER[rank * len(TOGETHER) // ranks : (rank + 1) * len(TOGETHER) // ranks]
    array = np.array([reference(file, index) for index in mine], h5py.regionref_dtype)
    if parallel:
        with regions.collective:
            regions[mine.start : mine.stop] = array
    else:
        regions[mine.start : mine.stop] = array
    pairs[rank] = (reference(file, 13 + rank), f"rank {rank}", file["later/0"].ref)
    # Attributes are written by all ranks, with the same value.
    file.attrs.create("region", reference(file, 14), dtype=h5py.regionref_dtype)
    table.attrs.create(
        "regions", np.array([reference(file, k) for k in range(15, 20)], h5py.regionref_dtype), dtype=h5py.regionref_dtype
    )
    assert described(file, file.attrs["region"]) == wanted(14)
    file.create_dataset("after", (3,), h5py.string_dtype())
    file.flush()
    compare(file, ranks)
    file["later/6"].resize((ROWS + 5, COLUMNS))  # an extent is that of now
    assert described(file, regions[13])[1] == (ROWS + 5, COLUMNS)
    file["later/6"].resize((ROWS, COLUMNS))
    if parallel:  # natively HDF5 cannot copy such a dataset
        file.copy("regions", "regions copy")
    compare(file, ranks)
    file.close()
    if rank == 0:
        print("right")


def compare(file, ranks, name="regions"):
    found = file[name][...]
    for index in range(COUNT):
        assert described(file, found[index]) == wanted(index), (index, described(file, found[index]), wanted(index))
    for index in range(0, COUNT, 5):
        assert described(file, file[name][index]) == wanted(index), index
    for rank in range(ranks):
        to, why, at = file["pairs"][rank]
        assert described(file, to) == wanted(13 + rank) and why == f"rank {rank}".encode(), rank
        assert file[at].name == "/later/0", rank
    assert not file["pairs"][ranks]["to"]
    assert described(file, file.attrs["region"]) == wanted(14)
    assert [described(file, to) for to in file["table"].attrs["regions"]] == [wanted(k) for k in range(15, 20)]


def read_program(path, ranks, parallel):
    file, comm = opened(path, "r", parallel)
    compare(file, int(ranks))
    if "regions copy" in file:
        compare(file, int(ranks), "regions copy")
    compare(file, int(ranks))
    file.close()
    print("right")


# ---- changed afterwards --------------------------------------------------------------------------


def append_program(path, parallel):
    """Swaps elements, adds a dataset, deletes a target."""
    import h5py
    import numpy as np

    file, comm = opened(path, "r+", parallel)
    regions = file["regions"]
    place = "by ranks" if parallel else "serial"
    if comm.rank == comm.size - 1:
        one, two = regions[1], regions[14]
        regions[1], regions[14] = two, one
        regions[2] = reference(file, 2)
    more = file.create_dataset(f"more {place}", (6,), h5py.regionref_dtype)
    for index in range(6)[comm.rank :: comm.size]:
        more[index] = reference(file, index + 18)
    file["table"].attrs.create(place, reference(file, 20), dtype=h5py.regionref_dtype)
    file.flush()
    kept = file.attrs["region"]
    file.attrs.create("again", kept, dtype=h5py.regionref_dtype)
    assert [described(file, to) for to in file["table"].attrs["regions"]] == [wanted(k) for k in range(15, 20)]
    assert np.all(more[...].astype(bool))
    file.close()
    if comm.rank == 0:
        print("right")


def appended_reader(path, swaps, parallel):
    file, _ = opened(path, "r", parallel)
    one, two = (14, 1) if int(swaps) % 2 else (1, 14)
    assert described(file, file["regions"][1]) == wanted(one)
    assert described(file, file["regions"][14]) == wanted(two)
    for index in set(range(COUNT)) - {1, 14}:
        assert described(file, file["regions"][index]) == wanted(index), index
    for name in ("more serial", "more by ranks"):
        if name in file:
            assert [described(file, to) for to in file[name][...]] == [wanted(k) for k in range(18, 24)], name
    for place in ("serial", "by ranks"):
        if place in file["table"].attrs:
            assert described(file, file["table"].attrs[place]) == wanted(20)
    assert described(file, file.attrs["again"]) == described(file, file.attrs["region"]) == wanted(14)
    file.close()
    print("right")


def delete_program(path):
    file, comm = opened(path, "r+", True)
    del file["later/0"]
    file.close()
    if comm.rank == 0:
        print("right")


def deleted_reader(path, stock):
    """Through the connector as natively: a reference that leads nowhere. The native view has null there."""
    file, _ = opened(path, "r", False)
    for index in range(COUNT):
        to = file["regions"][index]
        if index in NULL or wanted(index)[0] != "/later/0":
            assert described(file, to) == wanted(index), index
        elif stock == "stock":
            assert not to, index
        else:
            assert to, index
            try:
                described(file, to)
            except (ValueError, KeyError, RuntimeError, OSError, AttributeError):  # the last: it has no name
                continue
            raise AssertionError(f"{index} leads somewhere")
    file.close()
    print("right")


# ---- what is refused -----------------------------------------------------------------------------


def refused_program():
    import h5py
    import numpy as np
    from h5py import h5d, h5p, h5s, h5t
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    file, _ = opened("one.h5", "w", True)
    other, _ = opened("two.h5", "w", True)
    for each in (file, other):
        table, values = add_table(each, "table")
        put(table, values, comm)
        each.create_dataset("regions", (4,), h5py.regionref_dtype)
    mine = reference(other, 0, "/table")

    def refused(call, words):
        try:
            call()
        except Exception as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"not refused: {words}")

    def write(at, to):
        file["regions"][at] = to

    # Of another file, of another rank, and no reference at all.
    refused(lambda: write(comm.rank, mine), "neither made in this file nor read")
    reference(file, 0, "/table")
    raw = np.frombuffer((np.uint64((1 << 60) | ((comm.rank + 1) << 40))).tobytes() + b"\1\0\0\0", "u1").copy()
    memory = h5t.STD_REF_DSETREG
    space = file["regions"].id.get_space()
    space.select_elements([(comm.rank,)])
    refused(lambda: file["regions"].id.write(h5s.create_simple((1,)), space, raw, memory), "neither made in this file")
    assert not any(file["regions"][...].astype(bool))
    # Nor does the number of files opened in between make another file of it: two each time, and places for 256 at once.
    for number in range(20):
        opened("three.h5", "w", True)[0].close()
        last, _ = opened("three.h5", "w", True)
        last.create_dataset("regions", (4,), h5py.regionref_dtype)
        table, values = add_table(last, "table")
        reference(last, 0, "/table")
        refused(lambda: last["regions"].__setitem__(0, mine), "neither made in this file nor read")
        last.close()
        if number == 9:  # any opened file takes a place, these the ones up to shortly before the first is taken again
            for _ in range(220):
                opened("three.h5", "r", False)[0].close()
            comm.Barrier()
    # A fill value lies in the skeleton.
    creation = h5p.create(h5p.DATASET_CREATE)
    one = np.array([reference(file, 0, "/table")], h5py.regionref_dtype)
    try:
        creation.set_fill_value(one)
    except Exception:
        creation = None
    if creation is not None:
        refused(
            lambda: h5d.create(file.id, b"filled", h5t.STD_REF_DSETREG, h5s.create_simple((3,)), creation),
            "a fill value that is a reference to a region",
        )
    file.close()
    other.close()
    if comm.rank == 0:
        print("right")


# ---- the tests -----------------------------------------------------------------------------------


def this(*arguments):
    return [os.path.abspath(__file__), *map(str, arguments)]


def stock(*arguments, **more):
    """The plain wheel, without h5bento."""
    return run([os.environ["H5BENTO_PYTHON_NATIVE"], *this(*arguments)], native_env(), **more)


def serial(*arguments, **more):
    return run([python(), *this(*arguments)], bento_env(), **more)


def parallel(ranks, *arguments, env=None, **more):
    return mpirun(ranks, [python(), *this(*arguments)], env or bento_env(), **more)


def all_right(result, count=1):
    check(result.out.count("right") == count, f"not right:\n{result.tail()}")


def joined(programs):
    """The arguments of one process that runs all of them."""
    return [word for program in programs for word in ("then", *program)][1:]


def read_everywhere(readers, ranks, serially=(), without=()):
    """Each of the readers on these numbers of ranks, serially and without h5bento; there together with more programs."""
    for number in ranks:
        all_right(parallel(number, *joined((*reader, "parallel") for reader in readers)), number * len(readers))
    alone = [(*reader, "serial") for reader in readers]
    for start, more in ((serial, serially), (stock, without)):
        programs = [*alone, *more]
        all_right(start(*joined(programs)), len(programs))


def dumped(path, env):
    """What h5dump says of the references, without what differs from run to run: it prints an address in memory."""
    said = run([hdf5_tool("h5dump"), "-d", "regions", "-d", "pairs", path], env).out.replace(path, "FILE")
    return re.sub(r"DATASET \d+ ", "DATASET ", said)


def test_written():
    readers, ordinary = [], [("--read", "ordinary.h5", 1, "serial")]
    for ranks in some(1, (3, 2, 4)):
        path = f"{ranks}.h5"
        all_right(parallel(ranks, "--write", path, "parallel", env=bento_env(stats="stats")))
        check_diverted("stats", at_least=True)
        os.remove("stats")
        run([h5bento(), "verify", path], native_env())
        run([h5bento(), "export", path, f"{ranks}.native.h5"], bento_env())
        readers.append(("--read", path, ranks))
        ordinary.append(("--read", f"{ranks}.native.h5", ranks, "serial"))
    all_right(serial("--write", "serial.h5", "serial"))
    all_right(run([python(), *this("--write", "ordinary.h5", "serial")], native_env()))
    all_right(parallel(1, "--write", "one.h5", "parallel"))
    readers += [("--read", "serial.h5", 1), ("--read", "one.h5", 1)]
    read_everywhere(readers, some(1, (5, 1, 3)), without=ordinary)
    say("written by ranks and serially: right on other numbers of ranks, serially, exported and without h5bento")
    for env in (native_env(), bento_env()):  # it reads them as references of HDF5 1.12
        check(dumped("one.h5", env) == dumped("ordinary.h5", native_env()), "h5dump says something else")
    check(dumped("serial.h5", bento_env()) == dumped("ordinary.h5", native_env()), "h5dump says something else")
    say("the same of one rank and of a serial program, by h5dump too")


def test_appended():
    all_right(parallel(3, "--write", "x.h5", "parallel"))
    all_right(serial("--append", "x.h5", "serial"))
    read_everywhere([("--appended", "x.h5", 1)], some(1, (1, 5, 3)))
    all_right(parallel(2, *joined([("--append", "x.h5", "parallel"), ("--write", "z.h5", "parallel")])), 2)
    all_right(parallel(2, "--delete", "z.h5"))
    deleted = ("--deleted", "z.h5")
    read_everywhere([("--appended", "x.h5", 2)], some(1, (5, 1, 3)), [(*deleted, "connector")], [(*deleted, "stock")])
    say("changed by a serial program and by other ranks: right")
    say("a deleted target: its references lead nowhere, the others are right")


def test_refused():
    all_right(parallel(2, "--refused", timeout=100))
    say("references of other files and ranks, and fill values, are refused")


PROGRAMS = {
    "--write": lambda path, how: write_program(path, how == "parallel"),
    "--read": lambda path, ranks, how: read_program(path, ranks, how == "parallel"),
    "--append": lambda path, how: append_program(path, how == "parallel"),
    "--appended": lambda path, swaps, how: appended_reader(path, swaps, how == "parallel"),
    "--delete": delete_program,
    "--deleted": deleted_reader,
    "--refused": refused_program,
}
TESTS = {"written": test_written, "appended": test_appended, "refused": test_refused}


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    if sys.argv[1:2] and sys.argv[1] in PROGRAMS:
        words = sys.argv[1:]
        while words:
            end = words.index("then") if "then" in words else len(words)
            PROGRAMS[words[0]](*words[1:end])
            words = words[end + 1 :]
        sys.exit(0)
    if not sys.argv[1:2] or sys.argv[1] not in TESTS:
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2)
    from harness import bento_env, built, check, check_diverted, hdf5_tool, mpirun, native_env, python, run, run_test, say, some

    def h5bento():
        return built("bin", "h5bento")

    run_test(TESTS[sys.argv[1]], *sys.argv[2:])
