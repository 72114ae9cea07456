#!/usr/bin/env python3
# SPDX-FileCopyrightText: The h5bento developers
# SPDX-License-Identifier: BSD-3-Clause
"""arrive=onefile|native: what a program writes to a cache as a container lies under its name as something else.

    arrive.py forms     what arrives, from two files of two ranks
    arrive.py more      from one rank and from several, one file and several; written on, submitted, refused
    arrive.py trouble   a device that fails, a full disk, damage, a source that is written or vanishes, two daemons, limits
    arrive.py streams   one file of many: each kept step, ranks that came later, what is written on, what is damaged
    arrive.py streams_resume N  the daemon ends before N changes of one file, and what it has copied is not copied again
    arrive.py resume N  the daemon ends before N changes of a native file, and what it has done is not done again
    arrive.py kill N    the daemon ends N times at random moments
    arrive.py updates   the daemon ends before each change of the transfer file
    arrive.py changes   the daemon ends before every third change of a file at the destination
"""

import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from cache import WORLD, alone, arrived, cached, daemon_pid, end_all, entries, environment, fresh, settings, state, tool, wait_for
from harness import Skip, bento_env, built, check, check_is, hdf5_tool, mpirun, native_env, python, run, run_test, say, some
from native_view_check import check_h5diff, compare, stock_env, stock_python
from tool_export import check_ordinary

# Contiguous, chunked in pieces that fit and that do not, compressed, compact, attributes, links, what is never written.
WRITE = """
import sys, h5py, numpy as np
from mpi4py import MPI
def write(comm, path, value, count, mode):
    rank, size = comm.rank, comm.size
    mine = slice(count * rank // size, count * (rank + 1) // size)
    with h5py.File(path, mode, driver="mpio", comm=comm) as f:
        if "slab" not in f:
            f.create_dataset("slab", count, "f8")
            f.create_dataset("rows", (128, 96), "i4", chunks=(16, 32), fillvalue=-7)
            f.create_dataset("packed", (128, 96), "f4", chunks=(32, 96), compression="gzip", shuffle=True)
            f.create_dataset("noise", 100000, "f8", chunks=(50000,), compression=1)
            f.create_dataset("inside/never", 1 << 18, "i8")
            f.create_dataset("inside/grows", (0,), "i2", chunks=(1000,), maxshape=(None,))
            f["inside/again"] = f["slab"]
            f["soft"] = h5py.SoftLink("/inside/grows")
        f.attrs["about"] = np.arange(50) * value
        f["slab"][mine] = np.random.default_rng(value).random(count)[mine]
        lines = slice(128 * rank // size, 128 * (rank + 1) // size)
        f["rows"][lines, 3:77] = np.arange(128 * 74).reshape(128, 74)[lines] * value
        packed, noise = f["packed"], f["noise"]
        with packed.collective:
            packed[lines] = (np.arange(128 * 96).reshape(128, 96)[lines] + value).astype("f4")
        half = slice(100000 * rank // size, 100000 * (rank + 1) // size)
        with noise.collective:
            noise[half] = np.random.default_rng(value + 1).random(100000)[half]
        f["inside/grows"].resize((value * 100,))
        if rank == 0:
            f["inside/grows"][:50] = value

# The first so many ranks, or all, write one after the other: path, value, count, mode, ranks.
world = MPI.COMM_WORLD
for path, value, count, mode, ranks in zip(*(sys.argv[at::5] for at in range(1, 6))):
    size = int(ranks) or world.size
    comm = world.Split(0 if world.rank < size else MPI.UNDEFINED)
    if world.rank < size:
        write(comm, path, int(value), int(count), mode)
    world.Barrier()
"""
# Each rank its part.
READ = WORLD + """
import contextlib, sys, h5py, numpy as np
path, value, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
mine = slice(count * rank // size, count * (rank + 1) // size)
with h5py.File(path, "r", **how) as f:
    slab = f["slab"]
    with slab.collective if how else contextlib.nullcontext():
        assert np.array_equal(slab[mine], np.random.default_rng(value).random(count)[mine])
    assert np.array_equal(f["packed"][...], np.arange(128 * 96).reshape(128, 96) + value)
"""
COUNT = 200_000


def write(path, value, ranks=2, string=None, mode="w", count=COUNT, ok=(0,)):
    env = environment(string) if string else native_env()
    return mpirun(ranks, [python(), "-c", WRITE, path, str(value), str(count), mode, "0"], env, ok=ok)


def write_all(ranks, string, *sessions):
    """One program of so many ranks; its sessions: path, value, mode, and how many of them take part."""
    words = [str(word) for path, value, mode, part in sessions for word in (path, value, COUNT, mode, part)]
    mpirun(ranks, [python(), "-c", WRITE, *words], environment(string) if string else native_env())


def plain(path, value, count=COUNT):
    mpirun(2, [python(), "-c", READ, path, str(value), str(count)], native_env())


def newest(path, value, ranks=2):
    """Through the connector, wherever it is."""
    words = [path, str(value), str(COUNT)]
    if ranks > 1:
        mpirun(ranks, [python(), "-c", READ, *words], environment("bento"))
    else:
        alone(READ, environment("bento"), *words)


def is_container(path):
    with open(path, "rb") as file:
        return file.read(4) == b"sion"


