#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""What a reader has open, or keeps in buffers, when it comes to another step: right values of the newest one, or an
error. And what it reads when the file itself was replaced by another one.

    refreshed_objects.py             the test
    refreshed_objects.py --run NAME  one of its programs
"""

import contextlib
import os
import sys


def refresh(thing):
    """H5Orefresh, H5Drefresh and so on, for whatever it is; False if it was refused."""
    import ctypes

    with open("/proc/self/maps") as maps:
        library = next(line.split()[-1] for line in maps if "libhdf5.so" in line)
    return ctypes.CDLL(library).H5Orefresh(ctypes.c_int64(thing.id.id)) >= 0


def failed(call):
    """The text of the error, empty if there is none."""
    try:
        call()
    except (OSError, KeyError, RuntimeError) as error:
        return str(error)
    return ""


@contextlib.contextmanager
def writer(*steps, name="live.h5", **how):
    """A child process writes the file as the first of `steps` says, and goes on with the next one when it is told."""
    import h5py

    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(go[1])  # so that it ends with its parent
        with h5py.File(name, "w", **how) as file:
            for step in steps:
                step(file)
                file.flush()
                os.write(ready[1], b"1")
                os.read(go[0], 1)
        os._exit(0)
    os.close(ready[1])
    os.read(ready[0], 1)

    def goes_on():
        os.write(go[1], b"1")
        os.read(ready[0], 1)

    yield goes_on
    os.write(go[1], b"1")
    assert os.waitpid(child, 0)[1] == 0
    for fd in (ready[0], *go):
        os.close(fd)


def page_buffer():
    """Pages that the library keeps for itself."""
    import h5py
    import numpy as np
    from h5py import h5f, h5p

    def first(file):
        for i in range(20):
            file[f"g/{i}"] = np.arange(5)

    def second(file):
        for i in range(20):
            del file[f"g/{i}"]
            file[f"g/{i}"] = np.arange(7) + i + 0.5

    with writer(first, second, fs_strategy="page", fs_page_size=4096, fs_persist=True) as goes_on:
        access = h5p.create(h5p.FILE_ACCESS)
        access.set_page_buffer_size(1 << 20, 0, 0)
        file = h5py.File(h5f.open(b"live.h5", h5f.ACC_RDONLY, access))
        assert all(file[f"g/{i}"][...].tolist() == [0, 1, 2, 3, 4] for i in range(20))
        goes_on()
        assert refresh(file["/"]) and refresh(file["g"])
        for i in range(20):
            assert file[f"g/{i}"][...].tolist() == [k + i + 0.5 for k in range(7)], file[f"g/{i}"][...]
        file.close()
    print("right")


MAKES = {
    "contiguous": lambda file, value: file.create_dataset("d", (4,), "i4", data=[value] * 4),
    "chunked": lambda file, value: file.create_dataset("d", (4,), "i4", chunks=(2,), data=[value] * 4),
    "float": lambda file, value: file.create_dataset("d", (4,), "f4", data=[value] * 4),
    "text": lambda file, value: file.create_dataset("d", data=[str(value) * 3] * 4),
    "chunked text": lambda file, value: file.create_dataset("d", data=[str(value) * 3] * 4, chunks=(2,)),
}


def open_twice():
    """A dataset that is open twice, or was opened and not read, is replaced by another one in its place."""
    import h5py
    from h5py import h5d

    def replace(file, kind):
        del file["d"]
        MAKES[kind](file, 7)

    def values(dataset_id):
        return h5py.Dataset(dataset_id)[...].tolist()

    for version in ("earliest", "latest"):
        for before in MAKES:
            for after in MAKES:
                wanted = [b"777"] * 4 if "text" in after else [7] * 4
                steps = (lambda file: MAKES[before](file, 5), lambda file: replace(file, after))
                with writer(*steps, libver=version) as goes_on:
                    file = h5py.File("live.h5", "r")
                    one, two = h5d.open(file.id, b"d"), h5d.open(file.id, b"d")
                    goes_on()
                    assert refresh(file["/"])
                    case = (version, before, after)
                    assert failed(lambda: values(one)), case
                    assert failed(lambda: file["d"]) and failed(lambda: file.copy("d", file, "e")), case
                    with h5py.File("ordinary.h5", "w", userblock_size=512) as other:
                        assert "still open" in failed(lambda: file.copy("d", other, "d")), case
                    held = h5py.Dataset(one)
                    assert not refresh(held), case
                    del two
                    assert refresh(held) and values(held.id) == wanted, case
                    assert file["d"][...].tolist() == wanted, case
                    del one, held
                    file.close()
    print("right")


def in_metadata():
    """Values that lie in metadata: an open dataset that was not refreshed does not show what the library kept of them."""
    import h5py

    kind = h5py.string_dtype()

    def first(file):
        for name, chunks in (("a", None), ("b", (2,))):
            file.create_dataset(name, (4,), kind, chunks=chunks)[...] = ["old"] * 4
        file["n"] = 1

    def second(file):
        for name in "ab":
            file[name][...] = ["newer"] * 4
        file["n"][...] = 2

    with writer(first, second) as goes_on:
        file = h5py.File("live.h5", "r")
        open_ones = [file["a"], file["b"]]
        assert [one[0] for one in open_ones] == [b"old"] * 2
        goes_on()
        number = file["n"]
        assert refresh(number) and number[()] == 2
        for one in open_ones:
            assert "refresh it" in failed(lambda one=one: one[0])
            assert refresh(one) and one[...].tolist() == [b"newer"] * 4
        del open_ones, one, number
        file.close()
    print("right")


def types():
    """Committed types, which the library does not read anew while they are open."""
    import h5py
    import numpy as np

    def first(file):
        file["same"] = np.dtype("S5")
        file["d"] = np.dtype("S5")
        file["n"] = 1

    def second(file):
        del file["d"]
        file["d"] = np.dtype("S7")
        file["n"][...] = 2

    with writer(first, second) as goes_on:
        file = h5py.File("live.h5", "r")
        same, other, number = file["same"], file["d"], file["n"]
        goes_on()
        assert refresh(number) and refresh(file["/"])
        assert file["same"].dtype.itemsize == 5 and refresh(same)
        assert failed(lambda: file["d"]) and not refresh(other) and failed(lambda: file["d"])
        del other
        assert file["d"].dtype.itemsize == 7
        del same, number
        file.close()
    print("right")


def refused_first():
    """The object whose refresh is refused is the one that brought the file to the newest step: who opens it next."""
    import h5py
    import numpy as np
    from h5py import h5d

    def replace(file, kind):
        del file["d"]
        MAKES[kind](file, 7)

    def named(file, size):
        if "d" in file:
            del file["d"]
        file["d"] = np.dtype(f"S{size}")

    for before, after in (("contiguous", "float"), ("chunked", "contiguous"), ("text", "chunked"), ("float", "text")):
        steps = (lambda file: MAKES[before](file, 5), lambda file: replace(file, after))
        with writer(*steps) as goes_on:
            file = h5py.File("live.h5", "r")
            one, two = (h5py.Dataset(h5d.open(file.id, b"d")) for _ in range(2))
            goes_on()
            assert not refresh(one), (before, after)
            del one, two
            found = file["d"][...].tolist()
            assert found == ([b"777"] * 4 if "text" in after else [7] * 4), (before, after, found)
            file.close()

    with writer(lambda file: named(file, 5), lambda file: named(file, 7)) as goes_on:
        file = h5py.File("live.h5", "r")
        kind = file["d"]
        goes_on()
        assert not refresh(kind)
        del kind
        assert file["d"].dtype.itemsize == 7, file["d"].dtype
        file.close()
    print("right")


def again_and_again():
    """Each refresh of one object brings new headers of the others, not the first one only."""
    import h5py
    import numpy as np

    def step(number):
        def write(file):
            for name in ("steady", "changes") if number == 0 else ("changes",):
                if name in file:
                    del file[name]
                file[name] = np.full(4, number, ["i4", "f4"][number % 2] if name == "changes" else "i4")
            file.attrs["number"] = number

        return write

    for how in ({}, {"libver": "latest"}):
        with writer(*(step(number) for number in range(5)), **how) as goes_on:
            file = h5py.File("live.h5", "r")
            steady = file["steady"]
            for number in range(1, 5):
                goes_on()
                assert refresh(steady), number
                found = file["changes"][...].tolist(), int(file.attrs["number"])
                assert found == ([number] * 4, number), (how, number, found)
            file.close()
    print("right")


def replaced():
    """Another program creates the container anew, or an older copy is written over it: its readers must not see that."""
    import shutil
    import subprocess

    import h5py
    import numpy as np

    def write(value, more=0):
        code = f"""
