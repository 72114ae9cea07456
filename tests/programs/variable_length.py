#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""Strings, sequences and compounds of them in datasets of parallel programs: a random program writes them on several
ranks, independently and collectively; other numbers of ranks, a serial program and stock HDF5 read them back.

    variable_length.py random RANKS SEEDS     SEEDS random programs
    variable_length.py calls                  points, members, references, copies; what is refused
    variable_length.py types                  other types in memory than in the file (variable_types.c), 32 dimensions (many_dimensions.c)
    variable_length.py damage                 flipped bits are found
    variable_length.py kill COUNT             the last commit survives SIGKILLs
    variable_length.py many COUNT             COUNT strings of 0 to 10,000 bytes on 4 ranks
    variable_length.py many-killed COUNT      the same, killed behind a flush of one half
    mpirun ... variable_length.py --NAME ...  their programs
"""

import itertools
import os
import random
import sys

FILL = "not yet"
READERS = (1, 3, 7)


# ---- values: the same for everybody who knows dataset, element and version -----------------------


def chance_of(kind, index, version):
    return random.Random(f"{kind} {index} {version}")


def text_of(kind, index, version, longest=10000):
    chance = chance_of(kind, index, version)
    length = chance.choice((0, 1, chance.randrange(40), chance.randrange(1000), chance.randrange(longest + 1)))
    return (f"{kind}.{index}.{version}:" + "äbcdefghijklmnopqrstuvwxyz" * (length // 26 + 1))[:length]


def numbers_of(kind, index, version, dtype):
    import numpy as np

    chance = chance_of(kind, index, version)
    length = chance.choice((0, 1, chance.randrange(10), chance.randrange(800)))
    return (np.arange(length) * (version + 1) + chance.randrange(1000)).astype(dtype)


def value_of(kind, index, version):
    """As h5py is given it. Version 0: nobody wrote the element."""
    if kind == "compound":
        if version == 0:
            return (0, "", numbers_of(kind, index, 0, "f8")[:0], (0, 0))
        return (
            index * 1000 + version,
            text_of(kind, index, version, 300),
            numbers_of(kind, index, version, "f8"),
            (version, index % 100),
        )
    if kind == "numbers":
        return numbers_of(kind, index, version, "i4")[: None if version else 0]
    if version == 0:
        return FILL if kind == "filled" else ""
    return text_of(kind, index, version)


def same(kind, found, wanted):
    import numpy as np

    def text(value):
        return (value.decode() if isinstance(value, bytes) else value) or ""

    if kind == "compound":
        number, name, values, pair = wanted
        return (
            found["number"] == number
            and text(found["name"]) == name
            and np.array_equal(found["values"], values)
            and tuple(found["pair"]) == pair
        )
    if kind == "numbers":
        return np.array_equal(found, wanted)
    return text(found) == wanted


# ---- the random program --------------------------------------------------------------------------


class Model:
    """Which version each element of each dataset has: known to all, since chance is the same for all."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.shapes = {"text": (300,), "ascii": (23, 17), "filled": (200,), "numbers": (150,), "compound": (120,)}
        self.versions = {kind: {} for kind in self.shapes}
        self.version = 0

    def kinds(self, h5py, np):
        pair = np.dtype([("a", "i1"), ("b", ">i4")])
        record = np.dtype(
            [("number", "i8"), ("name", h5py.string_dtype()), ("values", h5py.vlen_dtype("f8")), ("pair", pair)]
        )
        return {
            "text": (h5py.string_dtype(), {}),
            "ascii": (h5py.string_dtype(), {"chunks": (5, 6), "compression": 4, "shuffle": True}),
            "filled": (h5py.string_dtype(), {"chunks": (30,), "maxshape": (None,), "fillvalue": FILL}),
            "numbers": (h5py.vlen_dtype("i4"), {"chunks": (40,), "maxshape": (None,), "compression": 1}),
            "compound": (record, {}),
        }

    def at(self, kind, index):
        return self.versions[kind].get(index, 0)

    def write(self, kind, index):
        self.versions[kind][index] = self.version

    def resize(self, kind, length):
        self.shapes[kind] = (length,)
        self.versions[kind] = {k: v for k, v in self.versions[kind].items() if k < length}

    def operation(self, ranks):
        """(what, dataset, whose elements are where, collective), the same on all ranks."""
        chance = self.chance
        self.version += 1
        kind = chance.choice(list(self.shapes))
        if kind in ("filled", "numbers") and chance.random() < 0.2:
            return "resize", kind, chance.randrange(1, 300), False
        rows = self.shapes[kind][0]
        first = chance.randrange(rows)
        last = chance.randrange(first, rows) + 1
        order = list(range(ranks))
        chance.shuffle(order)
        if chance.random() < 0.3:  # every so many
            parts = {rank: slice(first + order[rank], last, ranks) for rank in range(ranks)}
        else:
            cuts = sorted([first, last] + [chance.randint(first, last) for _ in range(ranks - 1)])
            parts = {order[i]: slice(cuts[i], cuts[i + 1]) for i in range(ranks)}
        return "write", kind, parts, chance.random() < 0.5