def same(path, reference, kind):
    if kind == "native":
        check_ordinary(path)
        compare([(reference, path)])
        check_h5diff(reference, path)
    elif kind == "container":
        run([built("bin", "h5bento"), "verify", path], native_env())
        compare([(reference, path)])
        for name in glob.glob(os.path.basename(path) + "*"):
            with open(name, "rb") as one, open(os.path.join(os.path.dirname(path), name), "rb") as other:
                check(one.read() == other.read(), f"{path}: {name} differs")
    else:
        check(is_container(path), f"{path} is no container")
        run([built("bin", "h5bento"), "verify", path], native_env())
        compare([(reference, path)])


def scr_size(path):
    """What the index of SCR says of a file."""
    text = run([built("bin", "h5bento"), "transfer", "show", os.path.join(os.path.dirname(path), ".scr/index.scr")], native_env()).out
    lines = [line.strip() for line in text.splitlines()]
    at = max(index for index, line in enumerate(lines) if line == os.path.basename(path))
    at = next(index for index in range(at, 0, -1) if lines[index] == os.path.basename(path))
    tail = lines[at:] if "SIZE" in lines[at:] else lines
    return int(tail[tail.index("FILES") + 1]), int(tail[tail.index("SIZE") + 1])


def judged(path):
    place = os.environ.get("H5BENTO_JUDGE_KVTREE", "")
    if place:
        theirs = run([os.path.join(place, "bin", "kvtree_print"), path], native_env()).out
        check(theirs == run([built("bin", "h5bento"), "transfer", "show", path], native_env()).out, f"{path}: printed otherwise")


# ---- what arrives ----


def forms():
    fresh()
    write_all(1, None, ("native-3.h5", 3, "w", 1))
    each_form(("native", 2, 2), ("onefile", 2, 2))


def more():
    fresh()
    for value in (3, 4):
        write(f"native-{value}.h5", value)
    each_form(("native", 1, 1), ("native", 3, 2), ("onefile", 3, 3), ("onefile", 2, 1))
    written_on()
    by_hand()
    refused()
    beside_a_writer()
    for name in ("t", "pfs/.scr/index.scr"):
        judged(name)


def each_form(*forms):
    # What is there before, with a part that must go.
    write_all(2, "bento chunk=1M;files=2", *((f"pfs/{kind}-{files}.h5", 9, "w", 2) for kind, _, files in forms))
    for kind, ranks, files in forms:
        path = f"pfs/{kind}-{files}.h5"
        # A limit is kept account of by the thread that reads and by the one that writes.
        write(path, 3, ranks, settings(files=files, arrive=kind, bw="500M"))
        arrived(path)
        check(glob.glob(path + "*") == [path], f"{glob.glob(path + '*')}")
        check(not cached() and not os.listdir("c"), f"not evicted: {cached()}")
        same(path, "native-3.h5", kind)
        newest(path, 3, ranks=1 if kind == "native" else 2)
        if kind == "native":
            plain(path, 3)
        check_is(scr_size(path), (1, os.path.getsize(path)), f"{path}: SCR is told")


def written_on():
    """Before it arrives, in the cache; after that, as the ordinary file that it is."""
    path = "pfs/native-2.h5"
    write(path, 5, 2, settings(files=2, arrive="native", bw="100K"))
    check(not is_container(path), "the old one was replaced too early")
    plain(path, 3)
    newest(path, 5)
    # Who says nothing of arrive= changes nothing of it.
    write(path, 4, 3, "bento bw=0", "r+")
    newest(path, 4)
    tool("submit", path, "--bw", "0", ok=None)  # it may have arrived by now
    arrived(path)
    same(path, "native-4.h5", "native")
    plain(path, 4)
    before = os.stat(path).st_ino
    write(path, 3, 1, settings(arrive="native"), "r+")
    check(os.stat(path).st_ino == before and not cached(), "opened for writing, it went through the cache")
    plain(path, 3)
    check_ordinary(path)


def by_hand():
    write("pfs/off.h5", 4, 2, settings(files=2, arrive="onefile", flush="off"))
    check(len(cached()) == 2 and state("pfs/off.h5") == "none", "it was submitted")
    newest("pfs/off.h5", 4)
    tool("submit", "pfs/off.h5", "--wait")
    same("pfs/off.h5", "native-4.h5", "onefile")
    write("pfs/off.h5", 3, 1, "bento", "r+")  # and goes on as a container
    newest("pfs/off.h5", 3)
    # Another way than was wished, a name of its own, and the source stays.
    write("box.h5", 4, 3, "bento chunk=1M;files=3")
    for kind in ("native", "onefile"):
        tool("submit", os.path.abspath("box.h5"), f"pfs/other-{kind}.h5", "--arrive", kind, "--wait")
        same(f"pfs/other-{kind}.h5", "native-4.h5", kind)
    answer = json.loads(tool("status", "--json").out)["files"]
    check({one["arrive"] for one in answer} == {"container", "onefile", "native"}, f"{answer}")