import h5py, numpy as np
with h5py.File("r.h5", "w") as file:
    file["large"] = np.full(100000, {value}, "i4")
    file["small"] = np.full(10, {value}, "i4")
    for _ in range({more}):
        file.flush()
        file["small"][0] = 0
        file["small"][0] = {value}
"""
        subprocess.run([sys.executable, "-B", "-c", code], check=True)

    for how in ("created anew", "an older copy"):
        write(5)
        shutil.copy("r.h5", "copy.h5")
        if how == "an older copy":
            with h5py.File("r.h5", "r+") as file:
                file["large"][...] = 6
        file = h5py.File("r.h5", "r")
        assert file["small"].shape == (10,)
        if how == "created anew":
            write(7)
        else:
            with open("copy.h5", "rb") as old, open("r.h5", "r+b") as new:
                shutil.copyfileobj(old, new)
        for name in ("large", "small"):
            error = failed(lambda name=name: file[name][...])
            assert "replaced" in error, (how, name, error, np.unique(file[name][...]) if not error else None)
        root = file["/"]
        assert not refresh(root), how
        del root
        file.close()
        with h5py.File("r.h5", "r") as file:
            assert (file["large"][...] == (7 if how == "created anew" else 5)).all(), how
    print("right")


PROGRAMS = (page_buffer, open_twice, in_metadata, types, refused_first, again_and_again, replaced)


def test():
    for program in PROGRAMS:
        found = run([python(), "-B", os.path.abspath(__file__), "--run", program.__name__], bento_env())
        check(found.out.split() == ["right"], found.tail())
        say(f"{program.__name__}: {' '.join(program.__doc__.split())}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        {program.__name__: program for program in PROGRAMS}[sys.argv[2]]()
        sys.exit(0)
    from harness import bento_env, check, python, run, run_test, say

    run_test(test, containers=3)
