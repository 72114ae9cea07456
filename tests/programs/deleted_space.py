#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""A program that deletes datasets and flushes needs no more space than what it keeps, long before it closes the file. What can still be
reached is not taken for deleted.

    deleted_space.py                            the test
    [mpirun ...] deleted_space.py --run NAME... some of its programs
"""

import os
import re
import signal
import sys

COUNT = 40000  # elements of 8 bytes in a dataset: a large record
WINDOW, DATASETS, STEPS = 2, 4, 24


class Ranks:
    """A file of all ranks, or of this process alone."""

    def __init__(self, name, mode="w"):
        import h5py

        if "OMPI_COMM_WORLD_SIZE" in os.environ or "PMI_SIZE" in os.environ:
            from mpi4py import MPI

            self.comm = MPI.COMM_WORLD
            self.rank, self.size = self.comm.rank, self.comm.size
            self.file = h5py.File(name, mode, driver="mpio", comm=self.comm)
        else:
            self.comm, self.rank, self.size = None, 0, 1
            self.file = h5py.File(name, mode)

    @staticmethod
    def number():
        """Of the ranks of this program."""
        return int(os.environ.get("OMPI_COMM_WORLD_SIZE") or os.environ.get("PMI_SIZE") or 1)

    def values(self, seed):
        """Of all ranks."""
        import numpy as np

        return np.arange(self.size * COUNT, dtype="f8") + seed * 1e7

    def make(self, path, seed):
        data = self.file.create_dataset(path, (self.size * COUNT,), "f8")
        self.write(data, seed)
        return data

    def write(self, data, seed):
        mine = slice(self.rank * COUNT, (self.rank + 1) * COUNT)
        data[mine] = self.values(seed)[mine]

    def same(self, data, seed):
        if self.comm:
            self.comm.barrier()
        found, wanted = data[...], self.values(seed)
        if self.comm:
            self.comm.barrier()  # before anybody writes on
        wrong = (found != wanted).nonzero()[0]
        assert not len(wrong), f"rank {self.rank}: [{wrong[0]}] is {found[wrong[0]]} instead of {wanted[wrong[0]]}"

    def churn(self, times=10, below=""):
        """Makes it worth while to look for what is gone, and writes over its space."""
        for i in range(times):
            for name in (below + "old", below + "older"):
                if name in self.file:
                    del self.file[name]
            self.make(below + "old", 1000 + i)
            self.file.create_group(below + "older")
            self.file.flush()

    def roll(self, steps=STEPS, flushed=lambda step: None):
        for step in range(steps):
            for k in range(DATASETS):
                self.make(f"step{step}/v{k}", step * DATASETS + k)
            if step >= WINDOW:
                del self.file[f"step{step - WINDOW}"]
            self.file.flush()
            flushed(step)

    def check_rolled(self, steps=STEPS, more=()):
        wanted = {f"step{step}" for step in range(max(0, steps - WINDOW), steps)}
        found = set(self.file) - set(more)
        assert found == wanted, f"{sorted(found)} instead of {sorted(wanted)}"
        for name in sorted(wanted):
            assert set(self.file[name]) == {f"v{k}" for k in range(DATASETS)}, name
            for k in range(DATASETS):
                self.same(self.file[name][f"v{k}"], int(name[4:]) * DATASETS + k)


def allocated(name):
    return os.stat(name).st_blocks * 512


def rolling():
    """A window of steps, each in a group, with a flush after each step."""
    name = f"rolling-{Ranks.number()}.h5"
    ranks = Ranks(name)
    sizes = []
    ranks.roll(flushed=lambda step: sizes.append(allocated(name)))
    ranks.check_rolled()
    live = WINDOW * DATASETS * ranks.size * COUNT * 8
    ranks.file.close()
    sizes.append(allocated(name))
    if ranks.rank == 0:
        print(f"live {live}, at most {max(sizes)}, at the end {sizes[-1]}", flush=True)
    ranks = Ranks(name, "r")
    ranks.check_rolled()
    ranks.file.close()
    print("right")


def held():
    """Deleted while it is open: it can be read and written all the same, and is gone when it is closed."""
    ranks = Ranks("held.h5")
    data = ranks.make("held", 1)
    ranks.file.flush()
    del ranks.file["held"]
    for seed in (1, 2, 3):
        ranks.churn()
        ranks.same(data, seed)
        ranks.write(data, seed + 1)
        ranks.same(data, seed + 1)
    ranks.file["again"] = data  # with a link it stays for good
    ranks.churn()
    ranks.same(data, 4)
    data = None
    ranks.churn()
    ranks.same(ranks.file["again"], 4)
    before = allocated("held.h5")
    del ranks.file["again"]
    ranks.churn(30)
    assert allocated("held.h5") <= before + 8 * COUNT * ranks.size, "what was closed keeps its space"
    ranks.file.close()
    print("right")


def held_by_one():
    """The same on the last rank alone, where HDF5's rules for parallel programs end. No new dataset takes the place of its header."""
    ranks = Ranks("held_by_one.h5")
    data = ranks.make("held", 1)
    ranks.make("closed", 2)
    ranks.make("kept", 3)
    ranks.file.flush()
    if ranks.rank != ranks.size - 1:
        data = None
    del ranks.file["held"], ranks.file["closed"]
    for i in range(20):
        ranks.file.attrs["step"] = i
        ranks.file.flush()
        if data is not None:
            mine = data[...]
            assert (mine == ranks.values(1)).all(), mine
    data = None
    for i in range(20):
        ranks.file.attrs["step"] = i
        ranks.file.flush()
    ranks.same(ranks.file["kept"], 3)
    ranks.file.close()
    print("right")