def refused():
    def failing(string, *words, **more):
        env = environment(string)
        env.update(more)
        result = mpirun(2, [python(), "-c", WRITE, "pfs/r.h5", "1", "1000", "w", "0"], env, ok=None)
        check(result.status != 0 and all(word in result.text for word in words), f"{string}: {result.text}")

    failing("bento arrive=native", "arrive=native", "needs cache=")
    failing("bento", "arrive=onefile", "needs cache=", H5BENTO_ARRIVE="onefile")
    failing(settings(arrive="native", keep=3), "arrive=native", "keep=3")
    failing(settings(arrive="native", keep="all"), "arrive=native", "keep=all")
    failing(settings(arrive="hdf5"), "container, onefile or native")
    check(not os.path.exists("pfs/r.h5"), "refused, and there")
    for _ in range(2):
        write("steps.h5", 2, 2, "bento keep=2", "a" if os.path.exists("steps.h5") else "w")
    for source, words in (("steps.h5", "keeps steps"), ("native-3.h5", "no container")):
        result = tool("submit", source, "pfs/r.h5", "--arrive", "native", ok=None)
        check(result.status == 1 or result.status == 2, result.text)
        check(words in result.text and "native" in result.text, result.text)
    tool("submit", "steps.h5", "pfs/r.h5", "--arrive", "hdf5", ok=(2,))
    # Nothing replaces a part of itself.
    os.symlink("..", "pfs/up")
    for name in ("box.h5", "box.h5.000001", "pfs/up/box.h5.000002"):
        result = tool("submit", "box.h5", name, "--arrive", "native", ok=None)
        check(result.status == 2 and "its own destination" in result.text, f"{name}: {result.text}")
    newest("box.h5", 4)


HOLD = """
import h5py, os, sys, time
with h5py.File(sys.argv[1], "r+") as f:
    f["rows"][...] = 77
    open("held", "w").close()
    while not os.path.exists("letgo"):
        time.sleep(0.01)
with h5py.File(sys.argv[1], "r") as f:
    assert (f["rows"][...] == 77).all(), "replaced under its writer"
open("seen", "w").close()
"""


def beside_a_writer():
    """A native file that a program on stock HDF5 has open for writing is not replaced, and not created anew. What that program has
    written is newer than the copy: it stays until somebody says that it shall go."""
    path = "pfs/held.h5"
    write(path, 4, 1, settings(arrive="native", flush="sync"))
    write(path, 3, 1, settings(arrive="native", flush="off"))
    writer = subprocess.Popen([python(), "-c", HOLD, path], env=native_env())
    wait_for("it is open", lambda: os.path.exists("held"))
    tool("submit", path)
    wait_for("it is noticed", lambda: any("a program writes to" in one["problem"] for one in entries()))
    result = mpirun(1, [python(), "-c", WRITE, path, "1", "1000", "w", "0"], environment(settings(arrive="native")), ok=None)
    check(result.status != 0 and "open for writing" in result.text, result.text)
    os.kill(daemon_pid(), signal.SIGSTOP)
    open("letgo", "w").close()
    wait_for("it has been seen", lambda: os.path.exists("seen"))
    os.kill(daemon_pid(), signal.SIGCONT)
    check(writer.wait(timeout=30) == 0, "the writer")
    wait_for("it is given up", lambda: any("written by something else" in one["problem"] for one in entries()))
    run([python(), "-c", "import h5py, sys; assert (h5py.File(sys.argv[1])['rows'][...] == 77).all()", path], native_env())
    tool("submit", path, "--wait")
    plain(path, 3)


# ---- one file of many, stream by stream ----

# Everything that each step holds, in one number.
STEPS = """
import hashlib, os, sys, h5py, numpy as np
for step in sys.argv[2:]:
    os.environ["H5BENTO_STEP"] = step
    with h5py.File(sys.argv[1], "r") as f:
        seen = hashlib.sha256(f.attrs["about"][...].tobytes())
        f.visititems(lambda name, one: seen.update(name.encode() + (one[...].tobytes() if isinstance(one, h5py.Dataset) else b"")))
        print(seen.hexdigest())
"""


def steps(path):
    """What each kept step holds."""
    about = json.loads(run([built("bin", "h5bento"), "info", "--json", path], native_env()).out)
    kept = range(about["oldest_step"], about["newest_step"] + 1)
    found = alone(STEPS, environment("bento"), path, *kept).out.split()
    check(len(found) == len(kept), f"{found}")
    return dict(zip(kept, found))


def bring(source, path, file, ok=0, **variables):
    """As one file; what the daemon said."""
    submit("onefile", source, path, file)
    with Daemon(file=file, **variables) as daemon:
        return daemon.ends(ok)


def streams():
    fresh()
    write_all(1, None, *((f"native-{value}.h5", value, "w", 1) for value in range(4, 8)))
    # By three ranks, then by more, and by fewer.
    sessions = (("box.h5", 3, "w", 3), ("box.h5", 4, "r+", 5), ("box.h5", 5, "r+", 2), ("other.h5", 3, "w", 3))
    write_all(5, "bento chunk=1M;files=3;keep=3", *sessions)
    check(len(glob.glob("box.h5*")) == 4, f"{glob.glob('box.h5*')}")
    before = steps("box.h5")
    check(len(set(before.values())) == 3, f"{before}")
    path = "one.h5"
    said = bring("box.h5", path, "t")
    check(not said and glob.glob(path + "*") == [path], said)
    same(path, "native-5.h5", "onefile")
    check(steps(path) == before, "the steps are not the same")
    check_sion_file(path)
    # Written on by fewer ranks, then by more than ever, which get a file of their own.
    for value, ranks in ((6, 2), (7, 6)):
        write(path, value, ranks, "bento keep=3", "r+")
        newest(path, value, ranks=1 if value == 6 else 2)
        same(path, f"native-{value}.h5", "onefile")
        check_sion_file(path)
        now = steps(path)
        check(all(now[step] == before[step] for step in now if step in before), "a step has changed")
    check(len(now) == 3 and len(glob.glob(path + "*")) == 2, f"{now}, {glob.glob(path + '*')}")
    # And into one file again.
    said = bring(path, "pfs/again.h5", "t")
    check(not said and steps("pfs/again.h5") == now, said)
    from_cache()
    large_pieces()
    not_as_it_is()
    damaged_streams()
    no_room_for_more()


