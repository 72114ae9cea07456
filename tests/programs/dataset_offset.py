#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""H5Dget_offset: where it says that the bytes are, they are, in the file, as long as nobody writes the dataset again; and
H5Pset_alignment.

    dataset_offset.py               all of it
    dataset_offset.py --run PART[,VARIABLE=VALUE]...    some of the parts, under the connector (launched.run_in_turn)
"""

import os
import sys

from harness import bento_env, check, mpirun, native_env, python, run, run_test, say, some
from launched import run_in_turn

MIB = 1 << 20


def values(dataset):
    return dataset[()].tobytes()


def bytes_at(path, offset, count):
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(count)


def is_there(path, dataset):
    """Are the bytes of the dataset where it says? Gives the offset."""
    offset = dataset.id.get_offset()
    assert offset is not None, f"{dataset.name}: no offset"
    assert bytes_at(path, offset, dataset.nbytes) == values(dataset), f"{dataset.name}: other bytes at {offset}"
    return offset


def arrays():
    import numpy as np

    rng = np.random.default_rng(7)
    yield "scalar", np.int32(5)
    for number, shape in enumerate(((881,), (1000,), (40, 50), (70, 1000), (3, 5, 7), (150_001, 2))):
        yield f"a{number}", rng.integers(0, 99, shape).astype((">i4", "u1", "<f8")[number % 3])


def serial():
    """While it is written, after a flush, after the close, in a later session."""
    import h5py

    offsets = {}
    with h5py.File("serial.h5", "w") as file:
        for name, array in arrays():
            file[name] = array
            is_there("serial.h5", file[name])
        offsets = {name: is_there("serial.h5", file[name]) for name, _ in arrays()}
        file.flush()
        assert offsets == {name: is_there("serial.h5", file[name]) for name, _ in arrays()}
        assert len(set(offsets.values())) == len(offsets)
    for mode in ("r", "r+"):
        with h5py.File("serial.h5", mode) as file:
            for name, array in arrays():
                assert is_there("serial.h5", file[name]) == offsets[name], name
                assert values(file[name]) == array.tobytes()
    # Written again, it lies somewhere else, and says so.
    with h5py.File("serial.h5", "r+") as file:
        for _ in range(3):
            for name, array in arrays():
                file[name][...] = file[name][()] + 1
                is_there("serial.h5", file[name])
            file.flush()


def nowhere():
    """What lies in no single place has no offset."""
    import h5py
    import numpy as np

    def none(dataset):
        found = dataset.id.get_offset()
        assert found is None, f"{dataset.name}: {found}"

    with h5py.File("nowhere.h5", "w") as file:
        none(file.create_dataset("unwritten", (100,), "i4"))
        none(file.create_dataset("chunked", data=np.arange(100), chunks=(100,)))
        none(file.create_dataset("filtered", data=np.arange(100), chunks=(100,), compression="gzip"))
        none(file.create_dataset("empty", (0,), "i4"))
        none(file.create_dataset("text", data=["a", "bc"], dtype=h5py.string_dtype()))
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((4,))
        none(h5py.Dataset(h5py.h5d.create(file.id, b"compact", h5py.h5t.NATIVE_INT32, space, compact)))
        file["compact"][...] = 1
        none(file["compact"])
        part = file.create_dataset("part", (100_000,), "i4")
        part[:50_000] = 1
        none(part)
        part[50_000:] = 2
        part[...] = 3
        is_there("nowhere.h5", part)
        part[7] = 4
        none(part)
        file.flush()
        none(part)
    with h5py.File("nowhere.h5", "r") as file:
        for name in file:
            none(file[name])


CASES = ((1000, 4096), (0, 7), (0, 1 << 20), (0, 1 << 60), (1, 1000), (1 << 16, 1 << 16), (2000, 3 * 4096), (1, (1 << 63) + 1), (1 << 60, 4096))


def wanted(threshold, alignment, size, chunk):
    """As docs/usage.md says."""
    return size >= threshold and alignment <= chunk // 4


def aligned(checksum="xxh3", chunk=4 * MIB):
    import h5py

    # Of others than the usual hashes nothing depends on the alignment.
    for number, (threshold, alignment) in enumerate(some(4, CASES) if checksum != "xxh3" else CASES):
        path = f"aligned-{checksum}-{number}.h5"
        options = {"alignment_threshold": threshold, "alignment_interval": alignment}
        with h5py.File(path, "w", **options) as file:
            found = {}
            for turn in range(2):
                for name, array in arrays():
                    file[f"{name}-{turn}"] = array
                    found[f"{name}-{turn}"] = is_there(path, file[f"{name}-{turn}"]), array.nbytes
            for name, (offset, size) in found.items():
                whole = size + 65536 + alignment < chunk  # fits one chunk
                if checksum != "md5" and whole and wanted(threshold, alignment, size, chunk):
                    assert offset % alignment == 0, f"{name}, of {size} bytes, at {offset}: {threshold}, {alignment}"
        with h5py.File(path, "r") as file:
            for name, array in arrays():
                for turn in range(2):
                    assert is_there(path, file[f"{name}-{turn}"]) == found[f"{name}-{turn}"][0]
                    assert values(file[f"{name}-{turn}"]) == array.tobytes()


def metadata():
    """The alignment is for raw data: metadata does not lie in holes, which would be memory. The list shows it as it was given."""
    import resource

    import h5py

    with h5py.File("metadata.h5", "w", alignment_threshold=0, alignment_interval=16 * MIB) as file:
        for number in range(300):
            file.create_group(f"g{number}")
        assert file.id.get_access_plist().get_alignment() == (0, 16 * MIB)
    assert os.path.getsize("metadata.h5") < 64 * MIB, os.path.getsize("metadata.h5")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1 << 20
    with h5py.File("metadata.h5", "r") as file:
        assert len(file) == 300 and file.id.get_access_plist().get_alignment() == (1, 1)


def again():
    """Aligned datasets that are written again and again take their old places."""
    import h5py

    with h5py.File("again.h5", "w", alignment_threshold=500, alignment_interval=65536) as file:
        for turn in range(30):  # each of 0.6 MB
            for name, array in arrays():
                if turn == 0:
                    file[name] = array
                elif array.nbytes < MIB:
                    file[name][...] = array + turn % 50
                if 500 <= array.nbytes < MIB:
                    assert is_there("again.h5", file[name]) % 65536 == 0
            file.flush()
            if turn == 5:
                size = os.path.getsize("again.h5")
    grown = os.path.getsize("again.h5") - size
    assert grown <= 8 * MIB, f"{grown} bytes more"


def mixed(seeds=30 if os.environ.get("H5BENTO_TEST_ALL") else 12):
    """Random creates, writes of wholes and parts, deletes, flushes and sessions, each session with another alignment."""
    import random

    import h5py
    import numpy as np

    for seed in range(seeds):
        rng = random.Random(seed)
        path = f"mixed-{seed % 3}.h5"
        held = {}
        mode = "w"
        for _ in range(rng.randint(1, 4)):
            options = {"alignment_threshold": rng.choice((0, 1, 500, 65536)), "alignment_interval": rng.choice((1, 8, 513, 4096, 100_000, MIB))}
            with h5py.File(path, mode, **options) as file:
                for _ in range(rng.randint(1, 60)):
                    step(rng, file, held)
                compare(path, file, held)
            mode = "r+"
        with h5py.File(path, "r") as file:
            compare(path, file, held)
            assert set(file) == set(held) and np.all([file[name].shape == held[name].shape for name in held])


def step(rng, file, held):
    import numpy as np

    kind = rng.random()
    if kind < 0.25 or not held:
        name = f"d{rng.randint(0, 20)}"
        if name not in held:
            held[name] = np.zeros(rng.choice((1, 7, 300, 5000, 20_000, 200_000)), "i4")
            file.create_dataset(name, data=held[name] if rng.random() < 0.5 else None, shape=held[name].shape, dtype="i4")
        return
    name = rng.choice(sorted(held))
    array, value = held[name], rng.randint(1, 99)
    if kind < 0.6:
        array[...] = np.arange(array.size) % 251 + value
        file[name][...] = array
    elif kind < 0.8:
        first = rng.randrange(array.size)
        array[first : first + 500] = value
        file[name][first : first + 500] = array[first : first + 500]
    elif kind < 0.85:
        del file[name], held[name]
    elif kind < 0.95:
        file.flush()
    elif file[name].id.get_offset() is not None:
        is_there(file.filename, file[name])


def compare(path, file, held):
    for name, array in held.items():
        assert (file[name][()] == array).all(), name
        if file[name].id.get_offset() is not None:
            is_there(path, file[name])


def ranks():
    """Each rank writes a dataset of its own; those in physical file 0 have an offset, on every rank."""
    import h5py
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    with h5py.File("ranks.h5", "w", driver="mpio", comm=comm, alignment_threshold=1, alignment_interval=8192) as file:
        sets = [file.create_dataset(f"d{rank}-{size}", (size,), "i4") for rank in range(comm.size) for size in (300, 200_000)]
        for data in sets:
            if data.name.startswith(f"/d{comm.rank}-"):
                data[...] = np.arange(data.size) + comm.rank
                found = data.id.get_offset()
                if found is not None:
                    assert bytes_at("ranks.h5", found, data.nbytes) == (np.arange(data.size, dtype="i4") + comm.rank).tobytes()
        file.flush()
        for data in sets:
            found = data.id.get_offset()
            if data.name.startswith("/d0-"):
                assert found is not None and found % 8192 == 0, (data.name, found)
                assert bytes_at("ranks.h5", found, data.nbytes) == np.arange(data.size, dtype="i4").tobytes()
            else:
                assert found is None, (data.name, found)


STOCK = """
import sys, h5py
for path in sys.argv[1:]:
    with h5py.File(path, 'r') as file:
        for name in file:
            data = file[name]
            if not isinstance(data, h5py.Dataset) or data.dtype.hasobject or data.id.get_space_status() == 0:
                continue  # without storage stock HDF5 says UNDEF + the user block
            offset = data.id.get_offset()
            if offset is not None:
                with open(path, 'rb') as raw:
                    raw.seek(offset)
                    assert raw.read(data.nbytes) == data[()].tobytes(), (path, name)
"""


def main():
    # First the one that measures the memory of this process.
    parts = ("metadata", "serial", "nowhere", "aligned", "again", "mixed", "aligned_md5,H5BENTO_CHECKSUM=md5")
    result = run([python(), "-B", os.path.abspath(__file__), "--run", *parts], bento_env(), timeout=300)
    check(result.out.rstrip().endswith("right"), result.tail())
    mpirun(2, [python(), "-B", os.path.abspath(__file__), "--run", "ranks"], bento_env(string="bento files=2"))
    names = sorted(name for name in os.listdir(".") if name.endswith(".h5"))
    run([os.environ["H5BENTO_PYTHON_NATIVE"], "-c", STOCK, *names], native_env())
    say("the bytes are where they are said to be")


def aligned_md5():
    aligned("md5")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run_in_turn(globals(), sys.argv[2:])
        print("right")
    else:
        run_test(main, containers=18)