def held_group():
    """A group was deleted while it is open: what is in it can be reached."""
    ranks = Ranks("held_group.h5")
    ranks.make("group/inside/data", 1)
    ranks.make("gone", 1)
    ranks.file.flush()
    group = ranks.file["group"]
    del ranks.file["group"], ranks.file["gone"]
    ranks.churn(20)
    ranks.same(group["inside/data"], 1)
    ranks.write(group["inside/data"], 2)
    inside = group["inside"]
    ranks.churn(20)
    ranks.same(inside["data"], 2)
    group = inside = None
    ranks.churn(20)
    ranks.file.close()
    print("right")


def held_attribute():
    """An open attribute holds its file, and not its dataset."""
    import h5py

    ranks = Ranks("held_attribute.h5")
    attributes = []
    for name in ("one", "two"):
        data = ranks.make(name, 1)
        data.attrs["about"] = 5
        attributes.append(h5py.h5a.open(data.id, b"about"))
    ranks.file.flush()
    data = None
    before = allocated("held_attribute.h5")
    del ranks.file["one"], ranks.file["two"]
    ranks.churn(20)
    assert allocated("held_attribute.h5") <= before + 2 * 8 * COUNT, "what attributes are open of keeps its space"
    attributes = None
    ranks.file.close()
    print("right")


def linked():
    """Another hard link is left, in another group; a dataset has no link yet."""
    ranks = Ranks("linked.h5")
    ranks.make("one", 1)
    ranks.file["group/other"] = ranks.file["one"]
    ranks.file["group/third"] = ranks.file["one"]
    unnamed = ranks.make(None, 2)
    ranks.file.flush()
    del ranks.file["one"]
    ranks.churn(20)
    ranks.same(ranks.file["group/other"], 1)
    del ranks.file["group/third"]
    ranks.churn(20)
    ranks.file["named"] = unnamed
    unnamed = None
    ranks.churn(20)
    ranks.same(ranks.file["group/other"], 1)
    ranks.same(ranks.file["named"], 2)
    ranks.file.move("group/other", "moved")
    del ranks.file["group"]
    ranks.churn(20)
    ranks.same(ranks.file["moved"], 1)
    ranks.file.close()
    ranks = Ranks("linked.h5", "r")
    ranks.same(ranks.file["moved"], 1)
    ranks.same(ranks.file["named"], 2)
    print("right")


def recreated():
    """Deleted and made again under its name, before and after flushes, sometimes as something else."""
    ranks = Ranks("recreated.h5")
    for i in range(30):  # each remainder by 2, 3 and 5 beside each other one
        if "x" in ranks.file:
            del ranks.file["x"]
        if i % 5 == 4:
            ranks.file.create_group("x/y")
        else:
            ranks.make("x", i)
        if i % 3:
            ranks.file.flush()
        if i % 5 != 4:
            ranks.same(ranks.file["x"], i)
            ranks.write(ranks.file["x"], i + 100)
        if i % 2:
            ranks.file.flush()
        if i % 5 != 4:
            ranks.same(ranks.file["x"], i + 100)
    ranks.make("last", 7)
    ranks.file.close()
    ranks = Ranks("recreated.h5", "r")
    ranks.same(ranks.file["last"], 7)
    assert list(ranks.file["x"]) == ["y"]
    print("right")


def mounted():
    """Files that are mounted: each for itself, whichever is flushed."""
    import h5py

    above, below = Ranks("above.h5"), Ranks("below.h5")
    above.file.create_group("place")
    above.make("place/hidden", 1)
    above.make("seen", 2)
    below.make("inside", 3)
    below.make("gone", 4)
    del below.file["gone"]
    h5py.h5f.mount(above.file.id, b"place", below.file.id)
    for below_it in ("", "place/", ""):
        above.churn(15, below_it)
        below.same(above.file["place/inside"], 3)
    inside = above.file["place/inside"]
    del above.file["place/inside"]
    above.churn(15)
    above.churn(15, "place/")
    below.same(inside, 3)
    inside = None
    h5py.h5f.unmount(above.file.id, b"place")
    above.same(above.file["place/hidden"], 1)
    above.same(above.file["seen"], 2)
    assert "inside" not in below.file
    below.churn(15)
    below.file.close()
    above.file.close()
    print("right")