def no_room_for_more():
    """Terabytes in holes: a view that would need another physical file, which nobody would name."""
    write("huge.h5", 3, 3, "bento chunk=700G;files=3")
    bring("huge.h5", "pfs/huge.h5", "huge")
    newest("pfs/huge.h5", 3, ranks=1)
    check(glob.glob("pfs/huge.h5*") == ["pfs/huge.h5"], f"{glob.glob('pfs/huge.h5*')}")
    alone(READ, native_env(), "pfs/huge.h5", "3", str(COUNT))
    for path in glob.glob("huge.h5*") + ["pfs/huge.h5"]:
        os.remove(path)


def check_sion_file(path):
    import check_sion

    found = check_sion.check_container(path, bento=True)
    check(not found.problems, f"{path}: {found.problems[:3]}")
    found.container.close()


def from_cache():
    path = "pfs/cached.h5"
    write(path, 3, 2, settings(files=2, arrive="onefile", keep=3, flush="off"))
    write(path, 4, 2, "bento keep=3;flush=sync", "r+")
    same(path, "native-4.h5", "onefile")
    # What arrives as native has one step: who writes on may not ask for more, and is told so at the open.
    path = "pfs/cached-native.h5"
    write(path, 3, 2, settings(files=2, arrive="native", flush="off"))
    result = mpirun(2, [python(), "-c", WRITE, path, "4", "1000", "r+", "0"], environment("bento keep=2"), ok=None)
    check(result.status != 0, "keep=2 was accepted")
    check("created with arrive=native" in result.text and "keep=2" in result.text, result.text)
    write(path, 4, 2, "bento flush=sync", "r+")
    same(path, "native-4.h5", "native")
    path = "pfs/cached.h5"
    check(glob.glob(path + "*") == [path] and len(steps(path)) == 2, f"{glob.glob(path + '*')}")


# Turns FIRST to LAST of a file, each a session; turn 4 has two rows, the others three.
PIECES = WORLD + """
import sys, h5py, numpy as np
path, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for turn in range(first, last + 1):
    with h5py.File(path, "w" if turn == 1 else "r+", libver="latest", **how) as f:
        f.attrs.create(f"large {turn}", np.arange(30000) * turn)
        rows = 2 if turn == 4 else 3
        d = f.create_dataset(f"d{turn}", (rows, 40000), "f8")
        for row in range(rank, rows, size):
            d[row] = np.random.default_rng(turn).random(40000) * row
"""


def large_pieces():
    """The native view has pieces that fit no chunk, in blocks that no stream may use; streams go on behind them."""
    done = 0
    for turn in sorted(some(1, (3, 1, 2))):
        alone(PIECES, native_env(), f"plain-{turn}.h5", 1, turn)
        mpirun(3, [python(), "-c", PIECES, "pieces.h5", done + 1, turn], environment("bento chunk=64K;files=2"))
        done = turn
        said = bring("pieces.h5", f"pfs/pieces-{turn}.h5", f"p{turn}")
        check(not said, said)
        same(f"pfs/pieces-{turn}.h5", f"plain-{turn}.h5", "onefile")
    alone(PIECES, native_env(), "plain-4.h5", 1, 4)
    mpirun(2, [python(), "-c", PIECES, "pfs/pieces-3.h5", 4, 4], environment("bento"))
    same("pfs/pieces-3.h5", "plain-4.h5", "onefile")


def not_as_it_is():
    """What has no streams that could be copied is written anew, and says why; with older steps it is not."""
    write("tiny.h5", 3, 2, "bento files=2;view=off")
    said = bring("tiny.h5", "pfs/tiny.h5", "tiny")
    check(not said and run([stock_python(), "-c", "import h5py, sys; h5py.File(sys.argv[1])", "pfs/tiny.h5"], stock_env(), ok=None).status, said)
    newest("pfs/tiny.h5", 3, ranks=1)
    for keep, code in ((1, 0), (3, 1)):
        words = ["died.h5", "3", str(COUNT), "w", "0"]
        dies = mpirun(2, [python(), "-c", WRITE + DIES, *words], environment(f"bento chunk=1M;files=2;keep={keep}"), ok=None)
        check(dies.status != 0 and os.path.exists("died.h5.000001"), f"it did not die: {dies.text}")
        said = bring("died.h5", f"pfs/died-{keep}.h5", f"d{keep}", ok=code)
        if keep == 1:
            check("written anew as one file: a program began to write it" in said, said)
            run([built("bin", "h5bento"), "verify", "pfs/died-1.h5"], native_env())
        else:
            check("it keeps steps 1 to 2" in problem("d3") and "let it arrive as container" in problem("d3"), problem("d3"))
            check(not os.path.exists("pfs/died-3.h5"), "it arrived")