def flat(shape, row):
    return range(row * shape[1], row * shape[1] + shape[1]) if len(shape) == 2 else (row,)


def as_array(np, dtype, values, shape):
    array = np.empty(len(values), dtype)
    for number, value in enumerate(values):
        array[number] = value
    return array.reshape(shape)


def write_rows(data, rows, array, collective):
    """In h5py's own assignment sequences of equal lengths are one array of more dimensions."""
    import h5py
    from h5py import h5p, h5s

    first, last, step = rows.indices(data.shape[0])
    count = (len(range(first, last, step)),) + data.shape[1:]
    rest = len(data.shape) - 1
    space = data.id.get_space()
    space.select_hyperslab((first,) + (0,) * rest, count, (step,) + (1,) * rest)
    transfer = h5p.create(h5p.DATASET_XFER)
    transfer.set_dxpl_mpio(h5py.h5fd.MPIO_COLLECTIVE if collective else h5py.h5fd.MPIO_INDEPENDENT)
    data.id.write(h5s.create_simple(count), space, array, dxpl=transfer)


def random_program(seed, path):
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    model = Model(seed)
    kinds = model.kinds(h5py, np)
    file = h5py.File(path, "w", driver="mpio", comm=comm)
    for kind, (dtype, more) in kinds.items():
        file.create_dataset(kind, model.shapes[kind], dtype, **more)
    file.create_dataset("scalar", (), h5py.string_dtype())
    for _ in range(30):
        what, kind, parts, collective = model.operation(comm.size)
        data = file[kind]
        # Without it, writes of different ranks to the same elements would come in no order.
        comm.Barrier()
        if what == "resize":
            data.resize((parts,))
            model.resize(kind, parts)
            continue
        shape = model.shapes[kind]
        rows = {rank: range(shape[0])[part] for rank, part in parts.items()}
        mine = rows[comm.rank]
        values = [value_of(kind, index, model.version) for row in mine for index in flat(shape, row)]
        array = as_array(np, data.dtype, values, (len(mine),) + shape[1:])
        if len(mine):
            collective = collective and all(map(len, rows.values()))  # h5py makes no call for no elements
            write_rows(data, parts[comm.rank], array, collective)
        for taken in rows.values():
            for row in taken:
                for index in flat(shape, row):
                    model.write(kind, index)
        if model.chance.random() < 0.4:
            file.flush() if model.chance.random() < 0.5 else compare(file, model, collective=True)
        if model.chance.random() < 0.1:
            file.flush()
            file.close()
            file = h5py.File(path, "r+", driver="mpio", comm=comm)
    with file["scalar"].collective:
        file["scalar"][()] = "one"
    compare(file, model, collective=True)
    file.close()