def killed():
    """Ends without a close, and without a word."""
    ranks = Ranks("killed.h5")
    ranks.roll()
    ranks.make("lost", 5)
    if ranks.comm:
        ranks.comm.barrier()
    print("flushed", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def after_kill():
    ranks = Ranks("killed.h5", "r+")
    ranks.check_rolled()
    ranks.churn(20)
    ranks.check_rolled(more=("old", "older"))
    ranks.file.close()
    print("right")


def kept():
    ranks = Ranks("kept.h5")
    ranks.roll()
    print("right")


def kept_read():
    """The steps that keep=4 has kept. Some commits say only that something is gone."""
    newest, seen = int(os.environ["H5BENTO_TEST_NEWEST"]), []
    for step in range(newest - 3, newest + 1):
        os.environ["H5BENTO_STEP"] = str(step)
        ranks = Ranks("kept.h5", "r")
        last = max(int(name[4:]) for name in ranks.file)
        assert STEPS - 1 - (newest - step) <= last <= STEPS - 1, (last, step, newest)
        ranks.check_rolled(last + 1)
        ranks.file.close()
        seen.append(last)
    assert seen == sorted(seen) and seen[0] < seen[-1], seen
    print("right")


def stock_read():
    """What rolling() has left, without the connector: the files of these numbers of ranks."""
    for number in (1, 3):
        ranks = Ranks(f"rolling-{number}.h5", "r")
        ranks.size = number
        ranks.check_rolled(more=[name for name in ranks.file if name.startswith(".")])
        ranks.file.close()
    print("right")


# ---- the test ------------------------------------------------------------------------------------


def test():
    import harness
    from harness import bento_env, built, check, check_container, mpirun, native_env, parse_lines, python, run, say, some

    def program(*names, ranks=0, ok=(0,), **settings):
        command = [python(), "-B", os.path.abspath(__file__), "--run", *names]
        env = bento_env(**settings)
        result = mpirun(ranks, command, env, ok=ok, timeout=120) if ranks else run(command, env, ok=ok, timeout=120)
        if ok == (0,):
            check(result.out.count("right") == len(names) * max(ranks, 1), f"{names}: {result.tail()}")
        say(f"{', '.join(names)}, {ranks or 'no'} ranks: {result.seconds:.1f} s")
        return result

    everywhere = ("held", "recreated", "held_group", "linked")
    of_ranks = some(2, everywhere) + ([] if harness.REHEARSAL else ["held_by_one"])
    for ranks, more in ((0, [*everywhere, "held_attribute", "mounted"]), (3, of_ranks)):
        result = program("rolling", *more, ranks=ranks)
        found = parse_lines(r"live (\d+), at most (\d+), at the end (\d+)", result.out)[0]
        live, most, end = (int(found[i]) for i in (1, 2, 3))
        say(f"  {live} bytes are live, {most} were allocated at most, {end} at the end")
        if not harness.REHEARSAL:
            check_container(f"rolling-{ranks or 1}.h5")
            # What is deleted is found at a flush, and its space is free when the next one has committed that.
            check(most <= 2.5 * live + (1 << 20), f"{most} bytes are allocated for {live}")
    if harness.REHEARSAL:
        return
    # Stock HDF5 sees the same.
    stock = run([python(), "-B", os.path.abspath(__file__), "--run", "stock_read"], native_env())
    check(stock.out.count("right") == 1, stock.tail())
    for ranks in (0, 2):
        result = program("killed", ranks=ranks, ok=None)
        check("flushed" in result.out, f"it came to its end too early: {result.tail()}")
        if ranks:
            recovered = run([built("tests", "recover_file"), "killed.h5"], native_env())
            check("sound" in recovered.out and "lost: " not in recovered.out, recovered.tail())
        program("after_kill", ranks=ranks)
    program("kept", string="bento keep=4")
    # The error names those that can be opened.
    script = "import h5py\ntry: h5py.File('kept.h5')\nexcept OSError as error: print(error)"
    text = run([python(), "-c", script], bento_env(string="bento step=1")).out
    newest = max(int(number) for number in re.findall(r"\d+", text))
    program("kept_read", H5BENTO_TEST_NEWEST=str(newest))


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    if sys.argv[1:2] == ["--run"]:
        for name in sys.argv[2:]:
            globals()[name]()
    elif len(sys.argv) == 1:
        from harness import run_test

        run_test(test)
    else:
        print(__doc__.strip())
        sys.exit(0 if sys.argv[1] in ("-h", "--help") else 2)