DIES = """
import os, signal, sys, h5py
from mpi4py import MPI
with h5py.File(sys.argv[1], "r+", driver="mpio", comm=MPI.COMM_WORLD) as f:
    f["rows"][MPI.COMM_WORLD.rank] = 9
    f.flush()
    MPI.COMM_WORLD.barrier()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def damaged_streams():
    """A file that was cut off, or is another container's: a clear error, and no name."""

    def cut():
        os.truncate("bad.h5.000002", 200_000)

    def other():
        os.replace("other.h5.000002", "bad.h5.000002")

    for change, words in ((cut, "bad.h5.000002' has 200000 bytes"), (other, "bad.h5.000002")):
        for name in glob.glob("box.h5*"):
            shutil.copy(name, name.replace("box", "bad"))
        change()
        bring("bad.h5", "pfs/bad.h5", change.__name__, ok=1)
        check(words in problem(change.__name__), problem(change.__name__))
        check(not os.path.exists("pfs/bad.h5"), "damage arrived")
        nothing_left()
    for name in glob.glob("bad.h5*") + glob.glob("other.h5*") + glob.glob("died.h5*"):
        os.remove(name)


def streams_resume(count):
    fresh()
    for path, string in (("box.h5", "bento chunk=1M;files=2;view=off"), ("old.h5", "bento chunk=1M;files=2")):
        mpirun(2, [python(), "-c", PARTS, path, "8" if path == "old.h5" else "3"], environment(string))
    with open("old.h5", "rb") as file:
        old = file.read()
    prepare("onefile", "4M")
    with Daemon(FAULT_NAME="/new/box.h5", FAULT_COUNT=os.path.abspath("whole")) as daemon:
        daemon.ends()
    with open("pfs/box.h5", "rb") as file:
        wanted = file.read()
    calls, whole = counted("whole")
    check(whole > 5 * BURST, f"{whole} bytes are too few to say anything")
    for at in sorted({1 + (calls - 1) * i // (int(count) - 1) for i in range(int(count))}):
        die_at("onefile", at)
        with open("pfs/box.h5", "rb") as file:
            check(file.read() == old, "the old one is another one")
        with Daemon(FAULT_NAME="/new/box.h5", FAULT_COUNT=os.path.abspath("second")) as daemon:
            daemon.ends()
        with open("pfs/box.h5", "rb") as file:
            check(file.read() == wanted, f"death {at}: other bytes have arrived")
        nothing_left()
        first, second = counted("first")[1], counted("second")[1]
        say(f"death {at} of {calls}: {first} + {second} bytes of {whole}")
        check(first + second - whole <= BURST + (256 << 10), f"death {at}: {first + second - whole} bytes were written again")


# ---- trouble ----


class Daemon:
    def __init__(self, *more, file="t", until_done=True, **variables):
        env = native_env()
        env.update(variables)
        if variables:
            env["LD_PRELOAD"] = built("tests", "faults.so")
        command = [built("bin", "h5bento"), "transfer", "run", "--file", os.path.abspath(file), *more, *["--until-done"][:until_done]]
        self.process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end(signal.SIGKILL)

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.communicate(timeout=30)

    def ends(self, code=0, seconds=60):
        """What it said."""
        found = self.process.wait(timeout=seconds)
        said = self.process.stderr.read().decode()
        check(found == code, f"exit status {found}: {said}")
        return said


def status(file="t"):
    return json.loads(tool_on(file, "status", "--json", ok=None).out)["files"]


def tool_on(file, *arguments, ok=(0,)):
    return run([built("bin", "h5bento"), "transfer", *arguments, "--file", os.path.abspath(file)], native_env(), ok=ok)


def submit(kind, source, destination, file, *more, bw="0"):
    tool_on(file, "submit", source, destination, "--arrive", kind, "--no-start", "--bw", bw, *more)


def place(kind, test, source="box.h5"):
    """Where it arrives: a container of several files keeps its name."""
    if kind != "container":
        return f"pfs/{test}-{kind}.h5"
    os.makedirs(f"pfs/{test}", exist_ok=True)
    return f"pfs/{test}/{source}"


def under_way(path):
    return glob.glob(os.path.join(os.path.dirname(path), ".h5bento-*/new/*"))


def nothing_left(folder="pfs"):
    left = [name for _, folders, names in os.walk(folder) for name in folders + names if name.startswith(".h5bento-")]
    check(not left, f"left: {left}")


def problem(file):
    return status(file)[0]["problem"]


def trouble():
    fresh()
    write("native-3.h5", 3)
    write("box.h5", 3, 2, "bento chunk=1M;files=2")
    for kind in ("container", "native", "onefile"):
        device(kind)
        full_disk(kind)
        sources(kind)
        if kind != "container":  # transfer.py has these
            limits(kind)
            damage(kind)


def device(kind):
    """EIO at the destination, while it is written and when it is synced; it is tried again until the device is well."""
    path = place(kind, "device")
    name = os.path.basename(path)
    # In what is made, in what says that it is complete, and in what SCR is told: then it has its name already.
    for where, named in ((f"/new/{name}", False), ("/complete", False), ("/.scr/", True)):
        write(path, 8, 1, "bento chunk=1M")
        open("broken", "w").close()
        submit(kind, "box.h5", path, "d")
        with Daemon(file="d", FAULT_NAME=where, FAULT_WHILE=os.path.abspath("broken")) as daemon:
            wait_for("it is noticed", lambda: "Input/output error" in problem("d"))
            check(where.strip("/") in problem("d") and "/proc/" not in problem("d"), problem("d"))
            check(all(one["state"] == "waiting" and one["written"] < one["bytes"] for one in status("d")), f"{status('d')}")
            if named:
                same(path, "native-3.h5", kind)
            else:
                newest(path, 8)
            os.remove("broken")
            daemon.ends()
        same(path, "native-3.h5", kind)
        nothing_left()
        for left in glob.glob(path + "*"):
            os.remove(left)


def full_disk(kind):
    os.makedirs("small", exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", "small"], capture_output=True).returncode != 0:
        say("no right to mount: the full disk is not tested")
        return
    try:
        with open("small/ballast", "wb") as file:
            file.write(bytes(3 << 20))
        path = "small/room.h5" if kind != "container" else "small/box.h5"
        submit(kind, "box.h5", path, "f")
        with Daemon(file="f") as daemon:
            wait_for("it is noticed", lambda: "No space" in problem("f"))
            check(status("f")[0]["state"] == "waiting", "state")
            os.remove("small/ballast")
            daemon.ends()
        same(path, "native-3.h5", kind)
        nothing_left("small")
    finally:
        run(["umount", "small"], native_env())


def limits(kind):
    """BW holds, and STOP and RUN are obeyed while it runs."""
    path = f"pfs/slow-{kind}.h5"
    submit(kind, "box.h5", path, "l", bw="800K")
    with Daemon(file="l", until_done=False) as daemon:
        wait_for("it is under way", lambda: glob.glob("pfs/.h5bento-*/new/*"))
        run([built("tests", "transfer_command"), os.path.abspath("l"), "STOP"], native_env())
        wait_for("STOPPED", lambda: json.loads(tool_on("l", "status", "--json").out)["state"] == "STOPPED", 3)
        check(all(one["written"] < one["bytes"] for one in status("l")) and not os.path.exists(path), "written")
        run([built("tests", "transfer_command"), os.path.abspath("l"), "RUN"], native_env())
        began = time.monotonic()
        wait_for("it has arrived", lambda: all(one["state"] == "arrived" for one in status("l")))
        took = time.monotonic() - began
        wait_for("it is over", lambda: not under_way(path) and not glob.glob("pfs/.h5bento-*"))
    check(took > 0.7 * os.stat(path).st_blocks * 512 / 800e3 - 1, f"{took:.1f} s")
    same(path, "native-3.h5", kind)
    say(f"{kind}: {os.stat(path).st_blocks * 512} bytes at 800K took {took:.1f} s")


def sources(kind):
    """Written again, and taken away, while it is read. Two daemons."""
    path = place(kind, "again", "src.h5")
    shutil.copy("box.h5", "src.h5"), shutil.copy("box.h5.000001", "src.h5.000001")
    submit(kind, "src.h5", path, "s", bw="800K")
    both = [Daemon(file="s"), Daemon(file="s")]
    wait_for("it is under way", lambda: under_way(path))
    write("src.h5", 4, 2, "bento chunk=1M;files=2")
    tool_on("s", "submit", "src.h5", path, "--arrive", kind, "--no-start", "--bw", "0")
    codes = sorted(one.process.wait(timeout=60) for one in both)
    check(codes == [0, 1], f"two daemons: {codes}")
    for one in both:
        one.end()
    newest(path, 4)
    nothing_left()
    gone = place(kind, "gone", "src.h5")
    submit(kind, "src.h5", gone, "v", bw="400K")
    with Daemon(file="v") as daemon:
        wait_for("it is under way", lambda: under_way(gone))
        os.remove("src.h5"), os.remove("src.h5.000001")
        daemon.ends(1)
    check(not os.path.exists(gone) and "src.h5" in problem("v"), problem("v"))
    nothing_left()


def damage(kind):
    """A damaged source never gets a name."""
    for where in ("slab", "noise"):
        shutil.copy("box.h5", "bad.h5"), shutil.copy("box.h5.000001", "bad.h5.000001")
        spoil("bad.h5", where)
        path = f"pfs/bad-{kind}.h5"
        file = f"b-{kind}-{where}"
        submit(kind, "bad.h5", path, file)
        with Daemon(file=file) as daemon:
            daemon.ends(1)
        check(not os.path.exists(path) and status(file)[0]["state"] == "failed", f"{where}: damage arrived")
        nothing_left()
        say(f"{kind}, {where}: {problem(file)}")
    for name in glob.glob("bad.h5*"):
        os.remove(name)


WHERE = """
import sys, h5py
with h5py.File(sys.argv[1], "r") as f:
    d = f[sys.argv[2]]
    print(d.id.get_offset() if d.chunks is None else d.id.get_chunk_info(1).byte_offset)
"""


def spoil(path, dataset):
    """Changes one byte of the data, which lies somewhere as it lies in the native file."""
    at = int(run([stock_python(), "-c", WHERE, "native-3.h5", dataset], stock_env()).out)
    with open("native-3.h5", "rb") as file:
        file.seek(at + 200_000)
        some = file.read(64)
    for name in glob.glob(path + "*"):
        with open(name, "r+b") as file:
            where = file.read().find(some)
            if where >= 0:
                file.seek(where + 30)
                file.write(bytes([some[30] ^ 0x40]))
                return
    check(False, f"{dataset} is not found in {path}")


# ---- deaths ----


def finished(path, reference, kind, file="t"):
    with Daemon(file=file) as daemon:
        daemon.ends()
    same(path, reference, kind)
    check(sorted(os.listdir("pfs")) == [".scr", os.path.basename(path)], f"{os.listdir('pfs')}")
    check(len(glob.glob("pfs/.scr/scr.dataset.*")) == 1, "recorded twice")


def prepare(kind, bw):
    shutil.rmtree("pfs")
    os.makedirs("pfs")
    for name in glob.glob("t*"):
        os.remove(name)
    shutil.copy("old.h5", "pfs/box.h5"), shutil.copy("old.h5.000001", "pfs/box.h5.000001")
    submit(kind, "box.h5", "pfs/box.h5", "t", bw=bw)


def looks_whole(kind):
    """Whoever looks now finds the old file or the new one, never a half."""
    if kind == "container" and not os.path.exists("pfs/box.h5"):
        return  # of several files, the old ones are aside for a moment
    if is_container("pfs/box.h5") and kind != "onefile":
        run([built("bin", "h5bento"), "verify", "pfs/box.h5"], native_env())
    else:
        run([hdf5_tool("h5diff"), "pfs/box.h5", "native-3.h5"], native_env(), ok=(0, 1))


def begin():
    fresh()
    write("native-3.h5", 3)
    write("box.h5", 3, 2, "bento chunk=1M;files=2")
    write("old.h5", 8, 2, "bento chunk=1M;files=2")


def kill(count):
    begin()
    generator = random.Random(int(count))
    deaths = 0
    for kind in ("native", "onefile"):
        while deaths < int(count) * (1 if kind == "native" else 2):
            prepare(kind, "5M")
            for _ in range(20):
                with Daemon() as daemon:
                    try:
                        daemon.process.wait(timeout=generator.random() * 0.4)
                    except subprocess.TimeoutExpired:
                        daemon.end(signal.SIGKILL)
                        deaths += 1
                looks_whole(kind)
                if not is_container("pfs/box.h5"):
                    break
            finished("pfs/box.h5", "native-3.h5", kind)
    say(f"{deaths} deaths")


# Chunks that two ranks wrote, so that they are filtered anew, between contiguous datasets; and what is never written.
PARTS = """
import sys, h5py, numpy as np
from mpi4py import MPI
comm, path, value = MPI.COMM_WORLD, sys.argv[1], int(sys.argv[2])
random = np.random.default_rng(value)
with h5py.File(path, "w", driver="mpio", comm=comm) as f:
    for name in ("a", "b"):
        line = f.create_dataset(name + "/line", (4, 65536), "f8")
        parts = f.create_dataset(name + "/parts", 262144, "f8", chunks=(32768,), compression=1)
        hollow = f.create_dataset(name + "/hollow", 1 << 20, "i4")
        f[name].attrs["text"] = "x" * 3000
        values, more = random.random((4, 65536)), random.random(262144)
        half = 65536 // comm.size
        line[:, half * comm.rank : half * (comm.rank + 1)] = values[:, half * comm.rank : half * (comm.rank + 1)]
        half = 32768 // comm.size
        for at in range(0, 262144, 32768):
            mine = slice(at + half * comm.rank, at + half * (comm.rank + 1))
            with parts.collective:
                parts[mine] = more[mine]
        if comm.rank == 0:
            hollow[: 1 << 17] = np.arange(1 << 17)
            hollow[-(1 << 17) :] = value
"""
# What a daemon copies at 4 MB/s before it makes it durable, and what was under way before and after that.
BURST = (1 << 20) + 2 * (256 << 10)


def counted(name):
    if not os.path.exists(name):
        return 0, 0
    with open(name) as file:
        calls, written = file.read().split() or (0, 0)
    return int(calls), int(written)


def die_at(kind, at):
    """The daemon dies at its change number `at` of the new file; what it wrote is counted in `first`."""
    prepare(kind, "4M")
    for name in ("first", "second"):
        if os.path.exists(name):
            os.remove(name)
    with Daemon(FAULT_NAME="/new/box.h5", FAULT_KILL=str(at), FAULT_COUNT=os.path.abspath("first")) as daemon:
        daemon.ends(-signal.SIGKILL)


def die_and_go_on(at, between=None):
    """What was written before a death at change number `at`, and after it."""
    die_at("native", at)
    looks_whole("native")
    before = [(one["written"], one["bytes"]) for one in status()]
    check(all(done < size for done, size in before), f"{before}")
    if between:
        between()
    with Daemon(FAULT_NAME="/new/box.h5", FAULT_COUNT=os.path.abspath("second")) as daemon:
        daemon.ends()
    same("pfs/box.h5", "native-3.h5", "native")
    nothing_left()
    return counted("first")[1], counted("second")[1], before


def spoil_journal(how):
    name = glob.glob("pfs/.h5bento-*/journal")[0]
    with open(name, "r+b") as file:
        text = bytearray(file.read())
        lines = len(text) // 56
        check(lines >= 4, f"{lines} lines are too few to say anything")
        if how == "cut":
            text = text[: 56 * (lines // 2) + 20]
        elif how == "empty":
            text = b""
        elif how == "other":
            text[56 * (lines - 1) :] = text[56 : 2 * 56]
        else:
            text[56 * {"head": 0, "middle": lines // 2, "last": lines - 1}[how] + 20] ^= 4
        file.seek(0)
        file.write(text)
        file.truncate()


def resume(count):
    fresh()
    for path, string, ranks in (("native-3.h5", None, 2), ("box.h5", "bento chunk=1M;files=2", 2), ("old.h5", "bento chunk=1M;files=2", 2)):
        value = "8" if path == "old.h5" else "3"
        mpirun(ranks, [python(), "-c", PARTS, path, value], environment(string) if string else native_env())
    prepare("native", "4M")
    with Daemon(FAULT_NAME="/new/box.h5", FAULT_COUNT=os.path.abspath("whole")) as daemon:
        daemon.ends()
    same("pfs/box.h5", "native-3.h5", "native")
    calls, whole = counted("whole")
    check(whole > 6 * BURST, f"{whole} bytes are too few to say anything")
    # Everywhere; at each of the last changes only the metadata is written again.
    moments = sorted({1 + (calls - 1) * i // (int(count) - 1) for i in range(int(count))})
    seen = set()
    for at in moments:
        first, second, before = die_and_go_on(at)
        again = first + second - whole
        say(f"death {at} of {calls}: {first} + {second} bytes, {again} again; WRITTEN was {before}")
        check(again <= BURST + (64 << 10), f"death {at}: {again} bytes were written again")
        seen |= {done > 0 for done, _ in before}
    check(seen == {False, True}, "WRITTEN never grew")
    first, second, _ = die_and_go_on(calls)
    check(second < 1 << 16 and first > whole - (1 << 16), f"second phase: {first} and {second} of {whole}")
    middle, late = calls // 3, calls * 3 // 4
    for how in ("head", "middle", "last", "other", "cut", "empty"):
        for at in (middle, late):
            first, second, _ = die_and_go_on(at, lambda: spoil_journal(how))
            check(how not in ("head", "empty") or second == whole, f"{how}: {second} of {whole}")
    gone_targets(late, whole)
    stopped(whole)
    broken(whole)


def stopped(whole):
    """Told to stop in the middle, it goes on later."""
    prepare("native", "4M")
    for name in ("first", "second"):
        os.remove(name)
    with Daemon(FAULT_NAME="/new/box.h5", FAULT_COUNT=os.path.abspath("first")) as daemon:
        wait_for("half of it is done", lambda: counted("first")[1] > whole // 2)
        run([built("tests", "transfer_command"), os.path.abspath("t"), "STOP"], native_env())
        daemon.ends()
    run([built("tests", "transfer_command"), os.path.abspath("t"), "RUN"], native_env())
    with Daemon(FAULT_NAME="/new/box.h5", FAULT_COUNT=os.path.abspath("second")) as daemon:
        daemon.ends()
    same("pfs/box.h5", "native-3.h5", "native")
    again = counted("first")[1] + counted("second")[1] - whole
    check(counted("first")[1] < whole and again <= BURST + (64 << 10), f"stopped: {again} bytes were written again")


def broken(whole):
    """So it does when the device fails for a while."""
    prepare("native", "4M")
    os.remove("first")
    with Daemon(FAULT_NAME="/new/box.h5", FAULT_COUNT=os.path.abspath("first"), FAULT_WHILE=os.path.abspath("broken")) as daemon:
        wait_for("half of it is done", lambda: counted("first")[1] > whole // 2)
        open("broken", "w").close()
        wait_for("it is noticed", lambda: "Input/output error" in problem("t"))
        os.remove("broken")
        daemon.ends()
    same("pfs/box.h5", "native-3.h5", "native")
    # A write that failed was counted, too.
    again = counted("first")[1] - whole
    check(again <= 2 * BURST, f"after an error: {again} bytes were written again")


def gone_targets(at, whole):
    """The file of which the journal speaks is another one, or shorter; the source was written again."""
    target = ["pfs/.h5bento-*/new/box.h5"]

    def empty():
        os.truncate(glob.glob(target[0])[0], 0)

    def shorter():
        name = glob.glob(target[0])[0]
        os.truncate(name, os.path.getsize(name) - 1)

    def another():
        name = glob.glob(target[0])[0]
        shutil.copyfile(name, name + "2")
        with open(name + "2", "r+b") as file:
            file.seek(3 << 20)
            file.write(bytes(1 << 20))
        os.rename(name + "2", name)

    def touched():
        os.utime("box.h5.000001")

    for change in (empty, shorter, another, touched):
        _, second, _ = die_and_go_on(at, change)
        check(second == whole, f"{change.__name__}: {second} of {whole}")


def updates():
    """Before each change of the transfer file, of what arrives as it is, too."""
    begin()
    die_before_each(os.path.abspath("t"), 1, 8)


def changes():
    """Before every third change of a file at the destination, renames among them."""
    begin()
    die_before_each(os.path.abspath("pfs"), 3, 8)


def die_before_each(name, step, least):
    for kind in ("container", "onefile", "native"):
        at = 1
        while True:
            prepare(kind, "0")
            with Daemon(FAULT_NAME=name, FAULT_KILL=str(at)) as daemon:
                code = daemon.process.wait(timeout=60)
            tool_on("t", "status", ok=None)
            check(len(status()) == 2, f"death {at}: {status()}")
            looks_whole(kind)
            if kind == "container":
                with Daemon() as daemon:
                    daemon.ends()
                for part in ("box.h5", "box.h5.000001"):
                    check(open(f"pfs/{part}", "rb").read() == open(part, "rb").read(), f"{part} differs after death {at}")
            else:
                finished("pfs/box.h5", "native-3.h5", kind)
            if code == 0:
                break
            check(code == -signal.SIGKILL, f"exit status {code}")
            at += step
        say(f"{kind}: died before each of {(at - 1) // step} changes")
        check(at > least, "too few to say anything")


def main(which, *arguments):
    if not os.path.exists(built("bin", "h5bento")):
        raise Skip("the program h5bento is not built")
    try:
        {"forms": forms, "more": more, "trouble": trouble, "streams": streams, "streams_resume": streams_resume, "kill": kill, "resume": resume, "updates": updates, "changes": changes}[which](*arguments)
    finally:
        end_all()


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run_test(main, *sys.argv[1:], containers=1)