def compare(file, model, collective=False):
    for kind, shape in model.shapes.items():
        data = file[kind]
        assert data.shape == shape, (kind, data.shape, shape)
        if collective:
            with data.collective:
                found = data[...]
        else:
            found = data[...]
        for index, value in enumerate(found.reshape(-1)):
            wanted = value_of(kind, index, model.at(kind, index))
            assert same(kind, value, wanted), f"{kind}[{index}] is {value!r:.200}, not {wanted!r:.200}"
        # A part, and single elements, in no order.
        rows = shape[0]
        for part in (slice(rows // 3, rows // 2), slice(1, rows, 7)):
            if collective:
                continue
            found = data[part]
            for row, values in zip(range(rows)[part], found):
                for index, value in zip(flat(shape, row), np_flat(values, shape)):
                    assert same(kind, value, value_of(kind, index, model.at(kind, index))), (kind, index)


def np_flat(values, shape):
    return values if len(shape) == 2 else (values,)


def model_after(seed, ranks):
    model = Model(seed)
    for _ in range(30):
        what, kind, parts, _ = model.operation(ranks)
        if what == "resize":
            model.resize(kind, parts)
            continue
        shape = model.shapes[kind]
        for part in parts.values():
            for row in range(shape[0])[part]:
                for index in flat(shape, row):
                    model.write(kind, index)
        if model.chance.random() < 0.4:
            model.chance.random()
        model.chance.random()
    return model


def random_reader(seed, ranks, path, parallel):
    import h5py

    if parallel:
        from mpi4py import MPI

        file = h5py.File(path, "r", driver="mpio", comm=MPI.COMM_WORLD)
    else:
        file = h5py.File(path, "r")
    compare(file, model_after(seed, ranks))
    assert file["scalar"][()] == b"one"
    file.close()
    print("right")


# ---- points, members, references, copies; what is refused ----------------------------------------


def calls_program():
    import h5py
    import numpy as np
    from h5py import h5s
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    rank, ranks = comm.rank, comm.size
    file = h5py.File("calls.h5", "w", driver="mpio", comm=comm)
    count = 60
    mine = range(rank, count, ranks)

    def refused(call, words):
        try:
            call()
        except Exception as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"not refused: {words}")

    numbers = file.create_dataset("numbers", (count,), h5py.vlen_dtype("i4"))
    lists = np.empty(len(mine), object)
    for at, index in enumerate(mine):
        lists[at] = np.arange(index, dtype="i4")
    numbers[rank::ranks] = lists
    file.flush()
    for index in range(count):
        assert np.array_equal(numbers[index], np.arange(index)), (index, numbers[index])

    # Members: some of them in memory only, or in the file only.
    record = np.dtype([("id", "i4"), ("name", h5py.string_dtype()), ("x", "f8")])
    data = file.create_dataset("records", (count,), record, chunks=(7,), compression=1)
    whole = np.empty(len(mine), record)
    for at, index in enumerate(mine):
        whole[at] = (index, f"name {index}", index / 2)
    data[rank::ranks] = whole
    file.flush()
    part = np.zeros(len(mine), np.dtype([("x", "f4")]))
    part["x"] = [index * 2 for index in mine]
    space = data.id.get_space()
    space.select_hyperslab((rank,), (len(mine),), (ranks,))
    data.id.write(h5s.create_simple((len(mine),)), space, part)
    file.flush()
    found = data[...]
    for index in range(count):
        assert tuple(found[index]) == (index, f"name {index}".encode(), index * 2), (index, found[index])
    names = data.fields("name")[...]
    assert list(names) == [f"name {index}".encode() for index in range(count)], names
    assert list(data.fields("x")[::5]) == [index * 2 for index in range(0, count, 5)]

    # Points, and boxes of several dimensions that are longer than one record.
    table = file.create_dataset("table", (60, 90), h5py.string_dtype())
    rows = slice(rank * 60 // ranks, (rank + 1) * 60 // ranks)
    table[rows] = np.array([[f"{row}/{column}" for column in range(90)] for row in range(60)[rows]], object)
    file.flush()
    chosen = table.id.get_space()
    chosen.select_elements([(row, (row * 7) % 90) for row in range(0, 60, 3)])
    out = np.empty((20,), object)
    table.id.read(h5s.create_simple((20,)), chosen, out)
    assert [x.decode() for x in out] == [f"{row}/{(row * 7) % 90}" for row in range(0, 60, 3)], out
    if rank == 0:
        chosen.select_elements([(row, 1) for row in range(60)])
        table.id.write(h5s.create_simple((60,)), chosen, np.array([f"new {row}" for row in range(60)], object))
    file.flush()
    assert [x.decode() for x in table[:, 1]] == [f"new {row}" for row in range(60)]
    assert table[10, 2] == b"10/2"

    # Sequences of strings.
    nested = file.create_dataset("nested", (12,), h5py.vlen_dtype(h5py.string_dtype()))
    lists = [[f"{index}.{k}" * k for k in range(index)] for index in range(12)]
    for index in range(rank, 12, ranks):
        nested[index] = np.array(lists[index], object)
    file.flush()
    for index in range(12):
        assert [x.decode() for x in nested[index]] == lists[index], (index, nested[index])

    # Committed type; a copy; deleted and made again; nothing written; several steps.
    file["type"] = h5py.string_dtype()
    kept = file.create_dataset("committed", (5,), file["type"])
    if rank == 0:
        kept[2] = "two"
    file.create_dataset("empty", (4,), h5py.string_dtype())
    file.create_dataset("gone", (4,), h5py.string_dtype())
    if rank == 1:
        file["gone"][:] = ["lost"] * 4
    del file["gone"]
    file.create_dataset("gone", (4,), h5py.vlen_dtype("u1"))
    file.flush()
    file.copy("table", "copy")
    file.copy("records", "records copy")
    file.flush()
    assert table.id.get_storage_size() > 0
    for index in range(60):
        assert (file["copy"][index] == table[index]).all()
    assert file["records copy"][7]["name"] == b"name 7"

    # Refused, and it says why.
    chunked = file.create_dataset("chunked", (8,), h5py.string_dtype(), chunks=(4,))
    refused(lambda: chunked.id.write_direct_chunk((0,), b"x" * 64), "use H5Dread and H5Dwrite")

    # References: made by one rank, then objects by all, then references to these by every rank.
    references = file.create_dataset("references", (30,), h5py.ref_dtype, chunks=(4,))
    lists = file.create_dataset("lists", (ranks,), h5py.vlen_dtype(h5py.ref_dtype))
    pairs = file.create_dataset("pairs", (ranks,), np.dtype([("to", h5py.ref_dtype), ("why", h5py.string_dtype())]))
    if rank == 1:
        for index in range(10):
            references[index] = file["table"].ref if index % 2 else file.ref
    for index in range(10):
        file.create_dataset(f"later/{index}", (3,), "i4")
    for index in range(10 + rank, 20, ranks):
        references[index] = file[f"later/{index - 10}"].ref
    lists[rank] = np.array([file[f"later/{k}"].ref for k in range(rank + 1)], h5py.ref_dtype)
    pairs[rank] = (file["nested"].ref, f"rank {rank}")
    file.flush()
    check_references(file, ranks)
    file.copy("references", "references copy")
    file.close()
    if rank == 0:
        print("right")


def shifted_program():
    """A rank that makes references to regions by itself has the same addresses all the same."""
    import h5py
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    file = h5py.File("shifted.h5", "w", driver="mpio", comm=comm)
    file.create_dataset("references", (comm.size,), h5py.ref_dtype)
    file.create_dataset("table", (20, 20), "i4")
    file.flush()
    if comm.rank == 1:
        made = [file["table"].regionref[k % 20, :3] for k in range(300)]
        assert all(file["table"].regionref.selection(to) == (1, 3) for to in made)
    file.create_dataset("later", (3,), "i4")
    file["references"][comm.rank] = file["later"].ref
    file.flush()
    for to in file["references"]:
        assert file[to].name == "/later"
    file.close()
    if comm.rank == 0:
        print("right")


def check_references(file, ranks):
    for index in range(30):
        to = file["references"][index]
        wanted = ("/table" if index % 2 else "/") if index < 10 else f"/later/{index - 10}" if index < 20 else None
        assert (file[to].name if to else None) == wanted, (index, to, wanted)
    for rank in range(ranks):
        assert [file[to].name for to in file["lists"][rank]] == [f"/later/{k}" for k in range(rank + 1)], rank
        to, why = file["pairs"][rank]
        assert file[to].name == "/nested" and why == f"rank {rank}".encode(), (rank, why)


def calls_reader():
    import h5py
    import numpy as np

    with h5py.File("calls.h5", "r") as file:
        check_references(file, 3)
        assert file[file["references copy"][12]].name == "/later/2"
        for name in ("table", "copy"):
            found = file[name][...]
            for row in range(60):
                wanted = [f"{row}/{column}".encode() for column in range(90)]
                wanted[1] = f"new {row}".encode()
                assert list(found[row]) == wanted, (name, row)
        for index in range(60):
            assert np.array_equal(file["numbers"][index], np.arange(index)), index
        for name in ("records", "records copy"):
            assert [tuple(x) for x in file[name][...]] == [(i, f"name {i}".encode(), i * 2) for i in range(60)], name
        for index in range(12):
            assert [x.decode() for x in file["nested"][index]] == [f"{index}.{k}" * k for k in range(index)]
        assert list(file["committed"][...]) == [b"", b"", b"two", b"", b""]
        assert list(file["empty"][...]) == [b""] * 4
        assert [len(x) for x in file["gone"][...]] == [0] * 4
    print("right")


# ---- kills and large ones ------------------------------------------------------------------------


def steps_program(path):
    """Writes step after step, all strings anew, and says which are committed: here, and in a file, which a kill of mpirun
    cannot take away on its way."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    file = h5py.File(path, "w", driver="mpio", comm=comm)
    data = file.create_dataset("text", (400,), h5py.string_dtype())
    said = os.open(path + ".flushed", os.O_WRONLY | os.O_CREAT | os.O_APPEND) if comm.rank == 0 else None
    for step in range(1, 10000):
        mine = range(comm.rank, 400, comm.size)
        data[comm.rank :: comm.size] = np.array([f"{step} " * (index * 7 % 500 + 1) for index in mine], object)
        file.flush()
        if comm.rank == 0:
            os.write(said, b"%d\n" % step)
            print("flushed", step, flush=True)


def steps_state(path):
    import h5py

    with h5py.File(path, "r") as file:
        found = file["text"][...]
        step = found[0].split()[0].decode()
        for index, value in enumerate(found):
            assert value.decode() == f"{step} " * (index * 7 % 500 + 1), (index, step, value[:40])
    print("step", step)


def many_length(index):
    return (index * 2654435761 % 4294967296) % 10001


def many_program(path, count, halves=False):
    """`halves`: half of each rank's strings, a flush, and the others for ever: to be killed."""
    import resource
    import time

    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    base = "abcdefghijklmnopqrstuvwxyz" * 400
    begun = time.time()
    with h5py.File(path, "w", driver="mpio", comm=comm) as file:
        data = file.create_dataset("text", (count,), h5py.string_dtype())
        first, last = comm.rank * count // comm.size, (comm.rank + 1) * count // comm.size

        def write(first, last):
            for at in range(first, last, 2000):
                part = range(at, min(at + 2000, last))
                data[part.start : part.stop] = np.array([f"{i}:{base}"[: many_length(i)] for i in part], object)

        if halves:
            write(first, (first + last) // 2)
            file.flush()
            print("flushed", flush=True)
            while True:
                write((first + last) // 2, last)
        write(first, last)
        comm.Barrier()
        written = time.time()
    memory = comm.reduce(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, MPI.MAX)
    if comm.rank == 0:
        print(f"wrote {written - begun:.1f} s, close {time.time() - written:.1f} s, memory of a process {memory} MiB")


def many_after_kill(path, count, ranks):
    import h5py

    base = "abcdefghijklmnopqrstuvwxyz" * 400
    with h5py.File(path, "r") as file:
        data = file["text"]
        for rank in range(ranks):
            first, last = rank * count // ranks, (rank + 1) * count // ranks
            for at in range(first, last, 2000):
                part = range(at, min(at + 2000, last))
                for index, value in zip(part, data[part.start : part.stop]):
                    wanted = f"{index}:{base}"[: many_length(index)] if index < (first + last) // 2 else ""
                    assert value.decode() == wanted, index
    print("right")


def many_reader(path, count, parallel):
    import h5py

    base = "abcdefghijklmnopqrstuvwxyz" * 400
    rank, size, more = 0, 1, {}
    if parallel:
        from mpi4py import MPI

        rank, size, more = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, {"driver": "mpio", "comm": MPI.COMM_WORLD}
    with h5py.File(path, "r", **more) as file:
        data = file["text"]
        assert data.shape == (count,)
        first, last = rank * count // size, (rank + 1) * count // size
        for at in range(first, last, 1999):
            part = range(at, min(at + 1999, last))
            for index, value in zip(part, data[part.start : part.stop]):
                assert value.decode() == f"{index}:{base}"[: many_length(index)], index
    print("right")


# ---- the tests -----------------------------------------------------------------------------------


def this(*arguments):
    return [os.path.abspath(__file__), *map(str, arguments)]


def stock(*arguments, **more):
    """The plain wheel, without h5bento."""
    return run([os.environ["H5BENTO_PYTHON_NATIVE"], *this(*arguments)], native_env(), **more)


def parallel(ranks, *arguments, env=None, **more):
    return mpirun(ranks, [python(), *this(*arguments)], env or bento_env(), **more)


def all_right(result, count):
    check(result.out.count("right") == count, f"not right:\n{result.tail()}")


def test_random(ranks, seeds):
    for seed in range(first_seed(1), first_seed(1) + int(seeds)):
        path = f"{seed}.h5"
        parallel(ranks, "--random", seed, path, env=bento_env(stats="stats"))
        check_diverted("stats", at_least=True)
        for readers in READERS[: 3 if seed % 2 else 2]:
            all_right(parallel(readers, "--read", seed, ranks, path, "parallel"), readers)
        all_right(run([python(), *this("--read", seed, ranks, path, "serial")], bento_env()), 1)
        all_right(stock("--read", seed, ranks, path, "serial"), 1)
        run([h5bento(), "verify", path], native_env())
        say(f"seed {seed}: right on {READERS} ranks, serially and without h5bento")
        os.remove("stats")


def test_calls():
    all_right(parallel(3, "--calls"), 1)
    all_right(run([python(), *this("--calls-read")], bento_env()), 1)
    all_right(stock("--calls-read"), 1)
    run([h5bento(), "export", "calls.h5", "native.h5"], bento_env())
    os.rename("calls.h5", "container.h5")
    os.rename("native.h5", "calls.h5")
    all_right(stock("--calls-read"), 1)
    say("members, points, references, copies: right, also in an exported file")
    all_right(parallel(2, "--shifted"), 1)
    say("a rank that makes references to regions alone keeps the addresses of the others")


def test_types():
    program = built("tests", "variable_types")
    all_right(mpirun(2, [program, "write", "x.h5"], bento_env(stats="stats")), 1)
    check_diverted("stats", at_least=True)
    all_right(mpirun(3, [program, "read", "x.h5"], bento_env()), 1)
    all_right(run([program, "read", "x.h5"], native_env()), 1)
    say("other types in memory, some members, memory managers: right, also without h5bento")
    program = built("tests", "many_dimensions")
    all_right(run([program, "write", "deep.h5"], bento_env()), 1)
    all_right(run([program, "read", "deep.h5"], bento_env()), 1)
    all_right(run([program, "read", "deep.h5"], native_env()), 1)
    say("32 dimensions: right, also without h5bento")


def test_damage():
    parallel(2, "--many", "x.h5", 3000)
    with open("x.h5", "rb") as file:
        content = file.read()
    for marker in (b"1234:abc", b"2500:abc"):
        at, found = content.find(marker), 0
        while at >= 0:
            with open("x.h5", "r+b") as file:
                file.seek(at + 9)
                file.write(bytes([content[at + 9] ^ 4]))
            result = run([h5bento(), "verify", "x.h5"], native_env(), ok=None)
            check(result.status != 0, f"a flipped bit at {at} is not found:\n{result.tail()}")
            if found == 0:
                read = run([python(), *this("--many-read", "x.h5", 3000)], bento_env(), ok=None)
                check(read.status != 0 and "match its checksum" in read.text, f"read all the same:\n{read.tail()}")
            with open("x.h5", "r+b") as file:
                file.seek(at + 9)
                file.write(content[at + 9 : at + 10])
            found += 1
            at = content.find(marker, at + 1)
        check(found == 2, f"{marker} is there {found} times: once in a record and once in the native view")
    all_right(run([python(), *this("--many-read", "x.h5", 3000)], bento_env()), 1)
    say("a flipped bit is found in the record and in the native view")


def test_kill(count):
    import subprocess
    import time

    chance = random.Random(int(os.environ.get("BENTO_FAULT_SEED", "1")))
    for number in range(int(count)):
        path = f"{number}.h5"
        program = subprocess.Popen(
            ["mpirun", "-n", "3", python(), *this("--steps", path)],
            env=bento_env(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        flushed = 0
        try:
            wanted = chance.randrange(1, 8)
            for line in program.stdout:
                if line.startswith("flushed "):
                    flushed = int(line.split()[1])
                if flushed >= wanted:
                    break
            time.sleep(chance.random() * 0.05)
        finally:
            harness.kill_ranks(program)
        rest = program.stdout.read()
        check(flushed, f"nothing was flushed:\n{rest}")
        with open(path + ".flushed") as said:
            flushed = int(said.read().split()[-1])
        state = run([python(), *this("--state", path)], bento_env()).out.split()
        check(state in (["step", str(flushed)], ["step", str(flushed + 1)]), f"flushed {flushed}, but {state}")
        run([h5bento(), "repair", path], native_env())
        check(run([python(), *this("--state", path)], bento_env()).out.split() == state, "after the recovery")
        check(stock("--state", path).out.split() == state, "without h5bento, after the recovery")
    say(f"{count} SIGKILLs: the last commit was there each time, and after a recovery for stock HDF5")


def test_many(count):
    count = int(count)
    timing = parallel(4, "--many", "x.h5", count, timeout=1800).out.strip()
    total = sum(map(many_length, range(count)))
    say(f"{count} strings, {total >> 20} MiB, 4 ranks: {timing}")
    for readers in READERS:
        result = parallel(readers, "--many-read", "x.h5", count, "parallel", timeout=1800)
        all_right(result, readers)
        say(f"{readers} ranks: read in {result.seconds:.1f} s")
    result = stock("--many-read", "x.h5", count, timeout=1800)
    all_right(result, 1)
    say(f"without h5bento: read in {result.seconds:.1f} s")
    run([h5bento(), "verify", "x.h5"], native_env(), timeout=1800)
    memory = int(timing.split()[-2])
    check(memory < 400, f"a process had {memory} MiB")


def test_many_killed(count):
    import subprocess
    import time

    count = int(count)
    program = subprocess.Popen(
        ["mpirun", "-n", "4", python(), *this("--many-halves", "x.h5", count)],
        env=bento_env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        flushed = sum(line == "flushed\n" for line in itertools.islice(program.stdout, 4))
        check(flushed == 4, f"{flushed} of 4 ranks have flushed")
        time.sleep(1 + count / 1e5)
    finally:
        harness.kill_ranks(program)
    program.stdout.read()
    all_right(run([python(), *this("--many-state", "x.h5", count, 4)], bento_env(), timeout=1800), 1)
    run([h5bento(), "repair", "x.h5"], native_env(), timeout=1800)
    all_right(stock("--many-state", "x.h5", count, 4, timeout=1800), 1)
    say(f"{count} strings, killed behind the flush of one half: that is there, and nothing else")


PROGRAMS = {
    "--random": lambda seed, path: random_program(int(seed), path),
    "--read": lambda seed, ranks, path, how: random_reader(int(seed), int(ranks), path, how == "parallel"),
    "--calls": calls_program,
    "--calls-read": calls_reader,
    "--shifted": shifted_program,
    "--steps": steps_program,
    "--state": steps_state,
    "--many": lambda path, count: many_program(path, int(count)),
    "--many-halves": lambda path, count: many_program(path, int(count), True),
    "--many-state": lambda path, count, ranks: many_after_kill(path, int(count), int(ranks)),
    "--many-read": lambda path, count, how="": many_reader(path, int(count), how == "parallel"),
}
TESTS = {
    "random": test_random,
    "calls": test_calls,
    "types": test_types,
    "damage": test_damage,
    "kill": test_kill,
    "many": test_many,
    "many-killed": test_many_killed,
}


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    if sys.argv[1:2] and sys.argv[1] in PROGRAMS:
        PROGRAMS[sys.argv[1]](*sys.argv[2:])
        sys.exit(0)
    if not sys.argv[1:2] or sys.argv[1] not in TESTS:
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2)
    import harness
    from harness import bento_env, built, check, check_diverted, first_seed, mpirun, native_env, python, run, run_test, say

    def h5bento():
        return built("bin", "h5bento")

    run_test(TESTS[sys.argv[1]], *sys.argv[2:])
